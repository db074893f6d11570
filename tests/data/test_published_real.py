"""Loaders on the real files, where UNKNOT_DATA has them."""

import os
from pathlib import Path

import pytest
import torch
from data import cases

from unknot.core import registry
from unknot.data.parts.published import data_folder

# Michlo 2022, table A.2: settings, mean and deviation within an image by channel.
CONSTANTS = {
    "shapes3d": ({}, (0.502584966788819, 0.578759756608967, 0.603449973185958)),
    "cars3d": ({"resize": "disent"}, (0.897667614997663, 0.889165802006751, 0.885147515814868)),
    "smallnorb": ({"variant": "disent"}, (0.752091840108860,)),
    "dsprites_file": ({}, (0.042494423521890,)),
}
PUBLISHED = [
    name
    for name in registry.names("datasets")
    if hasattr(registry.get("datasets", name), "published")
]


def need(*places):
    """The first of some files or folders below UNKNOT_DATA that is there."""
    if not os.environ.get("UNKNOT_DATA"):
        pytest.skip("UNKNOT_DATA is not set")
    for place in places:
        if (data_folder() / place).exists():
            return str(data_folder() / place)
    return pytest.skip(f"{places[0]} is not there")


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_shape_and_size(name):
    dataset = registry.get("datasets", name)()
    for source in dataset.sources():
        need(Path(name) / source.file)
    data = dataset.load()
    facts = dataset.published
    assert data.shape == facts.shape
    if name != "smallnorb":  # whose usual grid leaves the instance out
        assert len(data) == facts.images


@pytest.mark.slow
@pytest.mark.parametrize("name", CONSTANTS)
def test_published_mean_and_deviation(name):
    settings, mean = CONSTANTS[name]
    dataset = registry.get("datasets", name)(**settings, standardize=True)
    for source in dataset.sources():
        need(Path(name) / source.file)
    data = dataset.load()
    means, deviations = [], []
    for rows in torch.arange(len(data)).split(4096):
        x = data.images.pixels(rows).double().flatten(2)
        means.append(x.mean(2))
        deviations.append(x.std(2))
    assert torch.cat(means).mean(0).tolist() == pytest.approx(mean, abs=1e-6)
    assert torch.cat(deviations).mean(0).tolist() == pytest.approx(data.std, abs=1e-5)


def test_coil20_turns(monkeypatch, tmp_path):
    """Views 5 degrees apart look more alike than opposite ones, also the last and the first."""
    path = need("coil20/coil-20-proc.zip", "coil20/coil20.npz")
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path))
    data = registry.get("datasets", "coil20")(path=path, side=128).load()
    assert (len(data), data.shape) == (1440, (1, 128, 128))
    x = data.batch(torch.arange(1440)).unflatten(0, (20, 72))
    near, far = ((x - x.roll(step, 1)).square().mean((1, 2, 3, 4)) for step in (1, 36))
    assert (near < far).all()
    ends = (x[:, 71] - x[:, 0]).square().mean()
    assert ends < (x[:, 36] - x[:, 0]).square().mean()


def test_sprites_move_and_differ(monkeypatch, tmp_path):
    """Of the real parts: every factor shows, frames repeat where the animation says so."""
    path = need("sprites_lpc", "sprites/Sprites.zip")
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path))
    cases.shrink("sprites", (2, 2, 2, 2, 3, 3, 8), monkeypatch)
    data = registry.get("datasets", "sprites")(path=path).load()
    assert data.shape == (3, 64, 64)
    x = data.batch(torch.arange(len(data))).unflatten(0, (2, 2, 2, 2, 3, 3, 8))
    for axis in range(7):
        assert (x.select(axis, 0) != x.select(axis, 1)).any(), data.space.names[axis]
    frames = x[:, :, :, :, 2]  # slash
    assert torch.equal(frames[..., 6, :, :, :], frames[..., 4, :, :, :])
    assert torch.equal(frames[..., 7, :, :, :], frames[..., 0, :, :, :])
    # A figure on black stands in the middle, and left and right mirror each other roughly.
    covered = (x > 0).any(-3).float().mean((-1, -2))
    assert (covered > 0.1).all()
    assert (covered < 0.7).all()
