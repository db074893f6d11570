"""Pairs: how many factors differ, which, and by which values."""

import itertools
import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.data.parts.images import Bytes
from unknot.data.xysquares import XYSquares
from unknot.samplers.pairs import Pairs
from unknot.samplers.singles import Singles

CPU = torch.device("cpu")
SIZES = (3, 4, 2, 5)


def grid(*sizes, kinds=None, names="abcdef"):
    space = FactorSpace(tuple(names[: len(sizes)]), sizes, kinds or ("ordered",) * len(sizes))
    return FactorDataset("grid", space, Bytes(torch.zeros(space.size, 1, 1, 1, dtype=torch.uint8)))


def drawn(pairs, data, n, seed=0):
    """The factors of both rows, and where they differ."""
    rows = pairs.bind(data, CPU)(seed, 0, n).reshape(2, n)
    first, second = data.space.factors(rows)
    return first, second, first != second


def test_k_is_uniform_and_that_many_factors_differ():
    """Michlo 2022, A.2.3: k from 1 .. F and exactly k differ, so their number is uniform."""
    _, _, differs = drawn(Pairs(), XYSquares().load(), 100_000)
    counts = torch.bincount(differs.sum(-1), minlength=7)
    assert counts[0] == 0
    assert chisquare(counts[1:]).pvalue > 0.01


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_a_fixed_k_is_kept_and_all_sets_of_factors_are_equally_likely(k):
    _, _, differs = drawn(Pairs(changed=k), grid(*SIZES), 30_000, seed=k)
    assert (differs.sum(-1) == k).all()
    sets = torch.bincount((differs * torch.tensor([8, 4, 2, 1])).sum(-1), minlength=16)
    expected = [sum(which) == k for which in itertools.product((0, 1), repeat=4)]
    assert sets[~torch.tensor(expected)].sum() == 0
    if k < 4:
        assert chisquare(sets[torch.tensor(expected)]).pvalue > 1e-3


def test_which_factors_differ_does_not_depend_on_how_many():
    """Given k, each factor is among those that differ with probability k / F."""
    _, _, differs = drawn(Pairs(), grid(*SIZES), 200_000, seed=1)
    for k in (1, 2, 3):
        some = differs[differs.sum(-1) == k].double()
        error = (some.mean(0) - k / 4).abs().max()
        assert error < 4 * (k / 4 * (1 - k / 4) / len(some)) ** 0.5


def test_a_new_value_is_any_other_value():
    first, second, differs = drawn(Pairs(), grid(*SIZES), 100_000, seed=2)
    for factor, size in enumerate(SIZES):
        both = torch.stack([first, second])[:, differs[:, factor], factor]
        table = torch.bincount(both[0] * size + both[1], minlength=size**2).reshape(size, size)
        assert table.diagonal().sum() == 0
        assert chisquare(table[~torch.eye(size, dtype=torch.bool)]).pvalue > 1e-3


def test_both_rows_are_uniform_over_the_grid():
    data = grid(*SIZES)
    rows = Pairs().bind(data, CPU)(3, 0, 60_000).reshape(2, -1)
    for view in rows:
        assert chisquare(torch.bincount(view, minlength=len(data))).pvalue > 1e-3


def test_the_first_row_is_what_single_rows_would_be():
    data = grid(*SIZES)
    first = Pairs().bind(data, CPU)(3, 8, 40)[:40]
    assert torch.equal(first, Singles().bind(data, CPU)(3, 8, 40))


def test_a_factor_of_one_value_never_counts():
    _, _, differs = drawn(Pairs(), grid(3, 1, 4, 1), 20_000)
    assert not differs[:, [1, 3]].any()
    assert chisquare(torch.bincount(differs.sum(-1), minlength=3)[1:]).pvalue > 1e-3
    with pytest.raises(ConfigError) as caught:
        Pairs(changed=3).bind(grid(3, 1, 4, 1), CPU)
    assert str(caught.value) == (
        "Pairs that differ in 3 factors need as many with several values; grid has 2: ['a', 'c']."
    )


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=6).filter(lambda s: max(s) > 1),
    seed=st.integers(0, 2**63 - 1),
    data=st.data(),
)
def test_exactly_k_differ_on_any_grid(sizes, seed, data):
    able = [size > 1 for size in sizes]
    k = data.draw(st.integers(1, sum(able)))
    _, _, differs = drawn(Pairs(changed=k), grid(*sizes), 30, seed=seed)
    assert (differs.sum(-1) == k).all()
    assert not differs[:, ~torch.tensor(able)].any()


