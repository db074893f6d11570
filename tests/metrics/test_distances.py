"""Distances of images against closed forms and the tables of Michlo 2022."""

from functools import cache

import numpy as np
import pytest
import torch

from unknot.core import noise
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.registry import names
from unknot.data.xysquares import XYSquares
from unknot.losses.overlap import Overlap
from unknot.metrics.parts.distance_sources import Source, mse
from unknot.metrics.parts.distances import (
    Spread,
    correlations,
    importance,
    random_distances,
    traversal_distances,
)

# Table 4.2 by spacing: linear and rank of MSE, linear and rank of MSE with a box blur.
TABLE_4_2 = {
    1: (1.00, 1.00, 0.98, 0.99),
    2: (0.94, 0.99, 0.99, 0.99),
    3: (0.86, 0.95, 0.99, 0.99),
    4: (0.75, 0.85, 0.99, 0.99),
    5: (0.72, 0.85, 0.99, 0.99),
    6: (0.67, 0.85, 0.98, 0.98),
    7: (0.60, 0.85, 0.97, 0.98),
    8: (0.52, 0.58, 0.96, 0.97),
}
STEPS = torch.arange(8)
APART = (STEPS[:, None] - STEPS).abs()


# MSE plus 63 squared times the MSE of blurred images.
OVERLAPS = {
    "box": Overlap.create(kernel="box", radius=31, alpha=63.0**2),
    "gauss": Overlap.create(kernel="gaussian", radius=31, sigma=7.75, alpha=63.0**2),
}


@cache
def squares(spacing):
    return XYSquares(spacing).load()


def places(index):
    """Which of 64 places each of the three squares is at."""
    position = squares(8).space.factors(index).unflatten(-1, (3, 2))
    return position[..., 0] * 8 + position[..., 1]


@cache
def looked_up(spacing, blur):
    """The loss of images with one square at each place, by the two places: colours add up."""
    red = squares(spacing).batch(torch.arange(64) * 8**4)[:, :1]
    parts = [red, 63 * OVERLAPS[blur].blur(red)] if blur else [red]
    table = sum(torch.cdist(p.flatten(1).double(), p.flatten(1).double()) ** 2 for p in parts)
    return lambda a, b: table[a, b].sum(-1) / 12288


def along_all(spacing, blur):
    """Linear and rank correlation, mean over factors."""
    space = squares(spacing).space
    found = correlations(places, space, traversals=512, pairs=10, loss=looked_up(spacing, blur))
    return np.mean([(found[name].linear, found[name].rank) for name in space.names], axis=0)


@pytest.mark.parametrize("blur", ["box", "gauss"])
def test_a_loss_of_ones_own_and_its_table(blur):
    data = squares(5)
    blurred = Source.from_images(data.batch, OVERLAPS[blur])
    direct, table = (
        traversal_distances(images, data.space, "y_g", traversals=2, loss=loss)
        for images, loss in (
            (blurred.rows, blurred.distance),
            (places, looked_up(5, blur)),
        )
    )
    assert direct.double().flatten() == pytest.approx(table.flatten(), rel=1e-4, abs=1e-6)


