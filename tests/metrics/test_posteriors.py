import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.representations import OF_POSTERIORS
from unknot import metrics
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.posterior import Posterior
from unknot.core.representation import Representation
from unknot.metrics.parts.inputs import Inputs
from unknot.metrics.parts.mixtures import log_density, mixture_information

RNG = np.random.default_rng(3)
MEAN, LOGVAR = RNG.normal(size=(40, 2)), RNG.normal(size=(40, 2))
WITHOUT_POINTS = [name for name in OF_POSTERIORS if name != "kl_decomposition"]
"""Scores that draw no points of posteriors, which would differ with the order of rows."""
SPACE = FactorSpace(("a", "b"), (5, 8), ("ordered", "ordered"))


def rep(values: np.ndarray, space: FactorSpace = SPACE) -> Representation:
    return Representation.whole(space, torch.from_numpy(values))


def test_rows_of_arrays_and_of_a_grid_keep_means_and_variances_together():
    for codes, logvar in (
        (MEAN, LOGVAR),
        (torch.from_numpy(MEAN), LOGVAR),
        (rep(MEAN), rep(LOGVAR)),
    ):
        inputs = Inputs(codes, logvar=logvar, seed=1)
        rows = inputs.rows(samples=25, factors=False, posteriors="score")
        mean, logvar = rows.posteriors()
        assert mean.shape == logvar.shape == (25, 2)
        for m, v in zip(mean, logvar, strict=True):
            (i,) = np.flatnonzero(np.isclose(MEAN[:, 0], m[0].item()))
            np.testing.assert_allclose(LOGVAR[i], v)


@pytest.mark.parametrize(
    ("codes", "logvar", "error", "words"),
    [
        (MEAN, None, ConfigError, "score reads whole posteriors"),
        (MEAN, LOGVAR[:, :1], ShapeError, r"shape of codes, \(40, 2\); got \(40, 1\)"),
        (MEAN, np.full_like(MEAN, -np.inf), DataError, "NaN or infinite"),
        (MEAN, MEAN.astype(str), DataError, "real numbers"),
        (rep(MEAN), LOGVAR, ShapeError, "both representations"),
        (rep(MEAN), rep(LOGVAR[:, :1]), ShapeError, "of the grid"),
    ],
)
def test_bad_posteriors_are_one_clear_error(codes, logvar, error, words):
    with pytest.raises(error, match=words) as caught:
        Inputs(codes, logvar=logvar).rows(samples=None, factors=False, posteriors="score")
    assert "\n" not in str(caught.value)


def test_divergence_is_that_of_torch():
    normal = torch.distributions.Normal
    mean, logvar = torch.from_numpy(MEAN), torch.from_numpy(LOGVAR)
    truth = torch.distributions.kl_divergence(
        normal(mean, (0.5 * logvar).exp()), normal(torch.zeros(()), torch.ones(()))
    )
    torch.testing.assert_close(Posterior(mean, logvar).kl(), truth)
    assert Posterior(torch.zeros(1, 1), torch.zeros(1, 1)).kl().item() == 0


@given(st.integers(1, 600), st.integers(0, 9))
@settings(max_examples=10)
def test_density_is_that_of_torchs_mixture(n, seed):
    """Also where the components do not fit at once."""
    rng = np.random.default_rng(seed)
    mean, logvar = torch.from_numpy(rng.normal(size=(2, n, 3)))
    points = 3 * torch.from_numpy(rng.normal(size=(50, 3)))
    parts = torch.distributions.Normal(mean.T, (0.5 * logvar).exp().T)
    even = torch.distributions.Categorical(torch.ones(3, n).double())
    truth = torch.distributions.MixtureSameFamily(even, parts).log_prob(points)
    torch.testing.assert_close(log_density(points, mean, logvar), truth)


