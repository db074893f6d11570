"""Signals: what is read, that every objective trains on them, and what they come back as."""

from dataclasses import fields

import numpy as np
import pytest
import torch

import unknot
from unknot.core import registry
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.optim import Adam
from unknot.data.parts.tables import signal_dataset, signals_of
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.nets.conv1d import Conv1d
from unknot.runs import config

RNG = np.random.default_rng(4)
TIME = np.linspace(0, 1, 40)
GRID = np.indices((4, 6)).reshape(2, -1)
SPEED, START = GRID
WAVES = np.stack(
    [np.outer([1.0, 50.0], np.sin(2 * np.pi * (s + 1) * TIME + a)) + 7 for s, a in GRID.T]
).astype(np.float32)
SHORT = {"steps": 4, "batch": 8, "device": "cpu", "progress": False}


@pytest.mark.parametrize("kind", ["npy", "npz", "array", "tensor", "one channel"])
def test_signals_are_standardised_by_channel_and_can_be_put_back(tmp_path, kind):
    values = WAVES[:, 0] if kind == "one channel" else WAVES
    source = torch.from_numpy(values) if kind == "tensor" else values
    if kind in ("npy", "npz"):
        source = tmp_path / f"waves.{kind}"
        np.save(source, WAVES) if kind == "npy" else np.savez(source, waves=WAVES)
    data = unknot.dataset(source, signals=True)
    x = data.batch(torch.arange(24))
    channels = 1 if kind == "one channel" else 2
    assert x.shape == (24, channels, 1, 40)
    assert torch.allclose(x.mean((0, 2, 3)), torch.zeros(channels), atol=1e-5)
    assert torch.allclose(x.std((0, 2, 3), unbiased=False), torch.ones(channels), atol=1e-5)
    assert np.allclose(data.unit(x)[:, :, 0], values.reshape(24, channels, 40), atol=1e-3)
    plural = "" if channels == 1 else "s"
    assert data.summary == f"24 signals of 40 points, {channels} channel{plural}, standardised"


def test_a_file_of_signals_trains_with_conv1d_and_is_loaded_again(tmp_path):
    np.savez(tmp_path / "waves.npz", waves=WAVES, speed=SPEED, start=START)
    table = {"data": {"name": "signals", "path": f"{tmp_path}/waves.npz::waves"}}
    spec = config.spec({**table, "data": {**table["data"], "labels": "speed,start"}})
    assert (spec.net.name, spec.objective.settings.likelihood) == ("conv1d", "gaussian")
    assert (spec.data.settings.channels, spec.data.settings.length) == (2, 40)
    assert config.spec(spec.table()) == spec
    path = {"path": table["data"]["path"]}
    run = unknot.train("signals", "vae", out=tmp_path / "run", data_settings=path, **SHORT)
    again = unknot.load(tmp_path / "run", device="cpu")
    assert torch.equal(again.encode(WAVES), again.codes())
    assert torch.equal(again.codes(), run.codes())
    memory = unknot.train(unknot.dataset(WAVES, signals=True), out=tmp_path / "array", **SHORT)
    same = unknot.load(tmp_path / "array", data=WAVES, device="cpu")
    assert torch.equal(same.codes(), memory.codes())


@pytest.mark.parametrize("name", registry.names("objectives"))
def test_every_objective_trains_on_signals_together_as_alone(name):
    kind = registry.get("objectives", name)
    names = {f.name for f in fields(kind)}
    few = dict.fromkeys(names & {"critic_width", "width"}, 8)
    gaussian = {"likelihood": "gaussian"} if "likelihood" in names else {}
    space = FactorSpace(("speed", "start"), (4, 6), ("ordered", "ordered"))
    data = signal_dataset(signals_of(WAVES, "waves"), "waves")
    data = type(data)("waves", space, data.images, data.mean, data.std)
    context = Context(data, Conv1d(latents=2, hidden=(8,)), 6, runtime("cpu", "float64"))
    group = [Member(seed, kind(**few, **gaussian), Adam(lr=1e-3)) for seed in (1, 2)]

    def trained(backend, members):
        population = backend.fresh(context, members)
        return {**population.advance(0, 2), **population.state()}

    looped, stacked, alone = (
        trained(Looped, group),
        trained(Stacked, group),
        trained(Looped, group[1:]),
    )
    for key, value in alone.items():
        assert torch.equal(looped[key][1], value[0]), key
        torch.testing.assert_close(stacked[key][1], value[0], rtol=1e-7, atol=1e-9)
    assert looped["loss"].isfinite().all()


def test_spikes_are_counts():
    spikes = RNG.poisson(2, size=(30, 3, 16))
    data = unknot.dataset(spikes, signals=True)
    assert "looks like counts" in data.summary
    run = unknot.train(data, "vae", likelihood="negative_binomial", **SHORT)
    assert run.dataset.row_total == np.sort(spikes.sum((1, 2)))[14]
    assert run.decode(run.codes()).shape == (30, 3, 1, 16)


def test_what_is_refused(tmp_path):
    gaps = WAVES.copy()
    gaps[3, 0, 5] = np.nan
    with pytest.raises(DataError, match="Signal 3 of the array has missing"):
        unknot.dataset(gaps, signals=True)
    with pytest.raises(DataError, match=r"Expected signals \[n, channels, time\]"):
        unknot.dataset(np.zeros((3, 4, 5, 6)), signals=True)
    np.save(tmp_path / "waves.npy", WAVES)
    with pytest.raises(DataError, match="has no labels"):
        unknot.dataset(tmp_path / "waves.npy", signals=True, labels="speed")
    with pytest.raises(DataError, match="There is no file"):
        unknot.dataset(tmp_path / "other.npy", signals=True)


def test_an_array_that_may_be_signals_is_said_to_be():
    assert "if these are signals of 2 channels" in unknot.dataset(WAVES).summary
    assert "signals" not in unknot.dataset(np.random.default_rng(0).random((9, 2, 40))).summary