def test_inner_products_and_differences_agree():
    x = noise.uniform(0, "images", 0, 24, 3, 5, 5)
    space = FactorSpace(("a", "b"), (4, 6), ("ordered", "ordered"))
    fast, plain = (
        traversal_distances(lambda index: x[index], space, "b", loss=loss)
        for loss in (mse, lambda a, b: mse(a.double(), b.double()))
    )
    assert fast.shape == (4, 6, 6)
    assert torch.allclose(fast, plain, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("spacing", range(1, 9))
def test_xysquares_traversals_are_exact(spacing):
    """16 min(8, s k) / 12288; at spacing 8 the constant 128 / 12288, at 1 in proportion to k."""
    data = squares(spacing)
    expected = 16 * (spacing * APART).clamp(max=8).double() / 12288
    for factor in data.space.names:
        found = traversal_distances(data.batch, data.space, factor, traversals=3)
        assert found.shape == (3, 8, 8)
        assert torch.equal(found, expected.expand(3, 8, 8))


@pytest.mark.parametrize("spacing", range(1, 9))
def test_table_4_2(spacing):
    plain, box = along_all(spacing, None), along_all(spacing, "box")
    assert (*plain, *box) == pytest.approx(TABLE_4_2[spacing], abs=0.008)


def test_table_4_2_from_images():
    """All traversals of a factor are alike under MSE, so two are enough."""
    data = squares(3)
    found = correlations(data.batch, data.space, traversals=2, pairs=10)
    for name in data.space.names:
        assert (found[name].linear, found[name].rank) == pytest.approx((0.8563, 0.9494), abs=1e-4)


@pytest.mark.parametrize(
    ("blur", "factor", "published", "independent"),
    [
        (None, (0.52, 0.58), (0.55, 0.36), (0.247, 0.233)),
        ("gauss", (0.84, 0.88), (0.73, 0.61), (0.598, 0.578)),
        ("box", (0.96, 0.97), (0.95, 0.94), (0.925, 0.929)),
    ],
)
def test_table_6_1(blur, factor, published, independent):
    """The published random rows, one pair in 32 being twice the same image, and honest ones."""
    assert along_all(8, blur) == pytest.approx(factor, abs=0.006)
    for convention, row in (("batches of 32", published), ("independent", independent)):
        found = correlations(
            places,
            squares(8).space,
            traversals=1,
            pairs=2**18,
            convention=convention,
            loss=looked_up(8, blur),
        )["random"]
        assert (found.linear, found.rank) == pytest.approx(row, abs=0.01)


def test_table_3_1_xysquares():
    """128 / 12288 without spread; random pairs 3 (63/64) of that, and sqrt(3 63) / 64 of it."""
    data = squares(8)
    found = importance(data.batch, data.space, traversals=4, pairs=4096)
    assert list(found)[-1] == "random"
    for name in data.space.names:
        assert found[name].mean == pytest.approx(128 / 12288)
        assert found[name].deviation == pytest.approx(0, abs=1e-9)
        assert len(found[name].distances) == 4 * 56
    assert found["random"].mean == pytest.approx(3 * 63 / 64 * 128 / 12288, abs=1e-4)
    assert found["random"].deviation == pytest.approx(189**0.5 / 64 * 128 / 12288, abs=1e-4)
    assert (round(found["random"].mean, 4), round(found["random"].deviation, 4)) == (0.0308, 0.0022)


def test_importance_is_sorted_and_has_a_distribution():
    space = FactorSpace(("a", "one", "b"), (2, 1, 3), ("ordered",) * 3)
    weights = torch.tensor([1.0, 0.0, 2.0])
    found = importance(lambda index: space.factors(index) * weights, space, pairs=1000)
    assert list(found) == ["b", "a", "random"], "the factor with one value has no distances"
    # Along b differences of 2, 2 and 4 in three elements.
    assert found["b"].mean == pytest.approx((4 + 4 + 16) / 9)
    assert found["b"].deviation == pytest.approx(np.std([4 / 3, 4 / 3, 16 / 3]))
    at = torch.tensor([1.0, 4 / 3 + 1e-6, 5.0, 5.4])
    assert found["b"].cdf(at).tolist() == pytest.approx([0, 2 / 3, 2 / 3, 1])


def test_the_matrix_keeps_the_sides_of_a_loss_apart():
    """Row: the image; column: its reconstruction."""
    space = FactorSpace(("a",), (3,), ("ordered",))
    found = traversal_distances(
        lambda index: index.double()[:, None],
        space,
        "a",
        loss=lambda x, y: (x - y).clamp_min(0)[:, 0],
    )
    assert found[0].tolist() == [[0, 0, 0], [1, 0, 0], [2, 1, 0]]


def test_traversals_do_not_depend_on_how_many_images_are_held(monkeypatch):
    data = squares(3)
    before = traversal_distances(data.batch, data.space, "y_g", traversals=9)
    monkeypatch.setattr("unknot.metrics.parts.distances.AT_ONCE", 1)
    after = traversal_distances(data.batch, data.space, "y_g", traversals=9)
    assert torch.equal(before, after)


def test_independent_pairs_are_of_different_rows():
    space = FactorSpace(("a",), (5,), ("ordered",))
    truth, seen = random_distances(lambda index: index.double()[:, None], space, pairs=2000)
    assert truth.min() == 1
    assert torch.equal(truth.square(), seen)


def test_bad_names_and_losses():
    data = squares(8)
    with pytest.raises(ConfigError, match="no factor 'x_q'; did you mean 'x_"):
        traversal_distances(data.batch, data.space, "x_q")
    with pytest.raises(ShapeError, match="one number for each of 8 pairs"):
        traversal_distances(
            data.batch, data.space, "x_r", traversals=1, loss=torch.nn.functional.mse_loss
        )


def test_analyses_are_no_scores():
    assert not {"perceived", "distances", "traversals"} & set(names("metrics"))


def test_a_spread_is_what_it_says():
    drawn = noise.uniform(0, "spread", 0, 10_000, dtype=torch.float64).sort().values
    spread = Spread(drawn)
    assert spread.mean == pytest.approx(0.5, abs=0.01)
    assert spread.deviation == pytest.approx(12**-0.5, abs=0.01)
