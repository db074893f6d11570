from dataclasses import replace

import numpy as np
import pytest
import torch

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import beta_vae, factor_vae
from unknot.metrics.parts.drawing import take
from unknot.metrics.parts.inputs import Inputs
from unknot.metrics.parts.interventions import (
    CHUNK,
    Grid,
    Groups,
    VoteNoise,
    batches,
    chance_remark,
    source,
)

SPACE = FactorSpace(("a", "one", "b"), (4, 1, 6), ("ordered", "nominal", "ordered"))
POINTS = SPACE.factors(torch.arange(SPACE.size))
# Codes that are the factors: what a batch shares can be read off them.
GRID = Representation.whole(SPACE, POINTS.double())
ROWS = Inputs(GRID).rows(samples=600)
FACTOR = torch.tensor([0, 1] * 50)


def sources():
    return [source(ROWS, None), source(replace(ROWS, grid=None), None)]


def draw(stream: str = "s") -> VoteNoise:
    return VoteNoise(0, stream, torch.arange(100))


@pytest.mark.parametrize("points", sources(), ids=["grid", "rows"])
def test_a_batch_holds_its_factor_and_no_other(points):
    codes = points.hold(FACTOR, 40, draw())
    assert codes.shape == (100, 40, 3)
    a, b = codes[..., 0], codes[..., 2]
    assert (a[0::2] == a[0::2, :1]).all()
    assert (b[1::2] == b[1::2, :1]).all()
    assert (b[0::2].var(1) > 0).all()
    assert (a[1::2].var(1) > 0).all()


@pytest.mark.parametrize("points", sources(), ids=["grid", "rows"])
def test_held_values_and_the_others_are_uniform(points):
    codes = points.hold(torch.zeros(3_000).long(), 8, VoteNoise(0, "u", torch.arange(3_000)))
    held = torch.bincount(codes[:, 0, 0].long(), minlength=4) / 3_000
    assert held == pytest.approx(0.25, abs=0.04)
    free = torch.bincount(codes[..., 2].long().flatten(), minlength=6) / 24_000
    assert free == pytest.approx(1 / 6, abs=0.03)


@pytest.mark.parametrize("points", sources(), ids=["grid", "rows"])
def test_pairs_agree_in_their_factor_and_its_value_varies(points):
    first, second = points.pairs(FACTOR, 40, draw())
    for vote, column in ((0, 0), (1, 2)):
        assert torch.equal(first[vote::2, :, column], second[vote::2, :, column])
        assert (first[vote::2, :, column].var(1) > 0).all()
        assert (first[vote::2, :, 2 - column] != second[vote::2, :, 2 - column]).any(1).all()


def test_pairs_of_rows_are_two_different_rows():
    codes = torch.arange(40.0, dtype=torch.float64)[:, None]
    rows = take(codes, np.arange(40)[:, None] % 2, samples=None, seed=0)
    first, second = Groups.from_rows(rows, rows.levels).pairs(torch.zeros(100).long(), 30, draw())
    assert (first != second).all()
    assert (first % 2 == second % 2).all()


def test_chunks_do_not_change_a_draw():
    votes = CHUNK + 500
    chunks = list(batches(2, votes, 7, "s"))
    assert [len(factor) for factor, _ in chunks] == [CHUNK, 500]
    points = Grid(GRID, (0, 2))
    factor = torch.cat([f for f, _ in chunks])
    together = points.hold(factor, 5, VoteNoise(7, "s", torch.arange(votes)))
    apart = torch.cat([points.hold(f, 5, d) for f, d in chunks])
    assert torch.equal(together, apart)
    assert torch.bincount(factor).tolist() == pytest.approx([750, 750], abs=80)


def test_binned_factors_need_rows_even_with_a_grid():
    assert isinstance(source(ROWS, 3), Groups)
    codes = source(ROWS, 3).hold(FACTOR, 40, draw())
    # Six values in three bins: a batch holds two neighbouring values.
    assert ((codes[1::2, :, 2] // 2) == (codes[1::2, :1, 2] // 2)).all()


@pytest.mark.parametrize("score", [factor_vae, beta_vae])
def test_rows_that_cannot_support_votes_are_refused(score):
    """A factor that is different in every row cannot be held."""
    rng = np.random.default_rng(0)
    values = np.stack([np.arange(200), rng.integers(0, 3, 200)], axis=1)
    with pytest.raises(DataError, match=r"Too few rows to hold factor 0.*whole grid"):
        score(rng.normal(size=(200, 2)), values)


def test_rare_values_are_not_held():
    values = np.concatenate([np.repeat([0, 1], 100), [2, 2, 2]])[:, None]
    rows = take(values.astype(float), values, samples=None, seed=0)
    groups = Groups.from_rows(rows, rows.levels)
    codes = groups.hold(torch.zeros(100).long(), 15, draw())
    assert sorted(codes.unique().tolist()) == [0, 1]


@pytest.mark.parametrize("metric", [beta_vae, factor_vae])
def test_accuracies_that_guessing_reaches_say_so(metric):
    rng = np.random.default_rng(5)
    factors = rng.integers(0, 3, (3_000, 3))
    alone = metric(rng.normal(size=(3_000, 3)), factors, protocol="study2019")
    assert "at chance level: guessing one of 3 factors is right in 33%" in alone.remarks
    told = metric(factors.astype(float), factors, protocol="study2019")
    assert not any("chance" in remark for remark in told.remarks)


def test_two_standard_errors_above_guessing_are_no_chance():
    def remarks(accuracy, factors=2, count=400):
        return chance_remark(torch.tensor(accuracy), factors, count)

    assert remarks(0.549)  # chance is 0.5 and its standard error 0.025
    assert not remarks(0.551)
    assert not remarks(0.549, count=4_000)
    assert not remarks(1.0, factors=1)
    assert not remarks(0.0, count=0)
