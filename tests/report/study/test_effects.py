"""Effects of settings on a page: pairs as dots, and a page of many configurations."""

import itertools

import numpy as np
from report.text_boxes import text_faults

from unknot.analysis import Results
from unknot.report.study import figures
from unknot.report.study.blocks import FigureFolder, FigureKeeper, Part
from unknot.report.study.sections import sections


def grid():
    """64 configurations of one seed, that differ in six settings."""
    names = ("objective.beta", "optim.lr", "net", "batch", "data.spacing", "net.latents")
    choices = ((1, 4), (1e-4, 1e-3), ("conv64", "linear"), (64, 128), (1, 8), (6, 10))
    rng = np.random.default_rng(0)
    return [
        {"objective": "beta_vae", "seed": 0, **dict(zip(names, values, strict=True)),
         "mig": 0.1 + 0.1 * (values[0] == 4) + 0.01 * rng.normal(),
         "dci.disentanglement": rng.normal(), "recon": 9 + rng.normal(), "kl": 5.0}
        for values in itertools.product(*choices)
    ]  # fmt: skip


def test_dots_are_pairs_and_the_bar_is_the_interval():
    drawn = figures.effects.draw(Results(grid()), "objective.beta", ["mig"])
    (axes,), (row,) = drawn.figure.axes, drawn.rows
    assert len(axes.collections[0].get_offsets()) == row["pairs"] == 32
    assert row["low"] < row["difference"] < row["high"]
    assert abs(row["difference"] - 0.1) < 0.01
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1 → 4"]


def test_a_page_of_64_configurations_can_be_read(tmp_path):
    part = Part(Results(grid(), ["mig", "dci.disentanglement"], losses=["recon", "kl"]))
    keep = FigureKeeper(FigureFolder(tmp_path))
    made = {section.id: section for section in sections(part, keep)}
    assert keep.left_out == []
    assert len(made["effects"].grids[0].rows) == 6
    assert [figure.name for figure in made["spread"].figures] == ["spread-objectives"]
    for name in ("effects", "spread"):
        drawn = getattr(figures, name).applies(part)
        assert [fault for one in drawn for fault in text_faults(one.draw().figure)] == []
