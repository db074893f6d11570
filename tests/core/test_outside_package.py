"""A package that unknot has never heard of adds one thing to each room, by entry points alone."""

import json
import os
import subprocess
import sys

import pytest

from unknot import metrics
from unknot.cli.list_ import What, list_
from unknot.core import registry
from unknot.core.csv_files import csv_text
from unknot.report.study.source import read

OBJECTIVE = '''
from dataclasses import dataclass
from unknot import Hyper, Net, Step, Term


@dataclass(frozen=True)
class Halves:
    """Squared error and half the squared means."""

    weight: Hyper = 0.5

    def terms(self, net: Net, step: Step):
        q = net.encode(step.x)
        error = (net.decode(q.mean) - step.x).square().sum((-3, -2, -1)).mean(-1)
        return {"error": Term(error), "size": Term(q.mean.square().sum(-1).mean(-1), self.weight)}
'''
METRIC = '''
from dataclasses import dataclass
from unknot.metrics import Measured, RowSettings, Score, metric


def spread(codes, factors=None, *, protocol="unknot", seed=0):
    """The largest deviation of a code."""
    import torch
    codes = codes.codes(torch.arange(codes.space.size)) if hasattr(codes, "space") else codes
    return Score("spread", {"spread": float(codes.std(0).max())}, {}, {"name": protocol})


@dataclass(frozen=True)
class Settings(RowSettings):
    samples: int = 20
    version: int = 3


@metric(
    {"unknot": Settings()},
    better="lower", range=(0, None), needs=("codes",), reads="0: the codes stand still.",
)
def waste(rows, settings):
    """How much codes move."""
    return Measured({"": rows.codes.std(0).max()}, {}, (f"of {settings.samples} rows",))
'''
DATASET = '''
from dataclasses import dataclass
import torch
from unknot import FactorDataset, FactorSpace
from unknot.data.parts.images import Bytes


@dataclass(frozen=True)
class Bars:
    """A bar that moves and changes its shade."""

    shades: int = 3

    def load(self):
        images = torch.zeros(4, self.shades, 1, 4, 4, dtype=torch.uint8)
        for place in range(4):
            for shade in range(self.shades):
                images[place, shade, :, place] = 255 * (shade + 1) // self.shades
        space = FactorSpace(("place", "shade"), (4, self.shades), ("ordered", "ordered"))
        return FactorDataset("bars", space, Bytes(images.flatten(0, 1)))
'''
NET = '''
from dataclasses import dataclass
import math
from torch import nn


class Shrink(nn.Module):
    """Not a layer that unknot knows."""

    def forward(self, x):
        return x / (1 + x.abs())


@dataclass(frozen=True)
class Tiny:
    """One hidden layer."""

    latents: int = 2
    init: str = "torch"
    hidden: int = 5

    def encoder(self, image):
        first = nn.Linear(math.prod(image), self.hidden)
        last = nn.Linear(self.hidden, 2 * self.latents)
        return nn.Sequential(nn.Flatten(), first, Shrink(), last)

    def decoder(self, image):
        return nn.Sequential(nn.Linear(self.latents, math.prod(image)), nn.Unflatten(1, image))
'''
ENTRIES = """
[unknot.objectives]
halves = outsiders.objective:Halves
[unknot.metrics]
spread = outsiders.metric:spread
waste = outsiders.metric:waste
[unknot.datasets]
bars = outsiders.dataset:Bars
[unknot.nets]
tiny = outsiders.net:Tiny
"""
NAMES = {"objectives": "halves", "metrics": "spread", "datasets": "bars", "nets": "tiny"}