def test_a_grid_larger_than_float_arithmetic_could_count():
    space = FactorSpace(tuple("abcdef"), (64,) * 6, ("ordered",) * 6)
    data = FactorDataset("huge", space, XYSquares(spacing=1, square=1).load().images)
    _, _, differs = drawn(Pairs(changed=6), data, 2_000)
    assert differs.all()


def reference(sizes, k=None):
    """How likely 0, 1, .. F factors differ: an exact count over the reference's own steps.

    k from 1 .. F - 1 unless fixed, a coin between 1 and k, that many factors, each to any value.
    """
    total = len(sizes)
    chosen = [Fraction(0)] * (total + 1)
    for drawn_k in [k] if k else range(1, total):
        for count in (1, drawn_k):
            chosen[count] += Fraction(1, 2 * (1 if k else total - 1))
    differ = [Fraction(0)] * (total + 1)
    for count, share in enumerate(chosen):
        for factors in itertools.combinations(sizes, count):
            for moved in itertools.product((0, 1), repeat=count):
                chances = [Fraction(f - 1, f) if m else Fraction(1, f)
                           for f, m in zip(factors, moved, strict=True)]  # fmt: skip
                differ[sum(moved)] += share * math.prod(chances) / math.comb(total, count)
    return differ


@pytest.mark.parametrize("k", [None, 1, 3, 4])
def test_the_reference_sampler_has_its_own_distribution(k):
    """The public code of Locatello et al. 2020, by exact count; far from uniform on 1 .. F."""
    expected = reference(SIZES, k)
    assert sum(expected) == 1
    _, _, differs = drawn(Pairs(changed=k, rule="reference"), grid(*SIZES), 100_000)
    counts = torch.bincount(differs.sum(-1), minlength=5)
    possible = [i for i, share in enumerate(expected) if share]
    assert counts.sum() == counts[possible].sum()
    expected = [float(expected[i]) * 100_000 for i in possible]
    assert chisquare(counts[possible], expected).pvalue > 0.01
    assert chisquare(counts[1:] + 1).pvalue < 1e-6


def test_the_reference_redraws_to_any_value():
    """A factor is chosen in k / F of the cases and then lands on any value, its own included."""
    first, second, _ = drawn(Pairs(changed=4, rule="reference"), grid(3, 3, 3, 3), 100_000, seed=5)
    stayed = (first == second).double().mean().item()
    chosen = 0.5 * (1 / 4) + 0.5 * 1
    assert stayed == pytest.approx(1 - chosen * 2 / 3, abs=0.004)


def test_pairs_that_cannot_be_are_refused():
    with pytest.raises(ConfigError, match=r"^Pairs\.changed must be 1 or more; got 0\.$"):
        Pairs(changed=0)
    wrong = Pairs()
    object.__setattr__(wrong, "rule", "exakt")  # past the tests' own check of types
    with pytest.raises(ConfigError, match=r"^Pairs\.rule has no choice 'exakt'; did you mean"):
        wrong.__post_init__()
    with pytest.raises(ConfigError, match=r"need as many with several values; grid has 0: \[\]"):
        Pairs().bind(grid(1, 1), CPU)
    with pytest.raises(ConfigError, match="reference sampler need two factors; grid has one"):
        Pairs(rule="reference").bind(grid(5), CPU)
    with pytest.raises(ConfigError) as caught:
        Pairs().bind(grid(9, kinds=("nominal",), names=["index"]), CPU)
    assert str(caught.value) == (
        "Pairs compare factors and grid has none; give labels, or add 'factors' to its file."
    )
