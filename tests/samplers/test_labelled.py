"""Labelled rows: few, the same for all runs, and drawn beside any rows."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.data.xysquares import XYSquares
from unknot.samplers.labelled import Labelled
from unknot.samplers.parts.sampler import independent_rows
from unknot.samplers.parts.weights import Correlated, Within

CPU = torch.device("cpu")
SQUARES = XYSquares().load()


def small(size=12):
    space = FactorSpace(("row",), (size,), ("ordered",))
    return FactorDataset("small", space, SQUARES.images)


def test_second_rows_are_labelled_and_equally_likely_and_first_rows_are_any():
    sampler = Labelled(labels=5)
    labelled = sampler.labelled_rows(SQUARES)
    assert len(labelled.unique()) == 5
    rows = sampler.bind(SQUARES, CPU)(7, torch.arange(500), 20)
    first, second = rows[:, :20], rows[:, 20:]
    assert set(second.flatten().tolist()) == set(labelled.tolist())
    counts = (second.flatten().unsqueeze(-1) == labelled).sum(0)
    assert chisquare(counts).pvalue > 1e-3
    alone = independent_rows(SQUARES, (), CPU)(7, "order", torch.arange(500), 20)
    assert torch.equal(first, alone)


def test_which_rows_have_labels_depends_on_the_samplers_seed_alone():
    rows = [Labelled(labels=30, seed=seed).labelled_rows(SQUARES) for seed in (0, 0, 1)]
    assert torch.equal(rows[0], rows[1])
    assert not torch.equal(rows[0], rows[2])
    fewer = Labelled(labels=10).labelled_rows(SQUARES)
    assert torch.equal(fewer, rows[0][:10])  # fewer labels are some of more
    assert sorted(Labelled(labels=100).labelled_rows(small()).tolist()) == [*range(12)]


def test_weights_hold_for_labelled_rows_too():
    within = Labelled(labels=1000, weights=(Within(("x_r",), (2,), (3,)),))
    rows = within.labelled_rows(SQUARES)
    assert SQUARES.space.factors(rows)[:, 0].unique().tolist() == [2, 3]
    tied = Labelled(labels=1000, weights=(Correlated("x_r", "y_r", 0.2),)).labelled_rows(SQUARES)
    values = SQUARES.space.factors(tied).double()
    assert len(tied.unique()) == 1000
    assert torch.corrcoef(values[:, :2].T)[0, 1] > 0.6
    few = FactorSpace(("a", "b"), (2, 6), ("ordered", "ordered"))
    data = FactorDataset("few", few, SQUARES.images)
    rows = Labelled(weights=(Within(("a",), (0,), (0,)),)).labelled_rows(data)
    assert sorted(rows.tolist()) == [*range(6)]


def test_draws_without_replacement_follow_the_weights():
    """The first of the labelled rows is drawn by weight: 1 to 3, over many seeds."""
    data = FactorDataset(
        "two", FactorSpace(("a", "b"), (2, 2), ("ordered", "ordered")), SQUARES.images
    )
    tied = (Correlated("a", "b", 1.0),)
    first = [Labelled(1, seed, tied).labelled_rows(data).item() for seed in range(3000)]
    counts = torch.bincount(torch.tensor(first), minlength=4)
    share = 0.5 / (1 + math.exp(-0.5))
    expected = 3000 * np.array([share, 0.5 - share, 0.5 - share, share])
    assert chisquare(counts, expected).pvalue > 1e-3


def test_numbers_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match=r"^Labelled\.labels must be 1 or more; got 0"):
        Labelled(labels=0)
