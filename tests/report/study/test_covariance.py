"""Covariances of one model's latents: matrices, their order, and what the figure says."""

import numpy as np
import pytest

from unknot.report.study.covariance import covariance_maps
from unknot.report.study.latents import Posteriors


def posteriors(z, n=300, scale=1.0, order=None):
    """Latents that go together, with deviations that differ by image and by latent."""
    draws = np.random.default_rng(0)
    mean = scale * draws.standard_normal((n, z)) @ draws.standard_normal((z, z)) + 3
    sd = draws.uniform(0.1, 1, (n, z)) * np.linspace(0.5, 1, z)
    order = order or list(range(z))
    kl = np.empty(z)
    kl[order] = np.linspace(2, 0, z)
    return Posteriors(mean, sd, order, kl >= 0.05, kl)


def matrix(drawn, what, names):
    held = {(row["first"], row["second"]): row[what] for row in drawn.rows}
    return np.array([[held[a, b] for b in names] for a in names])


def maps(drawn):
    return drawn.figure.axes[:2]


def test_covariances_are_those_of_means_and_of_the_mixture():
    found = posteriors(4)
    drawn = covariance_maps(found, title="a model")
    names = [f"z{z}" for z in range(4)]
    means = np.cov(found.mean.T, ddof=0)
    assert matrix(drawn, "means", names) == pytest.approx(means)
    codes = means + np.diag(np.square(found.sd).mean(0))
    assert matrix(drawn, "codes", names) == pytest.approx(codes)


def test_drawn_codes_have_the_covariance_in_closed_form():
    found = posteriors(3, n=40_000)
    eps = np.random.default_rng(1).standard_normal(found.mean.shape)
    sampled = np.cov((found.mean + found.sd * eps).T, ddof=0)
    drawn = covariance_maps(found, title="a model")
    assert matrix(drawn, "codes", ["z0", "z1", "z2"]) == pytest.approx(sampled, abs=0.06)


def test_latents_go_by_information_in_maps_and_rows():
    found = posteriors(3, order=[2, 0, 1])
    drawn = covariance_maps(found, title="a model")
    assert list(dict.fromkeys(row["first"] for row in drawn.rows)) == ["z2", "z0", "z1"]
    means = np.cov(found.mean[:, [2, 0, 1]].T, ddof=0)
    for axes, wanted in zip(
        maps(drawn), (means, means + np.diag(np.square(found.sd).mean(0)[[2, 0, 1]])), strict=True
    ):
        assert [label.get_text() for label in axes.get_yticklabels()] == ["z2", "z0", "z1"]
        assert axes.images[0].get_array().data == pytest.approx(wanted)


def test_the_names_of_passive_latents_are_grey():
    axes = maps(covariance_maps(posteriors(3), title="a model"))[0]
    first, second, passive = (label.get_color() for label in axes.get_yticklabels())
    assert first == second != passive


@pytest.mark.parametrize(("scale", "clipped"), [(0.1, False), (5.0, True)])
def test_both_maps_have_one_scale_around_0_that_one_variance_cannot_stretch(scale, clipped):
    found = posteriors(3, scale=scale)
    drawn = covariance_maps(found, title="a model")
    first, second = (axes.images[0].get_clim() for axes in maps(drawn))
    assert first == second
    assert -first[0] == first[1]
    largest = max(abs(row["codes"]) for row in drawn.rows)
    assert first[1] == pytest.approx(2 if clipped else largest)
    said = drawn.figure.get_supxlabel()
    assert "Both maps share one colour scale" in said
    assert ("ends at ±2" in said) == clipped
    assert "DIP-VAE-I " in said
    assert "DIP-VAE-II " in said


def test_cells_have_numbers_of_either_sign():
    mean = np.array([[1.0, -0.5], [-1.0, 0.5]])
    found = Posteriors(mean, np.full((2, 2), 0.5), [0, 1], np.array([True, True]), np.ones(2))
    first, second = maps(covariance_maps(found, title="a model"))
    assert [text.get_text() for text in first.texts] == ["1", "−.50", "−.50", ".25"]
    assert [text.get_text() for text in second.texts] == ["1.2", "−.50", "−.50", ".50"]


@pytest.mark.parametrize(("z", "numbers"), [(1, True), (12, True), (13, False), (25, False)])
def test_few_latents_have_numbers(z, numbers, tmp_path):
    drawn = covariance_maps(posteriors(z), title="a model")
    assert len(drawn.rows) == z * z
    for axes in maps(drawn):
        assert len(axes.texts) == (z * z if numbers else 0)
        assert len(axes.get_yticklabels()) == z
    assert len(drawn.save(tmp_path, "covariances")) == 3


def test_of_very_many_latents_only_some_are_named():
    drawn = covariance_maps(posteriors(100), title="a model")
    names = [label.get_text() for label in maps(drawn)[0].get_yticklabels()]
    assert names == [f"z{z}" for z in range(0, 100, 4)]
    assert drawn.figure.get_size_inches().max() < 11


def test_codes_that_never_move_are_a_map_of_zeros():
    zero = np.zeros((5, 2))
    found = Posteriors(zero, zero, [0, 1], np.array([False, False]), np.zeros(2))
    drawn = covariance_maps(found, title="a model")
    assert {row["codes"] for row in drawn.rows} == {0}
    assert maps(drawn)[0].images[0].get_clim() == (-1, 1)
