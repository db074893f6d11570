"""Ellipses of posteriors in two latents: their places and widths, and what is left out."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.patches import Circle, Ellipse
from report.text_boxes import text_faults

from unknot.core.errors import DataError
from unknot.report.study.latents import ELLIPSES, Posteriors, posterior_ellipses


def posteriors(z, n=200, order=None):
    draws = np.random.default_rng(0)
    order = order or list(range(z))
    kl = np.empty(z)
    kl[order] = np.linspace(3, 1, z)
    mean, sd = draws.standard_normal((n, z)), draws.uniform(0.1, 0.9, (n, z))
    return Posteriors(mean, sd, order, np.full(z, True), kl)


def ellipses(axes):
    """Edges, without what fills them."""
    own = [p for p in axes.patches if isinstance(p, Ellipse) and not isinstance(p, Circle)]
    return [patch for patch in own if not patch.get_fill()]


def test_axes_of_ellipses_are_deviations_around_means():
    found = posteriors(2)
    drawn = posterior_ellipses(found, title="a model")
    (axes,) = drawn.figure.axes
    marked = [row for row in drawn.rows if row["ellipse"]]
    shown = ellipses(axes)
    assert len(shown) == len(marked) == ELLIPSES
    for patch, row in zip(shown, marked, strict=True):
        assert patch.center == pytest.approx((row["x"], row["y"]))
        assert (patch.width, patch.height) == pytest.approx((2 * row["x_sd"], 2 * row["y_sd"]))
        assert patch.angle == 0


def test_the_two_most_informative_latents_are_drawn_of_every_image():
    found = posteriors(25, order=[7, 3, *(z for z in range(25) if z not in (3, 7))])
    drawn = posterior_ellipses(found, title="a model")
    assert {(row["first"], row["second"]) for row in drawn.rows} == {("z7", "z3")}
    for name, wanted in (
        ("x", found.mean[:, 7]), ("x_sd", found.sd[:, 7]),
        ("y", found.mean[:, 3]), ("y_sd", found.sd[:, 3]),
    ):  # fmt: skip
        assert [row[name] for row in drawn.rows] == pytest.approx(wanted.tolist())
    (axes,) = drawn.figure.axes
    points = axes.collections[0].get_offsets().data
    assert points == pytest.approx(found.mean[:, [7, 3]])
    median = np.median(found.sd[:, 7])
    assert axes.get_xlabel() == f"z7, 3.00 nats, sd {median:.2g}"
    assert axes.get_ylabel().startswith("z3, ")


def test_ellipses_are_of_rows_from_the_whole_sample():
    drawn = posterior_ellipses(posteriors(2, n=1_000), title="a model")
    marked = np.flatnonzero([row["ellipse"] for row in drawn.rows])
    assert (marked[0], marked[-1]) == (0, 999)
    assert set(np.diff(marked)) <= {16, 17}


def test_few_images_all_have_an_ellipse():
    drawn = posterior_ellipses(posteriors(2, n=7), title="a model")
    assert len(ellipses(drawn.figure.axes[0])) == 7
    assert "means of 7 images" in drawn.figure.get_supxlabel()


@pytest.mark.parametrize("shift", [0.0, 20.0])
def test_one_scale_both_ways_holds_the_prior_and_all_ellipses(shift):
    found = posteriors(2)
    found.mean[:, 0] += shift
    (axes,) = posterior_ellipses(found, title="a model").figure.axes
    assert axes.get_aspect() == 1
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert right - left == pytest.approx(high - low)
    (prior,) = (p for p in axes.patches if isinstance(p, Circle))
    assert (prior.center, prior.radius, prior.get_linestyle()) == ((0, 0), 1, ":")
    for patch in [*ellipses(axes), prior]:
        (x, y), wide, tall = patch.center, patch.width / 2, patch.height / 2
        assert left < x - wide < x + wide < right
        assert low < y - tall < y + tall < high


def test_one_latent_is_left_out():
    with pytest.raises(DataError, match="two latents; this model has 1"):
        posterior_ellipses(posteriors(1), title="a model")


@pytest.mark.parametrize("stretch", [(1, 4, 1), (4, 1, 1), (3, 3, 1)])
def test_labels_and_notes_stand_apart_under_long_titles(stretch):
    found = posteriors(3)
    found = replace(found, mean=found.mean * stretch)
    for title in ("a model", "Posteriors in two latents, " + "a setting that is long, " * 4):
        assert text_faults(posterior_ellipses(found, title=title).figure) == []
