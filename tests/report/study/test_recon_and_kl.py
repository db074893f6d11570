"""Reconstruction and KL divergence over training, in one panel with two axes."""

import numpy as np
import pytest
from report.text_boxes import text_faults

from unknot.analysis import Results
from unknot.report.study.blocks import Part
from unknot.report.study.figures import recon_and_kl
from unknot.report.study.figures.training import Log

STEPS = np.arange(0.0, 50, 10)


def band(recon, kl):
    """Two seeds around lines, one below and one above."""
    return {
        name: (STEPS, np.stack([values - 1, values + 1], axis=1))
        for name, values in (("recon", recon), ("kl", kl), ("loss", recon + kl))
    }


@pytest.fixture
def log():
    rows = [{"objective": "beta_vae", "objective.beta": float(beta)} for beta in (1, 4)]
    configurations = Results({"mig": [0.1, 0.2], **_columns(rows)}).configurations
    return Log(configurations, [band(90 - STEPS, 2 + STEPS), band(95 - STEPS, 1.5 + STEPS)], 3)


def _columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_two_axes_with_a_colour_for_each_beta(log):
    drawn = recon_and_kl.draw(log)
    left, right = drawn.figure.axes
    assert [line.get_ydata().tolist() for line in left.lines] == [
        (90 - STEPS).tolist(),
        (95 - STEPS).tolist(),
    ]
    assert right.lines[1].get_ydata() == pytest.approx(1.5 + STEPS)
    colors = [[line.get_color() for line in axes.lines] for axes in (left, right)]
    assert colors[0] == colors[1]
    assert len(set(colors[0])) == 2
    (legend,) = drawn.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["beta 1", "beta 4", "recon", "kl"]
    assert "2 of 3 configurations" in legend.get_title().get_text()
    first = drawn.rows[0]
    assert (first["term"], first["median"], first["low"], first["high"]) == ("recon", 90, 89, 91)
    assert len(drawn.rows) == 2 * 2 * len(STEPS)
    assert not text_faults(drawn.figure)


def test_runs_that_log_one_of_the_two_are_left_out(log):
    del log.bands[1]["kl"]
    left, right = recon_and_kl.draw(log).figure.axes
    assert len(left.lines) == len(right.lines) == 1


def test_a_table_has_no_curves():
    results = Results([{"objective": "vae", "mig": 0.1, "recon": 1.0, "kl": 2.0}])
    assert list(recon_and_kl.applies(Part(results))) == []
