import math

import numpy as np
import pytest

from unknot.report.model.figures import curve, curve_names, curves_figure, factor_figure
from unknot.report.model.latents import Latents
from unknot.report.style import png

NAN = math.nan


@pytest.fixture
def three(make_curves):
    """Three members; the last diverges at step 200."""
    return make_curves(
        [0, 100, 200],
        kl=[[0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [4.0, 6.0, NAN]],
        kl__weight=[[2.0] * 3, [2.0] * 3, [4.0] * 3],
        recon=[[900.0] * 3, [90.0, 80.0, 70.0], [9.0, 8.0, NAN]],
        recon__weight=[[1.0] * 3] * 3,
        loss=[[900.0] * 3, [90.0, 80.0, 70.0], [9.0, 8.0, NAN]],
    )


def test_the_loss_comes_first_and_weights_only_if_they_change(three):
    assert curve_names(three) == ["loss", "recon", "kl", "kl.weight"]
    figure = curves_figure(three)
    assert [axes.get_title(loc="left") for axes in figure.axes] == curve_names(three)


@pytest.mark.parametrize("some_diverged", [0.0, 1.0])
def test_whether_a_model_diverged_is_drawn_where_one_did(make_curves, some_diverged):
    curves = make_curves([0, 100], loss=[[1.0], [1.0]], diverged=[[0.0], [some_diverged]])
    assert ("diverged" in curve_names(curves)) == bool(some_diverged)


def test_a_line_for_each_member_and_the_median_of_those_that_are_numbers(three):
    (axes,) = curve(three, "kl").axes
    thin, cross, median = axes.lines[:3], axes.lines[3], axes.lines[-1]
    assert np.array(thin[1].get_ydata()) == pytest.approx([0.2, 2, 6])
    assert np.isnan(thin[2].get_ydata()[-1])
    assert (cross.get_xdata()[0], cross.get_ydata()[0]) == (100, 3)
    assert np.array(median.get_ydata()) == pytest.approx([0.2, 2, 5])


def test_a_lone_run_is_one_line(make_curves):
    (axes,) = curve(make_curves([0, 1], loss=[[3.0], [2.0]]), "loss").axes
    assert len(axes.lines) == 1
    assert axes.get_yscale() == "linear"


def test_only_what_falls_by_orders_of_magnitude_gets_a_logarithmic_axis(three):
    scales = {name: curve(three, name).axes[0].get_yscale() for name in ("loss", "kl")}
    assert scales == {"loss": "log", "kl": "linear"}


def test_all_members_may_have_diverged(make_curves):
    curves = make_curves([0, 1], loss=[[NAN, NAN], [NAN, math.inf]])
    assert png(curve(curves, "loss"))


def test_the_factor_figure_shows_each_share_in_the_order_of_the_latents():
    found = Latents(
        np.array([0.0, 3.0]),
        np.zeros(2),
        np.ones(2),
        np.array([[0.25, NAN], [0.5, 0.125]]),
    )
    (axes,) = factor_figure(found, ["x", "y"]).axes
    assert [text.get_text() for text in axes.texts] == ["50%", "12%", "25%", "–"]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "z1  3.00 nats",
        "z0  0.00 nats",
    ]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["x", "y"]
    assert axes.images[0].get_array().tolist() == [[0.5, 0.125], [0, 0]], "unused is not coloured"


def test_files_are_the_same_at_every_call(three):
    assert png(curve(three, "kl")) == png(curve(three, "kl"))


def test_all_latents_are_named_inside_of_the_panel_where_their_lines_end_alike(make_curves):
    values = {f"kl__{z}": [[5.0 - z], [0.01 * z]] for z in range(5)}
    (axes,) = curve(make_curves([0, 1], loss=[[1.0]] * 2, **values), "kl.*").axes
    places = {text.get_text(): text.xy[1] for text in axes.texts}
    assert [*places] == ["z4", "z3", "z2", "z1", "z0"], "the highest end first"
    low, high = axes.get_ylim()
    assert all(low < place < high for place in places.values())
    assert (np.diff([*places.values()]) < 0).all()


def test_long_names_of_factors_are_slanted():
    found = Latents(np.ones(1), np.zeros(1), np.ones(1), np.array([[0.25, 0.5]]))
    for names, angle in ((["x", "y"], 0), (["Attractive", "Wearing_Lipstick"], 35)):
        (axes,) = factor_figure(found, names).axes
        assert {label.get_rotation() for label in axes.get_xticklabels()} == {angle}
