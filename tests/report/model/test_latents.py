import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f_oneway

from unknot.core.errors import ConfigError
from unknot.core.posterior import Posterior
from unknot.report.model.latents import (
    check_member,
    explained_variance,
    latent_label,
    measure_latents,
    sample_rows,
)


def test_kl_and_spread_are_the_closed_forms_over_the_data(make_run):
    def encode(x):
        a = x.mean((1, 2, 3))
        return Posterior(torch.stack([0 * a, 3 * a + 1], 1), torch.stack([0 * a, 0 * a - 2], 1))

    run = make_run(latents=2, encoder=encode)
    (found,) = measure_latents(run)

    a = run.dataset.batch(torch.arange(len(run.dataset))).double().mean((1, 2, 3)).numpy()
    mean, variance = 3 * a + 1, np.exp(-2)
    expected = np.mean(0.5 * (mean**2 + variance - 1 + 2))
    assert found.kl == pytest.approx([0, expected], rel=1e-6)
    assert found.mean == pytest.approx([0, mean.mean()], rel=1e-6)
    assert found.sd == pytest.approx([1, np.sqrt(mean.var() + variance)], rel=1e-6)
    assert found.order == [1, 0]
    assert found.used.tolist() == [False, True]


def test_a_member_that_is_not_there_is_refused(make_run):
    with pytest.raises(ConfigError, match=r"from 0 to 1; got 2"):
        check_member(make_run(seeds=(5, 6)), 2)


def test_the_sample_is_all_rows_of_a_small_grid_and_always_the_same_of_a_large_one(make_run):
    run = make_run()
    assert sample_rows(run, 24).tolist() == list(range(24))
    few = sample_rows(run, 10)
    assert few.tolist() == sample_rows(make_run(seeds=(8, 9)), 10).tolist()
    assert len(few) == 10
    assert few.max() < 24


def test_explained_variance_is_the_adjusted_share_of_an_analysis_of_variance():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 5], (200, 2))
    codes = rng.normal(size=(200, 4)) + factors @ rng.normal(size=(2, 4))
    ours = explained_variance(codes, factors)
    for z in range(4):
        for f in range(2):
            groups = [codes[factors[:, f] == v, z] for v in np.unique(factors[:, f])]
            k, n = len(groups), len(codes)
            ratio = f_oneway(*groups).statistic * (k - 1)
            raw = ratio / (ratio + n - k)
            expected = max(0, 1 - (1 - raw) * (n - 1) / (n - k))
            assert ours[z, f] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 100), st.floats(-100, 100))
def test_explained_variance_ignores_names_of_values_and_the_scale_of_codes(seed, scale, shift):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, 4, (60, 2))
    codes = rng.normal(size=(60, 3)) + factors[:, :1]
    renamed = rng.permutation(4)[factors]
    before = explained_variance(codes, factors)
    assert explained_variance(-scale * codes + shift, renamed) == pytest.approx(before, abs=1e-9)


def test_independent_codes_explain_nothing_on_average():
    rng = np.random.default_rng(1)
    factors = rng.integers(0, 10, (400, 1))
    shares = explained_variance(rng.normal(size=(400, 300)), factors)
    # Without the correction for the ten means the average would be 9 / 399 = 0.023.
    assert shares.mean() < 0.008


def test_what_cannot_be_explained_is_nan():
    factors = np.stack([np.arange(20) % 2, np.arange(20)], axis=1)
    codes = np.stack([np.ones(20), np.full(20, np.inf), np.full(20, np.nan), np.arange(20.0)], 1)
    shares = explained_variance(codes, factors)
    assert np.isnan(shares[:3]).all()
    assert np.isfinite(shares[3, 0])
    assert np.isnan(shares[3, 1]), "as many values as rows would explain anything"


def test_a_diverged_member_is_nan_and_leaves_the_others_alone(make_run):
    alone, both = (
        measure_latents(make_run()),
        measure_latents(make_run(seeds=(0, 1), alive=(True, False))),
    )
    assert both[0].kl.tolist() == alone[0].kl.tolist()
    assert np.isnan(both[1].kl).all()
    assert not both[1].used.any()


@pytest.mark.parametrize(
    ("sigma", "kl", "text"),
    [
        (None, 3.0, "z3  3.00 nats"),
        (0.2, 0.7423, "z3  σ 0.20  0.74 nats"),
        (0.0043, 0.0, "z3  σ 0.0043  0.00 nats"),
        (12.0, 1e12, "z3  σ 12.00  1e12 nats"),
    ],
)
def test_a_latent_is_written_alike_in_all_figures(sigma, kl, text):
    assert latent_label(3, kl, sigma) == text
    assert latent_label(3, kl, sigma, apart=", ") == text.replace("  ", ", ")
