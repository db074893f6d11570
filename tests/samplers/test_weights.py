"""Weights over a grid: their formulas, and draws that honour them."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.data.parts.images import Bytes
from unknot.samplers.pairs import Pairs
from unknot.samplers.parts.weights import Correlated, Within, Without, table
from unknot.samplers.singles import Singles
from unknot.samplers.triplets import Triplets

CPU = torch.device("cpu")
SPACE = FactorSpace(("shape", "x", "y"), (3, 4, 7), ("nominal", "ordered", "ordered"))
DATA = FactorDataset("grid", SPACE, Bytes(torch.zeros(84, 1, 1, 1, dtype=torch.uint8)))
LINE = FactorSpace(("x",), (5,), ("ordered",))


def by_formula(sigma):
    """Träuble et al. 2021: exp(-(v1 - v2)^2 / 2 sigma^2) of values scaled to 0 .. 1."""
    weights = np.zeros((3, 4, 7))
    for shape, x, y in np.ndindex(3, 4, 7):
        weights[shape, x, y] = math.exp(-((x / 3 - y / 6) ** 2) / (2 * sigma**2))
    return weights.ravel() / weights.sum()


@pytest.mark.parametrize("sigma", [0.1, 0.2, 0.7, 50.0])
def test_correlated_factors_follow_their_formula(sigma):
    found = table(SPACE, (Correlated("x", "y", sigma),)).numpy()
    np.testing.assert_allclose(found, by_formula(sigma), rtol=1e-12)
    other = table(SPACE, (Correlated("y", "x", sigma),)).numpy()
    np.testing.assert_allclose(found, other, rtol=1e-12)


def test_a_wide_sigma_is_a_uniform_grid_and_a_narrow_one_the_diagonal():
    wide = table(SPACE, (Correlated("x", "y", 1e6),))
    torch.testing.assert_close(wide, torch.full((84,), 1 / 84).double())
    narrow = table(SPACE, (Correlated("x", "y", 0.01),)).reshape(3, 4, 7)
    for x in range(4):
        assert narrow[0, x, 2 * x].item() == pytest.approx(1 / 12)


def test_ranges_and_combinations_by_hand():
    factors = SPACE.factors(torch.arange(84))
    inside = (factors[:, 1] >= 1) & (factors[:, 1] <= 2) & (factors[:, 2] >= 3)
    box = (("x", "y"), (1, 3), (2, 6))
    within, without = table(SPACE, (Within(*box),)), table(SPACE, (Without(*box),))
    assert torch.equal(within > 0, inside)
    assert torch.equal(without > 0, ~inside)
    assert within[inside].unique().tolist() == [1 / 24]
    assert without[~inside].unique().tolist() == [1 / 60]


def test_weights_multiply():
    weights = (Correlated("x", "y", 0.3), Without(("shape", "y"), (0, 0), (1, 2)))
    product = table(SPACE, weights[:1]) * table(SPACE, weights[1:])
    torch.testing.assert_close(table(SPACE, weights), product / product.sum())


WEIGHTS = (
    Correlated("x", "y", 0.3),
    Within(("y",), (1,), (5,)),
    Without(("shape", "x"), (0, 2), (1, 3)),
)


@pytest.mark.parametrize("weights", [WEIGHTS[:1], WEIGHTS[1:], WEIGHTS], ids=len)
@pytest.mark.parametrize("kind", [Singles, Pairs, Triplets])
def test_rows_come_by_their_weight_and_those_held_out_never(kind, weights):
    """All singles; of pairs the first; of triplets the anchors, which the order leaves alone."""
    n, expected = 50_000, table(SPACE, weights)
    rows = kind(weights=weights).bind(DATA, CPU)(1, 0, n)
    counts = torch.bincount(rows, minlength=84)
    assert counts[expected == 0].sum() == 0
    counts = torch.bincount(rows[:n], minlength=84)
    held = expected > 0
    assert chisquare(counts[held], expected[held] * n).pvalue > 1e-3


def test_three_rows_of_a_triplet_are_drawn_alike():
    """Two of one triplet, ordered, are as many of each row as two singles are."""
    n, expected = 50_000, table(SPACE, WEIGHTS)
    rows = Triplets(weights=WEIGHTS).bind(DATA, CPU)(2, 0, n)[n:]
    held = expected > 0
    counts = torch.bincount(rows, minlength=84)[held]
    assert chisquare(counts, expected[held] * 2 * n).pvalue > 1e-3


def changed(weight, row, factors, another):
    """Probabilities of where a row ends whose factors change one by one, by their weights."""
    if not factors:
        return {row: 1.0}
    here, *rest = factors
    values = range(SPACE.sizes[here])
    ways = [(*row[:here], v, *row[here + 1 :]) for v in values if v != row[here] or not another]
    whole, found = sum(weight[way] for way in ways), {}
    for way in ways if whole else [row]:
        share = weight[way] / whole if whole else 1.0
        for end, p in changed(weight, way, rest, another).items() if share else ():
            found[end] = found.get(end, 0.0) + share * p
    return found


@pytest.mark.parametrize("weights", [WEIGHTS[:1], WEIGHTS[1:], WEIGHTS], ids=len)
@pytest.mark.parametrize("sampler", ["exact", "reference"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_other_row_of_a_pair_comes_by_weight_too(k, sampler, weights):
    """Both rows of a pair together, against all ways there are."""
    weight = table(SPACE, weights).reshape(SPACE.sizes).numpy()
    expected = np.zeros((84, 84))
    for first in zip(*np.nonzero(weight), strict=True):
        for count in (k, k) if sampler == "exact" else (1, k):  # of the reference a coin decides
            for chosen in itertools.combinations(range(3), count):
                share = weight[first] / 2 / math.comb(3, count)
                for end, p in changed(weight, first, chosen, sampler == "exact").items():
                    places = (np.ravel_multi_index(of, SPACE.sizes) for of in (first, end))
                    expected[*places] += share * p
    n = 100_000
    rows = Pairs(k, sampler, weights).bind(DATA, CPU)(k, 0, n).reshape(2, n)
    counts = torch.bincount(rows[0] * 84 + rows[1], minlength=84**2).numpy().reshape(84, 84)
    assert counts[expected == 0].sum() == 0
    often = expected * n >= 5
    rare = n - counts[often].sum(), n * (1 - expected[often].sum())
    seen, due = ([*of[often], r] for of, r in zip((counts, expected * n), rare, strict=True))
    keep = slice(None) if due[-1] >= 5 else slice(-1)
    seen, due = np.array(seen[keep], dtype=float), np.array(due[keep])
    assert chisquare(seen, due * seen.sum() / due.sum()).pvalue > 1e-3


def test_pairs_change_only_factors_that_have_several_values_of_any_weight():
    only = (Within(("y",), (2,), (2,)),)
    rows = Pairs(weights=only).bind(DATA, CPU)(0, 0, 20_000).reshape(2, -1)
    first, second = SPACE.factors(rows)
    counts = torch.bincount((first != second).sum(-1), minlength=3)
    assert first[:, 2].unique().tolist() == second[:, 2].unique().tolist() == [2]
    assert counts[0] == 0
    assert chisquare(counts[1:]).pvalue > 1e-3, "k is uniform on 1 .. 2"
    with pytest.raises(ConfigError) as caught:
        Pairs(changed=3, weights=only).bind(DATA, CPU)
    assert str(caught.value) == (
        "Pairs that differ in 3 factors need as many with several values; grid has 2: "
        "['shape', 'x']."
    )


def test_a_factor_without_another_value_stays():
    """Where y is 0, x is 0; elsewhere it is anything."""
    corner = (Without(("x", "y"), (1, 0), (3, 0)), Within(("shape",), (0,), (0,)))
    rows = Pairs(changed=1, weights=corner).bind(DATA, CPU)(0, 0, 20_000).reshape(2, -1)
    first, second = SPACE.factors(rows)
    stuck = (first == second).all(-1)
    assert torch.equal(stuck, (first[:, 2] == 0) & (second[:, 2] == 0))
    assert stuck.any()


@pytest.mark.parametrize(("word", "first", "last"), [(0, 1, 1), (2**53 - 1, 3, 3)])
def test_the_ends_of_the_noise_fall_on_rows_that_have_weight(word, first, last, monkeypatch):
    """The smallest and the largest number: the first and the last row of weight, not beyond."""
    data = FactorDataset("line", LINE, Bytes(torch.zeros(5, 1, 1, 1, dtype=torch.uint8)))
    rows = Singles((Within(("x",), (1,), (3,)),)).bind(data, CPU)

    def integers(seed, stream, step, *shape, high):
        assert high == 2**53
        return torch.full(shape, word)

    monkeypatch.setattr(noise, "integers", integers)
    found = rows(0, 0, 4)
    assert (found.min().item(), found.max().item()) == (first, last)


def test_one_row_that_is_left_is_always_drawn():
    only = Singles((Within(("shape", "x", "y"), (2, 3, 6), (2, 3, 6)),))
    assert only.bind(DATA, CPU)(0, 0, 100).unique().tolist() == [83]


HUGE = FactorSpace(("a", "b"), (2**20, 2**8), ("ordered", "ordered"))
BAD = {
    "no factor": (SPACE, Correlated("x", "z"), "There is no factor 'z'"),
    "misspelt": (SPACE, Without(("shpe",), (0,), (0,)), "did you mean 'shape'?"),
    "beyond": (SPACE, Within(("x",), (2,), (4,)), "Factor 'x' has values 0 .. 3; got 2 .. 4."),
    "constant": (
        FactorSpace(("a", "b"), (1, 4), ("ordered", "ordered")),
        Correlated("a", "b"),
        "Factor 'a' has one value and cannot correlate",
    ),
    "nothing left": (LINE, Without(("x",), (0,), (4,)), "leave no row to draw"),
    "too large": (HUGE, Within(("a",), (0,), (1,)), "at most 134,217,728 points"),
}


@pytest.mark.parametrize("case", BAD)
def test_weights_that_do_not_fit_the_grid(case):
    space, weight, expected = BAD[case]
    with pytest.raises(ConfigError) as caught:
        table(space, (weight,))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_that_make_no_sense():
    with pytest.raises(ConfigError, match=r"must be above 0; got 0\.0"):
        Correlated("x", "y", 0.0)
    with pytest.raises(ConfigError, match="must be above 0; got nan"):
        Correlated("x", "y", math.nan)
    with pytest.raises(ConfigError, match="got 'x' twice"):
        Correlated("x", "x")
    for kind in (Within, Without):
        with pytest.raises(ConfigError, match="one first and one last value for each"):
            kind(("x", "y"), (0,), (1,))
        with pytest.raises(ConfigError, match="one first and one last value for each"):
            kind((), (), ())
        with pytest.raises(ConfigError, match=r"from 0 on; got 3 \.\. 1 for 'x'"):
            kind(("x",), (3,), (1,))
        with pytest.raises(ConfigError, match=r"got -1 \.\. 1 for 'x'"):
            kind(("x",), (-1,), (1,))
