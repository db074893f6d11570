"""Distances of images of XYObject in closed form, and of dSprites against tables of Michlo 2022."""

import numpy as np
import pytest
import torch

from unknot.core.factors import FactorSpace
from unknot.data.dsprites import DSprites
from unknot.data.xyobject import XYObject
from unknot.data.xyobject_shaded import XYObjectShaded
from unknot.metrics.parts.distance_sources import Source
from unknot.metrics.parts.distances import correlations, importance, traversal_distances

LEVELS = np.array([63, 127, 191, 255]) / 255
SIDES = np.arange(7, 16, 2)


def mean_apart(table):
    """Mean over pairs of different values."""
    return table.sum() / (len(table) * (len(table) - 1))


def xyobject_means():
    """In closed form: what two squares do not share, times their colours, for each of 12,288."""
    lit, power = 1.5, (LEVELS**2).mean()
    step = 2 * np.abs(np.subtract.outer(range(25), range(25)))
    moved = np.mean([mean_apart(2 * side * np.minimum(side, step)) for side in SIDES])
    grown = mean_apart(np.abs(np.subtract.outer(SIDES**2, SIDES**2)))
    area = (SIDES**2).mean()
    # Neighbouring hues differ in one channel, those two apart in two, opposite ones in three.
    turned = (2 * 1 + 2 * 2 + 1 * 3) / 5
    shaded = mean_apart(np.subtract.outer(LEVELS, LEVELS) ** 2)
    hues = [[(h - 2 * c + 1) % 6 < 3 for c in range(3)] for h in range(6)]
    colors = np.array([level * np.array(hue, float) for level in LEVELS for hue in hues])
    mixed = mean_apart(((colors[:, None] - colors) ** 2).sum(2))
    return {
        "x": moved * lit * power / 12288,
        "y": moved * lit * power / 12288,
        "scale": grown * lit * power / 12288,
        "colour": area * mixed / 12288,
        "intensity": area * lit * shaded / 12288,
        "hue": area * power * turned / 12288,
    }


def slice_of(data, fixed):
    """The images with one position held in the middle: it changes no distance along another."""
    names, sizes, kinds = data.space.names, list(data.space.sizes), data.space.kinds
    at = names.index(fixed)
    sizes[at] = 1
    space = FactorSpace(names, tuple(sizes), kinds)

    def images(index):
        values = space.factors(index)
        values[:, at] = 12
        return data.batch(data.space.index(values))

    return images, space


@pytest.mark.parametrize(
    ("dataset", "fixed", "rows"),
    [
        (XYObject, "y", {"x": (0.26, 0.36, 0.0119)}),
        (
            XYObject,
            "x",
            {
                "y": (0.26, 0.36, 0.0119),
                "scale": (0.57, 0.71, 0.0050),
                "colour": (0.23, 0.34, 0.0090),
            },
        ),
        (XYObjectShaded, "x", {"intensity": (0.73, 0.92, 0.0033), "hue": (0.32, 0.54, 0.0089)}),
    ],
)
def test_xyobject(dataset, fixed, rows):
    """Over all images; means in closed form, and all of it sampled once by other code."""
    images, space = slice_of(dataset().load(), fixed)
    options = {"traversals": space.size, "pairs": 10}
    found = correlations(images, space, **options)
    spread = importance(images, space, **options)
    for name, (linear, rank, mean) in rows.items():
        correlation = (found[name].linear, found[name].rank)
        assert correlation == pytest.approx((linear, rank), abs=0.01), name
        assert spread[name].mean == pytest.approx(xyobject_means()[name], rel=1e-6), name
        assert spread[name].mean == pytest.approx(mean, rel=0.01), name


# Over all images: mean, deviation, and deviation of the means of traversals.
DSPRITES = {
    "pos_x": (0.0572033, 0.0370134, 0.0225226),
    "pos_y": (0.0573458, 0.0370458, 0.0225697),
    "scale": (0.0251369, 0.0148877, 0.0050486),
    "shape": (0.0214835, 0.0094944, 0.0093621),
    "orientation": (0.0165149, 0.0104111, 0.0077947),
}
TABLE_3_1 = {
    "pos_y": (0.0584, 0.0378),
    "pos_x": (0.0559, 0.0363),
    "scale": (0.0250, 0.0148),
    "shape": (0.0214, 0.0095),
    "orientation": (0.0172, 0.0106),
    "random": (0.0754, 0.0289),
}


@pytest.mark.slow
def test_dsprites_over_all_images():
    data, factor = DSprites().load(), "orientation"
    found = traversal_distances(data.batch, data.space, factor, traversals=data.space.size)
    values = found.shape[1]
    apart = found[:, ~torch.eye(values, dtype=torch.bool)]
    exact = (apart.mean(), apart.std(correction=0), apart.mean(1).std())
    assert [v.item() for v in exact] == pytest.approx(DSPRITES[factor], abs=1e-7)


def error(factor, traversals):
    """Standard error of a mean over so many whole traversals; a pair more or less is nothing."""
    return DSPRITES[factor][2] / traversals**0.5


@pytest.mark.slow
def test_dsprites_table_3_1():
    """The sample agrees with all images, and the paper with them as far as its own sample goes.

    The author's script walks whole traversals until it has 50,000 pairs, 1,613 of a position and
    1,283 of the orientation: standard errors of 1.0 and 1.3 %. Off by 2.3, 1.9 and 3.1 of them,
    x, y and orientation are further from the truth than chance likes (the text of the paper has x
    as 0.058, 4 % above its table); we found no other reason.
    """
    data = DSprites().load()
    found = importance(data.batch, data.space, traversals=2048, pairs=20_000)
    assert set(list(found)[:2]) == {"pos_x", "pos_y"}
    assert list(found)[2:] == ["scale", "shape", "orientation", "random"]
    for name, (mean, deviation, _) in DSPRITES.items():
        assert found[name].mean == pytest.approx(mean, abs=3 * error(name, 2048)), name
        assert found[name].deviation == pytest.approx(deviation, rel=0.03), name
        size = data.space.sizes[data.space.names.index(name)]
        far = 3.2 * error(name, 50_000 / (size - 1)) + 0.00005
        assert TABLE_3_1[name][0] == pytest.approx(mean, abs=far), name
    random = (found["random"].mean, found["random"].deviation)
    assert random == pytest.approx(TABLE_3_1["random"], rel=0.01)


TABLE_4_1 = {  # linear and rank of dSprites
    "mse": {
        "random": (0.43, 0.38),
        "shape": (0.66, 0.72),
        "scale": (0.93, 0.95),
        "orientation": (0.13, 0.17),
        "pos_x": (0.66, 0.75),
        "pos_y": (0.65, 0.75),
    },
    "box": {
        "random": (0.29, 0.36),
        "shape": (0.66, 0.87),
        "scale": (0.84, 0.96),
        "orientation": (0.15, 0.21),
        "pos_x": (0.63, 0.83),
        "pos_y": (0.63, 0.83),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("loss", TABLE_4_1)
def test_dsprites_table_4_1(loss):
    data = DSprites().load()
    source = Source.from_images(data.batch, {"mse": "gaussian", "box": "box"}[loss])
    found = correlations(
        source.rows,
        data.space,
        traversals=1024,
        pairs=20_000,
        convention="batches of 32",
        loss=source.distance,
    )
    for name, row in TABLE_4_1[loss].items():
        assert (found[name].linear, found[name].rank) == pytest.approx(row, abs=0.02)
