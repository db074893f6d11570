"""Draws: uniform, reproducible, and the same alone or in a population."""

import torch
from scipy.stats import chisquare

from unknot.data.draw import singles
from unknot.data.xyobject import SPACE


def test_every_row_and_factor_value_is_equally_likely():
    steps = torch.arange(1000)
    index = singles(5, steps, 300, size=SPACE.size)
    assert index.shape == (1000, 300)
    factors = SPACE.factors(index.flatten())
    for column, size in zip(factors.T, SPACE.sizes, strict=True):
        assert chisquare(torch.bincount(column, minlength=size)).pvalue > 1e-3
    # Place in the batch against the coarsest factor: no position prefers a value.
    first = factors[:, 2].reshape(1000, 300)
    for position in (0, 1, 299):
        assert chisquare(torch.bincount(first[:, position], minlength=5)).pvalue > 1e-3


def test_rows_are_drawn_with_replacement():
    """Two places of a batch agree with probability 1 / size: 50,000 pairs, 12,500 expected."""
    index = singles(0, torch.arange(50_000), 2, size=4)
    same = int((index[:, 0] == index[:, 1]).sum())
    assert abs(same - 12_500) < 4 * (12_500 * 0.75) ** 0.5


def test_a_member_of_a_population_draws_as_if_alone():
    seeds = torch.tensor([3, 2**40 + 7, 0])
    together = singles(seeds, 17, 64, size=737_280)
    assert together.shape == (3, 64)
    for member, seed in enumerate(seeds.tolist()):
        assert torch.equal(together[member], singles(seed, 17, 64, size=737_280))
    assert not torch.equal(together[0], together[2])


def test_steps_differ_and_a_smaller_batch_is_the_head_of_a_larger_one():
    assert not torch.equal(singles(1, 0, 64, size=1000), singles(1, 1, 64, size=1000))
    assert torch.equal(singles(1, 0, 64, size=1000)[:10], singles(1, 0, 10, size=1000))


def test_the_largest_grid_is_reached():
    size = 64**6
    index = singles(0, 0, 4096, size=size)
    assert index.min() >= 0
    assert index.max() < size
    assert index.max() > 0.99 * size
