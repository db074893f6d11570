"""Every objective learns a small grid, and along the same curve as when it was last looked at.

The curves say nothing about what is right; a change that means to move them writes them anew with
``python tests/objectives/test_curves.py`` and tells so in the changelog under *Numbers*.
"""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from unknot.core import registry
from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.core.hyper import over_run
from unknot.core.optim import Adam
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.nets.linear import Linear

CURVES = Path(__file__).with_name("curves.json")
STOPS = (1, 100, 200, 300)
NAMES = registry.names("objectives")


def halves() -> FactorDataset:
    """8 x 8 images of two factors, the grey levels of the left and of the right half."""
    left, right = torch.meshgrid(torch.arange(6), torch.arange(6), indexing="ij")
    images = torch.zeros(6, 6, 8, 8, dtype=torch.uint8)
    images[..., :4] = (51 * left)[..., None, None]
    images[..., 4:] = (51 * right)[..., None, None]
    space = FactorSpace(("left", "right"), (6, 6), ("ordered", "ordered"))
    return FactorDataset("halves", space, Bytes(images.reshape(36, 1, 8, 8)))


def curve(name: str) -> dict[str, list[float]]:
    """Loss and reconstruction at some steps of one member in float64."""
    usual = registry.get("objectives", name)()
    narrow = {f.name for f in fields(usual)} & {"critic_width", "width"}
    objective = over_run(replace(usual, **dict.fromkeys(narrow, 16)), STOPS[-1], name)
    context = Context(halves(), Linear(latents=3), 16, runtime("cpu", "float64"))
    population = Looped.fresh(context, [Member(0, objective, Adam(lr=3e-3))])
    logs = [
        population.advance(start, stop - start)
        for start, stop in zip((0, *STOPS), STOPS, strict=False)
    ]
    return {key: [log[key].item() for log in logs] for key in ("loss", "recon")}


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_along_the_same_curve(name):
    ours, theirs = curve(name), json.loads(CURVES.read_text())[name]
    assert ours["loss"][-1] < ours["loss"][0] - 0.05 * abs(ours["loss"][0])
    for key in ("loss", "recon"):
        assert ours[key] == pytest.approx(theirs[key], rel=1e-6)


if __name__ == "__main__":
    kept = {name: curve(name) for name in NAMES}
    lines = (f"{json.dumps(name)}: {json.dumps(values)}" for name, values in kept.items())
    CURVES.write_text("{\n" + ",\n".join(lines) + "\n}\n")
