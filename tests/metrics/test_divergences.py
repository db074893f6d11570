"""Divergences: closed forms, bounds, and how they hang together."""

import inspect
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.core.errors import DataError, ShapeError
from unknot.metrics.parts.divergences import jensen_shannon, kl, wasserstein

positive = st.lists(st.floats(0.01, 1), min_size=8, max_size=8)


def total_variation(p, q):
    return (p - q).abs().sum() / 2


def pair(numbers):
    raw = torch.tensor(numbers, dtype=torch.float64).reshape(2, -1)
    return raw / raw.sum(1, keepdim=True)


@given(positive)
def test_bounds_between_them(numbers):
    """Jensen-Shannon at most ln 2, Pinsker's inequality, and no divergence below 0."""
    p, q = pair(numbers)
    assert -1e-12 <= jensen_shannon(p, q).item() <= math.log(2)
    assert total_variation(p, q).item() <= math.sqrt(kl(p, q).item() / 2) + 1e-9


@given(positive)
def test_merging_outcomes_never_raises_a_divergence(numbers):
    """The data-processing inequality."""
    p, q = pair(numbers)
    merged = [torch.stack([one[:2].sum(), one[2:].sum()]) for one in (p, q)]
    for of in (kl, jensen_shannon, total_variation):
        assert of(*merged) <= of(p, q) + 1e-12


@given(positive)
def test_total_variation_is_the_cost_of_moving_anything(numbers):
    p, q = pair(numbers)
    hamming = 1 - torch.eye(len(p), dtype=torch.float64)
    torch.testing.assert_close(wasserstein(p, q, hamming), total_variation(p, q), atol=1e-9, rtol=0)


def test_on_a_line_it_is_the_area_between_cumulative_sums():
    p, q = pair([0.1, 0.4, 0.3, 0.2, 0.3, 0.1, 0.1, 0.5])
    place = torch.arange(4, dtype=torch.float64)
    area = (p.cumsum(0) - q.cumsum(0)).abs().sum()
    torch.testing.assert_close(wasserstein(p, q, (place[:, None] - place).abs()), area)


def test_mass_where_the_other_has_none():
    p, q = pair([0.5, 0.5, 1.0, 0.0])
    assert kl(p, q).item() == math.inf
    assert kl(q, p).item() == pytest.approx(math.log(2))
    assert jensen_shannon(p, q).item() < math.log(2)


def test_what_is_no_distribution_is_refused():
    p, q = pair([0.5, 0.5, 1.0, 0.0])
    with pytest.raises(DataError, match=r"^Expected probabilities that add up to 1; got 2 with"):
        kl(2 * p, q)
    with pytest.raises(DataError, match="with a least of -1"):
        kl(torch.tensor([2.0, -1.0]).double(), q)
    with pytest.raises(ShapeError, match="over the same outcomes; got 2 and 3"):
        inspect.unwrap(kl)(p, torch.ones(3).double() / 3)  # past the tests' own check of shapes
    with pytest.raises(ShapeError, match=r"Expected a cost of 2 x 2; got \(3, 3\)"):
        wasserstein(p, q, torch.zeros(3, 3).double())
