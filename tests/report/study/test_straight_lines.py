"""Straight lines through the runs over a swept number."""

import numpy as np
import pytest
from report.text_boxes import text_faults
from scipy import stats

from unknot.analysis import Results
from unknot.core.errors import DataError
from unknot.report.study.blocks import Part
from unknot.report.study.figures import straight_lines


def runs(values, *, name="data.spacing", objectives=("beta_vae", "ada_gvae"), seeds=3):
    rng = np.random.default_rng(0)
    return [
        {"objective": objective, name: float(x), "seed": seed,
         "mig": 0.6 - 0.05 * x + 0.1 * i + 0.03 * rng.normal()}
        for i, objective in enumerate(objectives)
        for x in values
        for seed in range(seeds)
    ]  # fmt: skip


def names(table):
    return [figure.name for figure in straight_lines.applies(Part(Results(table, ["mig"])))]


def test_slopes_and_their_intervals_are_those_of_least_squares():
    table = runs(range(1, 9))
    table.append({"objective": "beta_vae", "data.spacing": 8.0, "seed": 3, "status": "diverged",
                  "mig": 1e6})  # fmt: skip
    drawn = straight_lines.draw(Results(table, ["mig"]))
    own = [row for row in table if row["objective"] == "beta_vae" and "status" not in row]
    expected = stats.linregress([row["data.spacing"] for row in own], [row["mig"] for row in own])
    row = drawn.rows[0]
    assert (row["line"], row["n"]) == ("beta_vae", 24)
    assert row["slope"] == pytest.approx(expected.slope)
    half = stats.t.ppf(0.975, 22) * expected.stderr
    assert (row["slope_low"], row["slope_high"]) == pytest.approx(
        (expected.slope - half, expected.slope + half)
    )
    dots, line, *_ = drawn.figure.axes[0].lines
    assert len(dots.get_xdata()) == 24
    x = np.array(line.get_xdata())
    assert line.get_ydata() == pytest.approx(expected.intercept + expected.slope * x)
    assert not text_faults(drawn.figure)


def test_the_band_is_narrowest_in_the_middle_and_holds_the_line():
    fit = straight_lines.Fit(np.array([0.0, 1, 2, 3, 4]), np.array([0.0, 1.2, 1.9, 3.1, 4.0]), 0.95)
    halves = fit.half_width(np.array([0.0, 2.0, 4.0]))
    assert halves[1] == min(halves)
    # By the textbook: s * sqrt(1 / n) * t at the mean of x.
    left = fit.y - fit.line(fit.x)
    error = np.sqrt((left**2).sum() / 3)
    assert halves[1] == pytest.approx(stats.t.ppf(0.975, 3) * error / np.sqrt(5))


def test_a_wide_range_is_taken_by_its_logarithm():
    table = [{**row, "mig": np.log10(row["objective.beta"])}
             for row in runs((0.001, 0.01, 1.0), name="objective.beta")]  # fmt: skip
    drawn = straight_lines.draw(Results(table, ["mig"]))
    assert drawn.figure.axes[0].get_xscale() == "log"
    assert [row["slope"] for row in drawn.rows] == pytest.approx([1, 1])
    assert "over the logarithm" in drawn.figure.legends[0].get_title().get_text()


def test_where_no_line_is_drawn():
    assert names(runs((1, 2, 3))) == ["straight-lines"]
    assert names(runs((1, 2))) == [], "two values are two ends"
    assert names(runs((1, 2, 3), objectives=("vae",), seeds=1)) == ["straight-lines"]
    mixed = [*runs((1, 2, 3), name="objective.beta", objectives=("beta_vae",)),
             *runs((1, 2, 3), name="objective.gamma", objectives=("factor_vae",))]  # fmt: skip
    assert names(mixed) == []
    assert names([{"objective": "vae", "mig": 0.1}]) == []
    with pytest.raises(DataError, match="three values or more"):
        straight_lines.draw(Results(runs((1, 2)), ["mig"]))


def test_the_band_ends_at_the_bounds_of_the_score():
    rows = [
        {"objective": "vae", "data.spacing": x, "seed": seed, "mig": min(1.0, 0.9 + 0.04 * x)}
        for x in (1.0, 2.0, 3.0)
        for seed in range(3)
    ]

    def top(**options):
        drawn = straight_lines.draw(Results(rows, ["mig"], **options))
        (band,) = drawn.figure.axes[0].collections
        return band.get_paths()[0].vertices[:, 1].max()

    assert top() > 1
    assert top(bounds={"mig": (0, 1)}) == 1
