import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from metrics.representations import ALIGNED, expected, get
from unknot.core.errors import DataError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import distance_correlation
from unknot.metrics.distance_correlation import PROTOCOLS

NAME = "distance_correlation"
SQUARES = FactorSpace(tuple("abcdef"), (8,) * 6, ("ordered",) * 6)


def places(index):
    """As far apart as the images of XYSquares at spacing 8: each square is in one of 64 places."""
    places = SQUARES.factors(index).unflatten(-1, (3, 2))
    return torch.nn.functional.one_hot(places[..., 0] * 8 + places[..., 1], 64).flatten(-2)


def oracle():
    return Representation.lazy(SQUARES, 6, lambda index: SQUARES.factors(index).double())


@expected(
    ALIGNED | {"duplicated": 1.0, "rotated": 1.0, "missing": 0.0, "noise": 0.0, "outlier": 0.98}
)
def test_reference_representation(name, value):
    """One number in fifty is lost to outliers: ranks hardly see them."""
    assert float(distance_correlation(*get(name))) == pytest.approx(value, abs=0.005)


@pytest.mark.parametrize("protocol", ["paper", "unknot"])
def test_the_factors_as_codes_score_one_in_every_way(protocol):
    score = distance_correlation(oracle(), protocol=protocol)
    assert list(score.values.values()) == pytest.approx([1] * 4, abs=1e-9)


@pytest.mark.parametrize(("protocol", "norm"), [("paper", 1), ("paper", 2), ("unknot", 1)])
def test_all_pairs_by_brute_force(protocol, norm):
    """SciPy on every ordered pair; the grid is small enough for every traversal."""
    factors = np.array(list(itertools.product(range(5), range(7))))
    a, b = factors.T
    codes = np.stack([a**2.0, a * b + 3.0, np.sin(b)], axis=1)
    settings = replace(PROTOCOLS[protocol], norm=norm, pairs=200_000, random="independent")
    score = distance_correlation(codes, factors, protocol=settings)
    latent = np.linalg.norm(codes[:, None] - codes, ord=norm, axis=2)
    truth = np.abs(factors[:, None] - factors).sum(2)
    apart = ~np.eye(len(factors), dtype=bool)
    alone = [factors[:, None, 1 - k] == factors[:, 1 - k] for k in range(2)]
    rank = [stats.spearmanr(truth[pairs], latent[pairs])[0] for pairs in (apart, *alone)]
    line = [stats.pearsonr(truth[pairs], latent[pairs])[0] for pairs in (apart, *alone)]
    assert score[f"{NAME}.global"] == pytest.approx(rank[0], abs=0.01)
    assert score[f"{NAME}.global_linear"] == pytest.approx(line[0], abs=0.01)
    assert score.parts["per_factor"] == pytest.approx(np.array(rank[1:]), abs=0.01)
    assert score.parts["per_factor_linear"] == pytest.approx(np.array(line[1:]), abs=0.01)
    assert float(score) == pytest.approx(np.sqrt(score.parts["per_factor"].prod()))


@pytest.mark.parametrize(
    ("protocol", "linear", "rank"), [("paper", 0.55, 0.36), ("unknot", 0.25, 0.23)]
)
def test_both_conventions_of_random_pairs(protocol, linear, rank):
    """Michlo's table 6.1 without a kernel, and what honest pairs give; along factors table 4.2."""
    settings = replace(PROTOCOLS[protocol], pairs=65_536)
    score = distance_correlation(oracle(), images=places, protocol=settings)
    for what in ("data_gt", "latent_data"):
        assert score[f"{NAME}.{what}_global_linear"] == pytest.approx(linear, abs=0.01)
        assert score[f"{NAME}.{what}_global"] == pytest.approx(rank, abs=0.011)
        assert score[f"{NAME}.{what}_linear"] == pytest.approx(0.5222, abs=0.01)
        assert score[f"{NAME}.{what}"] == pytest.approx(0.5804, abs=0.01)


def test_images_of_rows_as_an_array():
    codes, values = get("rescaled")
    score = distance_correlation(codes, values, images=codes)
    assert score[f"{NAME}.latent_data"] == pytest.approx(1)
    assert score[f"{NAME}.latent_data_linear"] < 0.99, "squares are no straight line"
    pictures = np.round(40 * codes + 100).astype(np.uint8)
    pictures.flags.writeable = False
    stored = torch.tensor(pictures)
    by_numpy, by_torch = (distance_correlation(codes, values, images=x) for x in (pictures, stored))
    assert by_numpy.values == by_torch.values
    with pytest.raises(ShapeError, match="Expected 2160 images, one per row; got 2159"):
        distance_correlation(codes, values, images=codes[1:])


def test_a_negative_correlation_counts_as_nothing_and_is_named():
    """Of codes without any order some correlate negatively by chance."""
    values = np.arange(200)[:, None]
    codes = np.random.default_rng(83).normal(size=(200, 1))
    score = distance_correlation(codes, values, protocol="paper")
    assert score.parts["per_factor"][0] < -0.005
    assert float(score) == 0
    assert any("negative correlation: factor 0" in remark for remark in score.remarks)


def test_rows_without_traversals_are_refused():
    values = np.stack([np.arange(150), np.arange(150) % 3], axis=1)
    with pytest.raises(DataError, match="Too few rows to move factor 0 alone"):
        distance_correlation(np.random.default_rng(0).normal(size=(150, 2)), values)


def test_the_interval_covers_the_value_and_narrows_with_traversals(monkeypatch):
    """The noise of the codes grows along the third factor: traversals differ."""
    monkeypatch.setattr("unknot.metrics.parts.intervals.MOST_RESAMPLES", 50)
    settings = replace(PROTOCOLS["unknot"], pairs=2_000)
    rng = np.random.default_rng(0)
    widths = []
    for contexts in (3, 60):
        values = np.array(list(itertools.product(range(4), range(4), range(contexts))))
        noise = rng.normal(size=values.shape) * values[:, 2:] / contexts
        codes = values + 3 * noise
        score = distance_correlation(codes, values, protocol=settings, interval=0.9)
        low, high = score.interval
        assert low < float(score) < high
        assert score.protocol["level"] == 0.9
        widths.append(high - low)
    assert widths[1] < widths[0]
    again = distance_correlation(codes, values, protocol=settings, interval=0.9)
    assert again.interval == score.interval
