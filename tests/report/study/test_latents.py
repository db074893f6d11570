"""Figures of one model's latents: what is drawn for posteriors that are known."""

import numpy as np
import pytest

from unknot.report.study.latents import Posteriors, aggregate_histograms, posterior_densities


def posteriors(used, n=400):
    """Latent z has means around z and deviations around 0.1 (z + 1)."""
    draws = np.random.default_rng(0)
    z = len(used)
    mean = np.arange(z) + 0.05 * draws.standard_normal((n, z))
    sd = 0.1 * (np.arange(z) + 1) + 0.001 * draws.standard_normal((n, z))
    kl = np.linspace(z, 1, z)
    return Posteriors(mean, sd, list(range(z)), np.array(used), kl)


def of(drawn, **wanted):
    return [row for row in drawn.rows if all(row[k] == v for k, v in wanted.items())]


def peak(rows):
    return max(rows, key=lambda row: row["density"])["value"]


def test_densities_are_those_of_means_and_deviations_with_the_active_apart():
    drawn = posterior_densities(posteriors([True, False, True]), title="a model")
    assert {(row["latent"], row["group"]) for row in drawn.rows} == {
        ("z0", "active"),
        ("z1", "inactive"),
        ("z2", "active"),
    }
    for z in range(3):
        assert peak(of(drawn, latent=f"z{z}", of="mean")) == pytest.approx(z, abs=0.06)
        deviation = peak(of(drawn, latent=f"z{z}", of="deviation"))
        assert deviation == pytest.approx(0.1 * (z + 1), abs=0.002)
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in drawn.figure.axes]
    prior = {"mean": 0, "deviation": 1}
    for title, axes in zip(titles, drawn.figure.axes, strict=True):
        group, _, what = title.partition(": posterior ")
        lines = [line for line in axes.lines if line.get_linestyle() != ":"]
        assert len(lines) == {"active": 2, "inactive": 1}[group]
        (dotted,) = (line for line in axes.lines if line.get_linestyle() == ":")
        assert set(dotted.get_xdata()) == {prior[what]}


@pytest.mark.parametrize("active", [True, False])
def test_however_many_latents_are_active_each_has_its_line(active):
    drawn = posterior_densities(posteriors([active] * 25, n=50), title="a model")
    assert {row["latent"] for row in drawn.rows} == {f"z{z}" for z in range(25)}
    alphas = [line.get_alpha() for line in drawn.figure.axes[0].lines if line.get_alpha()]
    assert sorted(alphas, reverse=True) == alphas
    assert min(alphas) >= 0.4


def test_codes_of_all_images_are_a_density_beside_the_prior():
    found = posteriors([True, False], n=20_000)
    drawn = aggregate_histograms(found, title="a model")
    for z in range(2):
        rows = of(drawn, latent=f"z{z}")
        at, density, prior = (
            np.array([row[k] for row in rows]) for k in ("value", "density", "prior")
        )
        width = at[1] - at[0]
        assert density.sum() * width == pytest.approx(1)
        middle = (at * density).sum() * width
        assert middle == pytest.approx(z, abs=0.01)
        spread = ((at - middle) ** 2 * density).sum() * width
        # The mixture of posteriors, and what bins add.
        wanted = 0.05**2 + (0.1 * (z + 1)) ** 2 + width**2 / 12
        assert spread == pytest.approx(wanted, rel=0.05)
        assert prior == pytest.approx(np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi))
    bars = [axes.patches[0].get_facecolor() for axes in drawn.figure.axes]
    assert bars[0] != bars[1]


def test_codes_beyond_the_axis_are_counted():
    found = posteriors([True] * 2, n=1_000)
    found.mean[:1, 0] = 50.0
    drawn = aggregate_histograms(found, title="a model")
    said = " ".join(text.get_text() for text in drawn.figure.texts)
    assert "1 of 2,000 codes lie outside of ±4." in said