def two_gaussians(distance: float, sigma: float) -> float:
    """Information of a fair coin and a point of N(+-distance, sigma), by quadrature."""
    t = np.linspace(-distance - 9 * sigma, distance + 9 * sigma, 20_001)

    def entropy(density):
        return -np.trapezoid(np.where(density > 0, density * np.log(density + 1e-300), 0), t)

    def normal(m):
        return np.exp(-0.5 * ((t - m) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))

    mixture = 0.5 * (normal(distance) + normal(-distance))
    return entropy(mixture) - 0.5 * math.log(2 * math.pi * math.e * sigma**2)


@pytest.mark.parametrize(("distance", "sigma"), [(1.0, 0.7), (0.3, 1.0), (2.0, 0.1)])
def test_information_of_two_gaussians_is_that_of_quadrature(distance, sigma):
    n = 4_000
    level = torch.arange(n) % 2
    mean = distance * (2.0 * level.double()[:, None] - 1)
    logvar = torch.full_like(mean, 2 * math.log(sigma))
    eps = torch.randn(n, 1, generator=torch.Generator().manual_seed(0)).double()
    ours = mixture_information(mean + sigma * eps, mean, logvar, level[:, None], n)
    assert ours.item() == pytest.approx(two_gaussians(distance, sigma), abs=0.03)
    assert 0 <= two_gaussians(distance, sigma) <= math.log(2) + 1e-9


def test_entropy_of_a_normal_aggregate():
    """Posteriors of variance 1/4 around means of variance 3/4 make up the prior."""
    n = 4_000
    quantiles = torch.special.ndtri((torch.arange(n).double() + 0.5) / n)[:, None]
    mean = math.sqrt(0.75) * quantiles
    logvar = torch.full_like(mean, math.log(0.25))
    at = torch.linspace(-3, 3, 25).double()[:, None]
    normal = -0.5 * at.square() - 0.5 * math.log(2 * math.pi)
    torch.testing.assert_close(log_density(at, mean, logvar), normal, atol=5e-3, rtol=0)


@given(st.integers(0, 50), st.floats(0.01, 2))
@settings(max_examples=20)
def test_information_lies_between_nothing_and_the_entropy_of_the_factor(seed, sigma):
    rng = np.random.default_rng(seed)
    levels = torch.from_numpy(rng.integers(0, 4, (60, 2)))
    mean = levels.double() + torch.from_numpy(rng.normal(size=(60, 2)))
    logvar = torch.full_like(mean, 2 * math.log(sigma))
    points = mean + sigma * torch.from_numpy(rng.normal(size=(60, 2)))
    known = mixture_information(points, mean, logvar, levels, 60)
    for k in range(2):
        shares = torch.bincount(levels[:, k]).double() / 60
        whole = torch.special.entr(shares).sum()
        assert bool((known[:, k] >= 0).all())
        assert bool((known[:, k] <= whole + 1e-12).all())


@pytest.mark.parametrize("name", WITHOUT_POINTS)
@given(
    permutation=st.permutations(range(3)),
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=3, max_size=3),
)
@settings(max_examples=5)
def test_order_and_sign_of_latents_do_not_matter(name, permutation, signs):
    """Their unit does: it is that of the prior."""
    rng = np.random.default_rng(0)
    mean, logvar = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3)), rng.normal(size=(50, 3))
    score = getattr(metrics, name)
    before = score(mean, logvar=logvar)
    after = score((mean * signs)[:, permutation], logvar=logvar[:, permutation])
    assert after.values == pytest.approx(dict(before.values), abs=1e-9)
    assert float(score(3 * mean, logvar=logvar)) > float(before)


@pytest.mark.parametrize("name", WITHOUT_POINTS)
def test_arrays_of_any_kind_and_a_grid_score_alike(name):
    score = getattr(metrics, name)
    by_numpy = score(MEAN.astype(np.float32), logvar=LOGVAR.astype(np.float32), seed=3)
    by_torch = score(torch.from_numpy(MEAN).float(), logvar=torch.from_numpy(LOGVAR).float())
    on_grid = score(rep(MEAN), logvar=rep(LOGVAR))
    assert by_torch.values == by_numpy.values
    assert on_grid.values == pytest.approx(dict(by_numpy.values), rel=1e-5)
    assert by_numpy.protocol["rows"] == 40
    assert by_numpy.protocol["factors"] == ()
