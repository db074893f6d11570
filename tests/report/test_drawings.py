"""Drawings of signals and rows: where ink is, and that what is broken cannot be missed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import unknot
from unknot.report.drawings import HEIGHT, WIDTH, draw
from unknot.report.run.page import page, write_pictures
from unknot.report.style import MISSING

WAVES = np.sin(np.linspace(0, 6, 40)[None, None] * np.arange(1, 13)[:, None, None]) * [[[5.0]]]
SIGNALS = unknot.dataset(WAVES, signals=True)
TABLE = unknot.dataset(np.random.default_rng(0).normal(size=(20, 4)))


def ink(drawing):
    """Which pixels are not paper."""
    return (drawing != 255).any(-1)


def test_a_line_is_as_high_as_its_signal():
    flat = torch.tensor([-3.0, 0.0, 3.0])[:, None, None, None].expand(3, 1, 1, 40)
    low, middle, high = (np.flatnonzero(ink(d).any(1)) for d in draw(SIGNALS, flat))
    assert len(low) == len(middle) == len(high) == 1
    assert high[0] < middle[0] < low[0]
    rising = torch.linspace(-2, 2, 40).reshape(1, 1, 1, 40)
    places = ink(draw(SIGNALS, rising)[0]).argmax(0)
    assert (np.diff(places) <= 0).all()


def test_bars_go_up_and_down_from_the_middle_and_counts_from_the_bottom():
    x = torch.tensor([2.0, -2.0, 0.0, 1.0]).reshape(1, 4, 1, 1)
    bars = ink(draw(TABLE, x)[0])
    width = WIDTH // 4
    up, down, nothing, less = (bars[:, width * i + 1].sum() for i in range(4))
    assert up == pytest.approx(HEIGHT / 3, abs=1.5)
    assert abs(up - down) <= 1
    assert nothing <= 2
    assert less < up
    assert bars[: HEIGHT // 2 - 1, 1].any()
    assert not bars[: HEIGHT // 2 - 1, width + 1].any()
    counts = replace(TABLE, mean=(), std=(), row_total=100.0)
    full = ink(draw(counts, torch.full((1, 4, 1, 1), 101.0).log())[0])
    assert full[:, 1].all()


def test_many_columns_are_tiles_and_what_is_not_finite_is_orange():
    table = unknot.dataset(np.random.default_rng(0).normal(size=(5, 200)))
    x = table.batch(torch.arange(5))
    x[3, 7] = torch.nan
    drawings = draw(table, x)
    assert drawings.shape == (5, 15, 15, 3)
    assert (drawings[3] == MISSING).all()
    assert len(np.unique(drawings[0].reshape(-1, 3), axis=0)) > 50


def test_the_page_of_signals_shows_them_as_lines(tmp_path):
    run = unknot.train(
        SIGNALS, "vae", steps=2, batch=4, device="cpu", progress=False, net_settings={"latents": 2}
    )
    text = page(run)
    assert "trained on 12 signals" in text
    assert "Signals of the dataset (black)" in text
    files = {path.name for path in write_pictures(run, tmp_path)}
    assert {"traversals.png", "traversals.gif", "reconstructions.png", "samples.png"} <= files
    for picture in (run.traverse(), run.reconstruct(), run.sample(4), run.interpolate(0, 1)):
        assert np.asarray(picture).std() > 0
    assert "data:image/png" in run._repr_html_()
