import numpy as np
import pytest
import torch

from metrics.representations import UNSUPERVISED, factors, get, perfect
from unknot import metrics
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics.parts.columns import normal_scores
from unknot.metrics.parts.drawing import take, take_codes


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_factors_are_optional_and_do_not_matter(name):
    codes, values = get("noise")
    score = getattr(metrics, name)
    alone = score(codes)
    assert alone.values == score(codes, values).values
    assert alone.values == score(codes, np.ones_like(values)).values
    assert alone.protocol["factors"] == ()
    assert alone.protocol["rows"] == len(codes)


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_a_grid_scores_as_its_rows(name):
    space = FactorSpace(("a", "b", "c", "d"), (3, 4, 6, 6), ("ordered",) * 4)
    codes = np.random.default_rng(0).normal(size=(space.size, 3))
    score = getattr(metrics, name)
    on_grid, on_rows = score(Representation.whole(space, torch.from_numpy(codes))), score(codes)
    assert float(on_grid) == pytest.approx(float(on_rows), abs=1e-10)
    assert on_grid.protocol["rows"] == space.size


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_an_interval_covers_the_value(name):
    rng = np.random.default_rng(0)
    score = getattr(metrics, name)(
        rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)), interval=0.9
    )
    assert score.interval[0] <= float(score) <= score.interval[1]


def test_rows_are_those_of_the_other_scores():
    codes, values = perfect(), factors()
    ours = take_codes(codes, samples=50, seed=3)
    assert torch.equal(ours.codes, take(codes, values, samples=50, seed=3).codes)
    assert ours.values.shape == (50, 0)


def test_codes_are_checked_like_anywhere():
    for bad in (np.float64(1.0), np.ones(20), np.ones((20, 0))):
        with pytest.raises(ShapeError, match="Expected codes as a table"):
            take_codes(np.asarray(bad), samples=None, seed=0)
    with pytest.raises(DataError, match="at least 10 rows"):
        take_codes(np.ones((9, 2)), samples=None, seed=0)
    with pytest.raises(DataError, match="NaN or infinite"):
        take_codes(np.full((20, 2), np.nan), samples=None, seed=0)
    with pytest.raises(ConfigError, match="has no protocol 'carbonneau'"):
        metrics.gaussian_tc(perfect(), protocol="carbonneau")


def test_normal_scores_of_normal_codes_are_the_codes():
    codes = torch.randn(4_000, 2, generator=torch.Generator().manual_seed(0)).double()
    codes = (codes - codes.mean(0)) / codes.std(0)
    assert (normal_scores(codes.exp()) - codes).abs().mean() < 0.05
    assert torch.equal(normal_scores(torch.ones(5, 1).double()), torch.zeros(5, 1).double())
