"""MIG integrated over posteriors, as its paper defines it."""

import math

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from metrics.representations import ALIGNED, SIZES, expected, factors, get, perfect
from metrics.test_posteriors import two_gaussians
from unknot.core import noise
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import mig
from unknot.metrics.mig import Exact


def narrow(codes: np.ndarray, sigma: float = 0.05) -> np.ndarray:
    return np.full(codes.shape, 2 * math.log(sigma))


@expected(
    ALIGNED
    # One of the codes is scaled to a spread that its posteriors' deviation blurs.
    | {"rescaled": 0.934}
    | {"duplicated": 0.0, "rotated": 0.5, "missing": 0.75, "noise": 0.0, "outlier": 0.998}
)
def test_reference_representation(name, value):
    codes, values = get(name)
    score = mig(codes, values, logvar=narrow(codes), protocol="paper")
    assert float(score) == pytest.approx(value, abs=0.005)
    assert score.ceiling is None


def test_scaled_with_its_posteriors_a_code_scores_the_same():
    codes, values = get("perfect")
    scale = np.array([0.5, -2.0, 3.0, 0.2])
    before = mig(codes, values, logvar=narrow(codes, 0.3), protocol="paper")
    wider = narrow(codes, 0.3) + 2 * np.log(np.abs(scale))
    after = mig(codes * scale + 1, values, logvar=wider, protocol="paper")
    assert 0.3 < float(before) < 0.95
    # A sign turns a symmetric draw around: the same up to the error of drawing.
    assert float(after) == pytest.approx(float(before), abs=0.01)


def test_one_bit_through_noise_is_that_of_quadrature():
    """One code of two, posteriors N(+-1, 0.7): the gap is its information over ln 2."""
    n = 4_000
    values = np.arange(n)[:, None] % 2
    codes = np.hstack([2.0 * values - 1, np.zeros((n, 1))])
    score = mig(codes, values, logvar=narrow(codes, 0.7), protocol="paper")
    assert float(score) == pytest.approx(two_gaussians(1, 0.7) / math.log(2), abs=0.02)
    assert score.parts["information"][1, 0] == pytest.approx(0, abs=1e-9)


def test_equals_the_slow_reference():
    """The estimator of the paper's appendix in NumPy, row by row."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 3, (30, 2))
    codes, logvar = values + rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) - 1
    score = mig(codes, values, logvar=logvar, protocol="paper", seed=4)
    order = noise.permutation(4, "metric/points", 0, 30, 1)[:, 0].numpy()
    v, m, s = values[order], codes[order], logvar[order]
    eps = noise.normal(4, "metric/points", 1, 30, 2, dtype=torch.float64).numpy()
    z = m + np.exp(s / 2) * eps

    def entropy(j, rows):
        densities = [
            [-0.5 * ((z[a, j] - m[b, j]) ** 2 / np.exp(s[b, j]) + s[b, j]) for b in rows]
            for a in rows
        ]
        constant = 0.5 * math.log(2 * math.pi) + math.log(len(rows))
        return -np.mean(logsumexp(densities, axis=1) - constant)

    gaps = []
    for k in range(2):
        shares = np.bincount(v[:, k]) / 30
        known = [
            entropy(j, range(30))
            - sum(shares[c] * entropy(j, np.flatnonzero(v[:, k] == c)) for c in range(3))
            for j in range(2)
        ]
        gaps.append(abs(known[0] - known[1]) / -np.sum(shares * np.log(shares)))
    np.testing.assert_allclose(score.parts["per_factor"], gaps, atol=1e-10)


def test_fewer_points_are_random_ones_of_each_mixture():
    codes, values = get("perfect")
    logvar = narrow(codes, 0.3)
    whole = mig(codes, values, logvar=logvar, protocol=Exact())
    some = mig(codes, values, logvar=logvar, protocol=Exact(posterior_samples=300))
    assert float(some) == pytest.approx(float(whole), abs=0.05)
    assert float(some) != float(whole)
    assert (some.protocol["name"], some.protocol["posterior_samples"]) == ("custom", 300)


def test_a_grid_scores_as_its_rows_and_a_part_of_it_says_so():
    space = FactorSpace(("a", "b", "c", "d"), SIZES, ("ordered",) * 4)
    codes = torch.from_numpy(perfect()[: space.size])
    logvar = torch.from_numpy(narrow(codes.numpy()))
    grid = Representation.whole(space, codes), Representation.whole(space, logvar)
    score = mig(grid[0], logvar=grid[1], protocol="paper")
    assert float(score) == pytest.approx(1, abs=1e-6)
    assert not score.remarks
    part = mig(grid[0], logvar=grid[1], protocol=Exact(samples=200))
    assert "200 of 432 posteriors" in part.remarks[0]


def test_codes_alone_are_not_enough():
    with pytest.raises(ConfigError, match="mig under the protocol of its paper reads whole"):
        mig(perfect(), factors(), protocol="paper")


def test_other_protocols_do_not_read_variances():
    codes, values = get("perfect")
    assert mig(codes, values).values == mig(codes, values, logvar=narrow(codes)).values


def test_the_interval_covers_the_value():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, (80, 2))
    codes = values + rng.normal(size=(80, 2))
    score = mig(codes, values, logvar=narrow(codes, 0.5), protocol="paper", interval=0.9)
    assert score.interval[0] < float(score) < score.interval[1]
