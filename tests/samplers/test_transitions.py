"""Transitions: against the distribution of redrawing until a factor changes, by exact count."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factor_table import FactorTable
from unknot.core.factors import FactorSpace
from unknot.data.parts.images import Bytes
from unknot.samplers.parts.weights import Within, Without
from unknot.samplers.singles import Singles
from unknot.samplers.transitions import Transitions

CPU = torch.device("cpu")


def grid(*sizes, kinds=None):
    names = tuple("abcdef"[: len(sizes)])
    space = FactorSpace(names, sizes, kinds or ("ordered",) * len(sizes))
    return FactorDataset("grid", space, Bytes(torch.zeros(space.size, 1, 1, 1, dtype=torch.uint8)))


def drawn(sampler, data, n, seed=0):
    """Rows of first and second views."""
    return sampler.bind(data, CPU)(seed, 0, n).reshape(2, n)


def laplace_table(data, rate):
    """How likely each second row follows each first: all combinations, those that stay left out."""
    space = data.space
    factors = list(itertools.product(*map(range, space.sizes)))
    chances = np.zeros((len(factors), len(factors)))
    for (i, first), (j, second) in itertools.product(enumerate(factors), repeat=2):
        if i == j:
            continue
        share = 1.0
        for a, b, size, kind in zip(first, second, space.sizes, space.kinds, strict=True):
            apart = min(abs(a - b), size - abs(a - b)) if kind == "cyclic" else abs(a - b)
            scale = math.log(size) / rate if size > 1 else 1.0
            values = range(size)
            each = [min(abs(a - v), size - abs(a - v)) if kind == "cyclic" else abs(a - v)
                    for v in values]  # fmt: skip
            if kind == "nominal":
                share *= a == b
            else:
                share *= math.exp(-apart / scale) / sum(math.exp(-d / scale) for d in each)
        chances[i, j] = share
    return chances / chances.sum(1, keepdims=True)


@pytest.mark.parametrize("rate", [1.0, 6.0])
@pytest.mark.parametrize(
    "kinds", [("ordered", "ordered", "ordered"), ("cyclic", "nominal", "ordered")]
)
def test_laplace_steps_have_the_distribution_of_redrawing_until_one_changes(rate, kinds):
    data = grid(5, 2, 3, kinds=kinds)
    first, second = drawn(Transitions(rate=rate), data, 300_000, seed=4)
    expected = laplace_table(data, rate) * torch.bincount(first, minlength=30).numpy()[:, None]
    counts = np.zeros((30, 30))
    np.add.at(counts, (first.numpy(), second.numpy()), 1)
    possible = expected > 0
    assert counts[~possible].sum() == 0
    likely = expected > 5
    rest = [counts[possible & ~likely].sum(), expected[possible & ~likely].sum()]
    observed, wanted = [*counts[likely]], [*expected[likely]]
    if rest[1] > 5:
        observed, wanted = [*observed, rest[0]], [*wanted, rest[1]]
    wanted = np.array(wanted) * sum(observed) / sum(wanted)
    # One chi-square over all cells, each first row with its own number of rows.
    statistic = ((np.array(observed) - wanted) ** 2 / wanted).sum()
    free = len(wanted) - 30
    assert abs(statistic - free) < 4 * math.sqrt(2 * free)


def test_a_single_factor_always_changes_however_large_the_rate():
    first, second = drawn(Transitions(rate=40.0), grid(4), 2000)
    assert (abs(first - second) == 1).all()
    both = grid(4, 3)
    first, second = drawn(Transitions(rate=60.0), both, 2000)
    differs = both.space.factors(first) != both.space.factors(second)
    assert (differs.sum(-1) == 1).all()


def test_a_rate_of_0_is_any_other_row():
    data = grid(4, 3)
    first, second = drawn(Transitions(rate=0.0), data, 60_000)
    table = np.zeros((12, 12))
    np.add.at(table, (first.numpy(), second.numpy()), 1)
    assert table.trace() == 0
    assert chisquare(table[~np.eye(12, dtype=bool)]).pvalue > 1e-3


def test_uniform_steps_change_k_factors_from_1_to_one_less_than_all():
    data = grid(3, 4, 2, 1, 5, kinds=("nominal", "ordered", "ordered", "ordered", "ordered"))
    first, second = (data.space.factors(r) for r in drawn(Transitions("uniform"), data, 60_000))
    differs = first != second
    counts = torch.bincount(differs.sum(-1), minlength=6)
    assert counts[0] == counts[4] == counts[5] == 0
    assert chisquare(counts[1:4]).pvalue > 1e-3
    assert not differs[:, 3].any()
    for axis, size in ((0, 3), (1, 4), (4, 5)):
        step = ((second - first) % size)[differs[:, axis], axis]
        assert chisquare(torch.bincount(step, minlength=size)[1:]).pvalue > 1e-3
    first, second = drawn(Transitions("uniform"), grid(4), 500)
    assert (first != second).all()


def test_the_first_row_is_what_single_rows_would_be():
    data = grid(5, 4)
    first = Transitions().bind(data, CPU)(3, 8, 40)[:40]
    assert torch.equal(first, Singles().bind(data, CPU)(3, 8, 40))


def test_weights_keep_both_rows_inside_and_weigh_where_a_step_leads():
    data = grid(6, 5)
    held_out = Without(("a", "b"), (2, 2), (3, 3))
    for steps in ("laplace", "uniform"):
        first, second = drawn(Transitions(steps, weights=(held_out,)), data, 20_000)
        assert (first != second).all()
        for row in (first, second):
            a, b = data.space.factors(row).T
            assert not ((a >= 2) & (a <= 3) & (b >= 2) & (b <= 3)).any()
            assert len(row.unique()) == 30 - 4
    # A line of three values, of which the last is out: each step leads to the other one.
    line = Transitions(weights=(Within(("a",), (0,), (1,)),))
    first, second = drawn(line, grid(3), 500)
    assert torch.equal(second, 1 - first)
    # A row that is alone stays.
    alone = Transitions(weights=(Within(("a", "b"), (1, 1), (1, 1)),))
    first, second = drawn(alone, data, 100)
    assert torch.equal(first, second)


def test_transitions_that_cannot_be_are_refused():
    with pytest.raises(ConfigError) as refused:
        Transitions().bind(grid(4, 3, kinds=("nominal", "nominal")), CPU)
    assert str(refused.value) == (
        "Transitions need a factor with several values to step along, one that is not nominal; "
        "grid has none."
    )
    assert Transitions("uniform").bind(grid(4, 3, kinds=("nominal", "nominal")), CPU)
    with pytest.raises(ConfigError, match=r"Transitions\.rate must be 0 or more; got -1"):
        Transitions(rate=-1.0)
    kinds, levels = ("ordered", "ordered"), ((1, 2), (1, 2))
    labels = FactorTable(("a", "b"), kinds, levels, torch.tensor([[0, 1], [1, 0], [1, 1]]))
    images = Bytes(torch.zeros(3, 1, 1, 1, dtype=torch.uint8))
    with pytest.raises(ConfigError, match=r"^Transitions need images for every combination of lab"):
        Transitions().bind(FactorDataset("labels", labels, images), CPU)
