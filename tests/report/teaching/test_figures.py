"""Figures that explain methods: their numbers, and that they can be read."""

import math

import numpy as np
import pytest
from report.text_boxes import text_faults
from scipy import integrate, stats

from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.objectives.parts.families import FAMILIES, families
from unknot.report import teaching
from unknot.report.teaching import (
    amortisation_gap,
    distribution_distances,
    flow_depth,
    gradient_variance,
    information_bottleneck,
    iwae_bound,
    objective_families,
)


@pytest.fixture(scope="module")
def drawn():
    return {name: teaching.figure_module(name).draw() for name in teaching.NAMES}


@pytest.mark.parametrize("name", teaching.NAMES)
def test_titles_captions_numbers_and_room(drawn, name):
    one = drawn[name]
    assert one.figure.get_suptitle()
    legends = one.figure.legends
    assert legends[0].get_title().get_text() if legends else one.figure.get_supxlabel()
    assert one.rows
    assert not text_faults(one.figure)


def test_a_wrong_name():
    with pytest.raises(ConfigError, match="no figure 'iwae_bond'; did you mean 'iwae_bound'"):
        teaching.figure_module("iwae_bond")


def test_ratios_of_clouds_follow_their_width_and_turn(drawn):
    rows = drawn["rotated_clouds"].rows
    assert len(rows) == 12
    for row in rows:
        linear = (1 - row["width"] ** 2) / (1 + row["width"] ** 2)
        along = abs(math.cos(2 * math.radians(row["turn"])))
        ratios = row["linearity"], row["axis_alignment"], row["orientation"]
        assert ratios == pytest.approx((linear, linear * along, along), abs=1e-9)


def test_sampled_gradients_have_the_exact_variances(drawn):
    for row in drawn["gradient_variance"].rows:
        assert row["variance"] == pytest.approx(row["exact"], rel=0.1)
    assert gradient_variance.exact_variances(1) == (4, 15), "E z^6 = 15"


def test_bounds_rise_to_the_log_likelihood(drawn):
    assert iwae_bound.log_likelihood() == pytest.approx(stats.norm(0, math.sqrt(1.5)).logpdf(1.5))
    rows = drawn["iwae_bound"].rows
    for name in iwae_bound.POSTERIORS:
        own = [row for row in rows if row["posterior"] == name]
        bounds = [row["bound"] for row in own]
        assert all(b <= row["log_likelihood"] + 3 * row["standard_error"] + 1e-12
                   for b, row in zip(bounds, own, strict=True))  # fmt: skip
        if name == "exact":
            assert bounds == pytest.approx([iwae_bound.log_likelihood()] * len(bounds))
        else:
            assert bounds[0] < bounds[3] < bounds[-1]


def test_the_bound_of_one_sample_is_the_elbo():
    mean, variance = iwae_bound.POSTERIORS["shifted"]
    first = -0.5 * (math.log(2 * math.pi) + mean**2 + variance)
    away = (iwae_bound.X - mean) ** 2 + variance
    second = -0.5 * (math.log(2 * math.pi * iwae_bound.NOISE) + away / iwae_bound.NOISE)
    elbo = first + second + 0.5 * (1 + math.log(2 * math.pi * variance))
    values = iwae_bound.log_weights(mean, variance, 1)
    assert values.mean() == pytest.approx(elbo, abs=4 * values.std() / math.sqrt(len(values)))


def test_depth_and_samples_raise_the_bound(drawn):
    rows = drawn["flow_depth"].rows
    exact = flow_depth.log_likelihood(np.array([flow_depth.X]))[0]
    elbos = [row["bound"] for row in rows if row["samples"] == 1]
    gaussian = amortisation_gap.best_elbo(np.array([flow_depth.X]))[0]
    assert elbos[0] == pytest.approx(gaussian, abs=1e-3), "no step is a Gaussian"
    assert elbos == sorted(elbos)
    assert elbos[0] < exact - 0.05
    assert exact - 0.01 < elbos[-1] < exact
    sampled = flow_depth.bounds(1, 1)
    assert sampled.mean() == pytest.approx(elbos[1], abs=4 * sampled.std() / len(sampled) ** 0.5)
    for depth in flow_depth.DEPTHS:
        own = [row for row in rows if row["depth"] == depth]
        assert all(row["bound"] < exact + 4 * row["standard_error"] for row in own)
    shallow = [row["bound"] for row in rows if row["depth"] == 0]
    assert shallow == sorted(shallow), "over samples"


def test_the_density_of_a_flow_is_that_of_its_samples():
    eps = np.linspace(-7, 7, 20_001)
    z, log_slope = flow_depth.transform(np.array([0.3, -0.5, 1.2, 0.4, -0.8, -0.6, 0.2, 0.5]), eps)
    assert np.log(np.gradient(z, eps))[1:-1] == pytest.approx(log_slope[1:-1], abs=1e-5)
    density = np.exp(stats.norm.logpdf(eps) - log_slope)
    assert integrate.trapezoid(density, z) == pytest.approx(1, abs=1e-6)