USE = """
import json, sys
import torch
import unknot
from unknot.testing import check_dataset, check_net, check_objective
from unknot.core import registry
from unknot.core.csv_files import csv_text

run = unknot.train(
    data="bars", objective="halves", net="tiny", steps=3, batch=4, seeds=[0, 1], weight=2,
    data_settings={"shades": 2}, net_settings={"latents": 3}, device="cpu", out=sys.argv[1],
)
codes = run.codes()
again = unknot.load(sys.argv[1], device="cpu")
check_objective(registry.get("objectives", "halves")())
check_net(registry.get("nets", "tiny")(), (1, 4, 4))
check_dataset(registry.get("datasets", "bars")())
table = unknot.metrics.evaluate(run.representations()[1], metrics=["spread", "waste"])
print(json.dumps({
    "status": run.status,
    "shape": list(codes.shape),
    "weights": run.curves["size.weight"].iloc[0].tolist() if len(run.curves) else [],
    "loaded": torch.equal(again.codes(), codes),
    "spec": again.spec == run.spec,
    "spread": float(unknot.metrics.spread(codes[1])),
    "expected": float(codes[1].std(0).max()),
    "evaluated": table.values["spread"],
    "waste": [table["waste"].protocol["version"], list(table["waste"].remarks)],
}))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder as an installer would leave it: a package and its dist-info."""
    folder = tmp_path_factory.mktemp("site")
    package, info = folder / "outsiders", folder / "outsiders-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    files = {"objective": OBJECTIVE, "metric": METRIC, "dataset": DATASET, "net": NET}
    for name, text in {"__init__": "", **files}.items():
        (package / f"{name}.py").write_text(text)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outsiders\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    return folder


@pytest.fixture
def python(site):
    def run(*arguments):
        path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, *arguments], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_an_outsider_is_found_beside_ours(site, monkeypatch):
    monkeypatch.syspath_prepend(site)
    for room, name in NAMES.items():
        assert name in registry.names(room)
        assert registry.names(room) == sorted(registry.names(room))
        assert registry.get(room, name).__module__.startswith("outsiders.")
        assert registry.summary(room, name) == registry.get(room, name).__doc__.partition("\n")[0]


def test_an_outsider_does_not_replace_ours(site, monkeypatch, tmp_path):
    info = tmp_path / "squatter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: squatter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[unknot.nets]\nlinear = outsiders.net:Tiny\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.syspath_prepend(tmp_path)
    assert registry.names("nets").count("linear") == 1
    assert registry.get("nets", "linear").__module__ == "unknot.nets.linear"


@pytest.mark.parametrize(("room", "name"), NAMES.items())
def test_the_command_lists_it(site, monkeypatch, capsys, room, name):
    monkeypatch.syspath_prepend(site)
    list_(What(room), json=True)
    listed = json.loads(capsys.readouterr().out)
    summaries = {row["name"]: row["what it is"] for row in listed}
    assert len(summaries) > 2
    assert summaries[name].endswith(".")


def test_the_command_lists_its_facts(site, monkeypatch, capsys):
    monkeypatch.syspath_prepend(site)
    list_(What("metrics"), json=True)
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["waste"]["better"] == "lower"
    assert rows["waste"]["range"] == [0, None]
    assert rows["spread"]["better"] == "higher"  # it says nothing of itself
    assert rows["mig"]["reads"].startswith("Gap in mutual information")


def test_its_metric_of_which_less_is_better_ranks_the_right_way_round(site, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(site)
    rows = [
        {"objective": name, "seed": seed, "waste": value + seed, "spread": value + seed}
        for name, value in (("good", 1.0), ("bad", 5.0))
        for seed in range(3)
    ]
    (tmp_path / "runs.csv").write_text(csv_text(rows))
    results = read(tmp_path / "runs.csv").results
    assert {one.score: one.label for one in results.winners} == {"waste": "good", "spread": "bad"}
    assert results.ranking.winners("waste") == ("good",)
    assert metrics.reading("waste@unknot") == "0: the codes stand still."


def test_a_new_process_lists_it(python):
    said = python("-m", "unknot", "list", "objectives")
    assert "\nOther: no family stated\nhalves  " in said
    said = python("-m", "unknot", "list", "metrics")
    assert "\nOther: metrics that do not say what they measure\nspread  " in said


def test_all_four_train_and_score_together(python, tmp_path):
    found = json.loads(python("-W", "error", "-c", USE, str(tmp_path / "run")))
    assert found["status"] == "done"
    assert found["shape"] == [2, 4 * 2, 3]
    assert found["weights"] == [2, 2]
    assert found["loaded"]
    assert found["spec"]
    assert found["spread"] == found["evaluated"] == pytest.approx(found["expected"])
    assert found["waste"] == [3, ["of 20 rows"]]
