"""Models whose outputs differ from image to image, and plain Python to use them in."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sharing.fake_hub import serve

import unknot
from unknot import nets, objectives
from unknot.runs import records

SCRIPT = """
import importlib.util, json, sys
from pathlib import Path

folders = json.loads(sys.argv[1])
sys.path = [p for p in sys.path if not (Path(p) / "unknot").exists()]
assert importlib.util.find_spec("unknot") is None

import torch
from safetensors.torch import load_file, save_file

for folder in folders:
    spec = importlib.util.spec_from_file_location("model", Path(folder) / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.load()
    given = load_file(Path(folder) / "given.safetensors")
    with torch.no_grad():
        mean, logvar = net.encode(given["x"])
        y = net.decode(given["z"])
    tensors = {"mean": mean.contiguous(), "logvar": logvar.contiguous(), "y": y.contiguous()}
    save_file(tensors, Path(folder) / "results.safetensors")
assert not any(name.startswith("unknot") for name in sys.modules)
"""


@pytest.fixture(scope="session")
def run_elsewhere():
    """Encode and decode with exported models in a process that has no unknot on its path."""

    def run(folders):
        command = [sys.executable, "-c", SCRIPT, json.dumps([str(folder) for folder in folders])]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture(scope="session")
def make_run():
    """A model after one step, with codes and pictures of some contrast."""

    def make(data, objective="vae", net="mlp", **settings):
        if isinstance(data, tuple):
            shape = (12, *data)
            data = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
        settings = {"steps": 1, "batch": 4, "device": "cpu", "progress": False} | settings
        run = unknot.train(data, objective, net, **settings)
        state = run.training.population.state()
        spread = {
            "encoder": run.encoder(run.dataset.batch(torch.arange(12))).std(),
            "decoder": run.decoder(torch.randn(64, run.spec.net.settings.latents)).std(),
        }
        for part, deviation in spread.items():
            last = [name for name in state if name.startswith(part) and state[name].ndim > 2][-1]
            state = {**state, last: state[last] * 2 / deviation.item()}
        run.training.population.load(state)
        return run

    return make


@pytest.fixture(scope="session")
def make_scored_run(tiny, tmp_path_factory):
    """A run in a folder, with its scores, on images of a file."""

    def make(*metrics, **settings):
        run = unknot.train(
            "arrays",
            objectives.BetaVAE(beta=2.0),
            nets.MLP(latents=3, hidden=(8,)),
            data_settings={"path": str(tiny)},
            out=tmp_path_factory.mktemp("runs") / "run",
            **{"steps": 20, "batch": 16, "device": "cpu", "progress": False} | settings,
        )
        records.append(run.path, run.score(*metrics))
        return run

    return make


@pytest.fixture(scope="module")
def server():
    """A hub of this machine, and its address."""
    with serve() as (hub, address):
        yield hub, address


@pytest.fixture(scope="module")
def python(server, tmp_path_factory):
    """Run a script in a process that knows no other hub; gives what it prints as JSON."""
    home = tmp_path_factory.mktemp("home")

    def call(script, *words, **env):
        own = {
            "HF_ENDPOINT": server[1],
            "HF_HOME": str(home),
            "HF_TOKEN": "hf_right",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "NO_PROXY": "127.0.0.1",
        }
        command = [sys.executable, "-c", script, *map(str, words)]
        settings = {**os.environ, **own, **env}
        done = subprocess.run(command, capture_output=True, text=True, env=settings)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    return call


@pytest.fixture(scope="session")
def frame():
    """A table of 12 rows of counts."""
    counts = np.random.default_rng(0).poisson(5.0, (12, 6))
    return pd.DataFrame(counts, columns=[f"gene {i}" for i in range(6)])