def test_gaps_are_between_ordered_curves(drawn):
    rows = drawn["amortisation_gap"].rows
    for row in rows:
        assert row["log_likelihood"] >= row["best_elbo"] - 1e-9
        assert row["best_elbo"] >= row["amortised_elbo"] - 1e-6
    assert max(row["best_elbo"] - row["amortised_elbo"] for row in rows) > 0.05


def test_elbo_and_likelihood_by_another_integration():
    x, mean, log_sd = 0.7, 0.4, -0.6
    q = stats.norm(mean, math.exp(log_sd))

    def integrand(z):
        joint = amortisation_gap.log_joint(np.array(x), np.array(z))
        return q.pdf(z) * (float(joint) - q.logpdf(z))

    expected, _ = integrate.quad(integrand, -6, 6)
    arrays = (np.array([value]) for value in (x, mean, log_sd))
    assert amortisation_gap.elbo(*arrays)[0] == pytest.approx(expected, abs=1e-6)

    def joint(z):
        return math.exp(float(amortisation_gap.log_joint(np.array(x), np.array(z))))

    total, _ = integrate.quad(joint, -8, 8)
    assert amortisation_gap.log_likelihood(np.array([x]))[0] == pytest.approx(math.log(total))


@pytest.mark.parametrize(("m", "s"), [(0.0, 1.0), (1.5, 0.7), (-0.4, 2.0)])
def test_distances_by_integration_and_samples(m, s):
    p, q = stats.norm(0, 1), stats.norm(m, s)

    def divergence(a, b):
        return integrate.quad(lambda x: a.pdf(x) * (a.logpdf(x) - b.logpdf(x)), -25, 25)[0]

    assert distribution_distances.kl(m, s) == pytest.approx(divergence(p, q), abs=1e-7)
    assert distribution_distances.reverse_kl(m, s) == pytest.approx(divergence(q, p), abs=1e-7)

    def middle(x):
        return 0.5 * (p.pdf(x) + q.pdf(x))

    half = [
        integrate.quad(lambda x, a=a: a.pdf(x) * math.log(a.pdf(x) / middle(x)), -12, 12)[0]
        for a in (p, q)
    ]
    assert distribution_distances.jensen_shannon(m, s) == pytest.approx(sum(half) / 2, abs=1e-6)
    # Optimal transport in one dimension pairs quantiles.
    levels = (np.arange(20_000) + 0.5) / 20_000
    cost = np.sqrt(np.mean((p.ppf(levels) - q.ppf(levels)) ** 2))
    assert distribution_distances.wasserstein(m, s) == pytest.approx(cost, abs=2e-3)
    x, y = p.ppf(levels[::20]), q.ppf(levels[::20])

    def kernel(a, b):
        return np.exp(-((a[:, None] - b) ** 2) / 2).mean()

    mmd = math.sqrt(max(kernel(x, x) + kernel(y, y) - 2 * kernel(x, y), 0))
    assert distribution_distances.mmd(m, s) == pytest.approx(mmd, abs=5e-3)


def test_the_bottleneck_is_what_a_noisy_copy_reaches():
    rho, noise = 0.9, 0.3
    rate = 0.5 * math.log(1 + 1 / noise)
    with_y = rho / math.sqrt(1 + noise)
    reached = -0.5 * math.log(1 - with_y**2)
    assert information_bottleneck.relevant_information(rate, rho) == pytest.approx(reached)
    assert information_bottleneck.relevant_information(0.0, rho) == 0


def test_penalties_are_those_of_the_objective(drawn):
    rows = drawn["sigma_penalties"].rows
    value = {(row["curve"], round(row["sigma"], 6)): row["value"] for row in rows}
    assert value["σ²", 3.0] == pytest.approx(9)
    assert value["ln(1 + σ²)", 3.0] == pytest.approx(math.log(10))
    assert value["bounded", 1.0] == pytest.approx(1 / (1 + math.log(2)))


def test_objectives_stand_in_the_row_of_their_family_and_the_column_of_their_supervision(drawn):
    one = drawn["objective_families"]
    assert {row["objective"] for row in one.rows} == {*registry.names("objectives")}
    (axes,) = one.figure.axes
    place = {text.get_text(): text.get_position() for text in axes.texts}
    for row in one.rows:
        name = row["objective"]
        left, below = place[f"{name} {row['year']}"]
        assert row["family"] == families([name]).popitem()[0]
        above = [family for family in FAMILIES if family in place and place[family][1] <= below]
        assert above[-1] == row["family"]
        assert left == place[objective_families.COLUMNS[row["supervision"]]][0]
    years = [(row["family"], row["year"]) for row in one.rows]
    assert ("aggregate", "2015") in years, "of aae"
    assert [year for family, year in years if family == "posterior"] == sorted(
        year for family, year in years if family == "posterior"
    )
