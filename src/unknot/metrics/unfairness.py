"""Unfairness: how far predictions of a factor depend on factors that should not matter."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from unknot.core import noise
from unknot.core.errors import DataError
from unknot.metrics.parts.boosting import boost
from unknot.metrics.parts.columns import to_unit_range
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.learners import bin_codes, check_classes, learner_record
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric

TREES, LEAF, BINS = 20, 0.01, 128
"""Of the forest, as `dci` has it."""
FEWEST = 10
"""Rows of a sensitive value without which its predictions are left out, where there is no grid."""


@dataclass(frozen=True)
class Settings(RowSettings):
    """What predicts, and how many points are changed."""

    estimator: Literal["boosting", "forest"]
    samples: int | None = 10_000
    test_samples: int | None = 5_000
    points: int = 100
    """Of a grid, each of which gets all values of each sensitive factor."""
    version: int = 1


PROTOCOLS = {
    "paper": Settings("boosting"),
    "unknot": Settings("forest", points=500),
}


@metric(
    PROTOCOLS,
    options=("test",),
    better="lower",
    range=(0, 1),
    part_ranges={"max_sensitive": (0, 1), "max_pair": (0, 1), "accuracy": (0, 1)},
    measures=("modularity",),
    depends_on=("classifier", "draws"),
    cost=1.9,
    reads=(
        "0: whatever value another factor takes, the same is predicted equally often. A predictor "
        "that ignores the codes gets 0 too: read it beside `.accuracy`."
    ),
    parts={
        "accuracy": "How often the target is predicted rightly; without it fairness is cheap.",
        "max_sensitive": "Of the worst sensitive factor of each target; 0 is best.",
        "max_pair": "Of the worst pair of target and sensitive factor; 0 is best.",
    },
)
def unfairness(rows: Rows, settings: Settings) -> Measured:
    r"""Unfairness: change of predictions of one factor while another one is set, mean over pairs.

    A learner predicts the target factor $y$ from all codes. With the sensitive factor $s$ set to
    each of its values in turn, and the others left as they are,
    $$\mathrm{unfairness}(y, s) = \mathrm{mean}_s \tfrac12 \sum_y |p(\hat y | s) - p(\hat y)|$$
    is the total variation between predictions at a value and over all values. ``unfairness`` is the
    mean over pairs of different factors, ``unfairness.max_sensitive`` that of the worst sensitive
    factor of each target, and ``unfairness.max_pair`` that of the worst pair. The part ``table``
    has targets in rows and sensitive factors in columns.

    Paper: Locatello, Abbati, Rainforth, Bauer, Schölkopf and Bachem 2019, "On the fairness of
    disentangled representations", section 3 and its published code.
    Differs: ``unknot`` grows a forest whose leaves hold a hundredth of the rows, on binned codes,
    as `dci` does; ``paper`` boosts trees. All targets see the same changed points. Without a grid
    nothing can be set: rows of equal sensitive value stand in for it, so that factors that go
    together count as unfair; values of fewer than ten rows are left out.
    Note: a few points already differ by chance, more so the more values there are: noise that
    predicts is not at 0.

    Args:
        codes: Codes ``[n, z]``, or a representation.
        factors: Factor values ``[n, f]``. With one that varies there is no pair, and it is 0.
        protocol: A name, or settings.
        seed: Of drawn rows and points.
        test: Test arrays ``(codes, factors)``; else rows are split.

    Raises:
        DataError: Too few rows share a value.
    """
    f = len(rows.names)
    check_classes(rows)
    test = rows.test_rows
    codes, groups = _changed(rows, settings) if rows.grid else _grouped(test)
    both = torch.cat([test.codes, codes])
    table, accuracies = torch.zeros(f, f, dtype=torch.float64), []
    for target in range(f):
        predicted = _predict(rows, target, both, settings)
        accuracies.append((predicted[: len(test)] == test.levels[:, target].cpu()).double().mean())
        others = predicted[len(test) :]
        for sensitive in range(f):
            if sensitive != target:
                table[target, sensitive] = total_variation(others, groups[:, sensitive])
    values = {
        "": table.sum() / max(f * (f - 1), 1),
        "max_sensitive": table.amax(1).mean(),
        "max_pair": table.max(),
        "accuracy": torch.stack(accuracies).mean(),
    }
    return Measured(
        values,
        {"table": table, "accuracy_per_factor": torch.stack(accuracies)},
        () if rows.grid else ("without a grid rows that share a value stand in for setting it",),
        learner_record(rows),
    )


def total_variation(predicted: Int[Tensor, " n"], group: Int[Tensor, " n"]) -> Float[Tensor, ""]:
    """Mean over groups of how far what is predicted in one is from what is predicted in all.

    Rows of group -1 are left out.

    Example:
        >>> predicted, group = torch.tensor([0, 0, 1, 0, 1, 1]), torch.tensor([0, 0, 1, 1, 1, -1])
        >>> round(total_variation(predicted, group).item(), 4)  # (2/5 + 4/15) / 2
        0.3333
    """
    kept = group >= 0
    group = group[kept].unique(return_inverse=True)[1]
    predicted = predicted[kept].unique(return_inverse=True)[1]
    counts = torch.zeros(int(group.max()) + 1, int(predicted.max()) + 1, dtype=torch.float64)
    ones = torch.ones(len(group), dtype=torch.float64)
    counts.index_put_((group, predicted), ones, accumulate=True)
    shares = counts / counts.sum(1, keepdim=True)
    overall = counts.sum(0) / counts.sum()
    return 0.5 * (shares - overall).abs().sum(1).mean()


def _changed(rows: Rows, settings: Settings) -> tuple[Float[Tensor, "n z"], Int[Tensor, "n f"]]:
    """Codes of points of the grid with each factor set to each of its values, and that value."""
    if rows.grid is None:
        raise TypeError("only a grid has points that can be set")
    space = rows.grid.space.require_grid("unfairness")
    at = noise.integers(rows.seed, "metric/points", 0, settings.points, high=space.size)
    places, groups = [], []
    for k, name in enumerate(rows.names):
        axis = space.names.index(name)
        size, stride = space.sizes[axis], space.strides[axis]
        values = torch.arange(size)
        moved = at[:, None] + (values - at[:, None] // stride % size) * stride
        group = torch.full((moved.numel(), len(rows.names)), -1)
        group[:, k] = values.expand(settings.points, size).flatten()
        places.append(moved.flatten())
        groups.append(group)
    codes = rows.grid.codes(torch.cat(places)).detach().double().to(rows.codes.device)
    return codes, torch.cat(groups)


def _grouped(test: Rows) -> tuple[Float[Tensor, "n z"], Int[Tensor, "n f"]]:
    """The test rows themselves, and their values, where enough rows have them."""
    groups = test.levels.cpu().clone()
    for k, (name, level) in enumerate(zip(test.names, groups.T, strict=True)):
        sizes = level.bincount()
        if int((sizes >= FEWEST).sum()) < 2:
            raise DataError(
                f"Too few rows to compare predictions by {name}: two of its values need {FEWEST} "
                f"test rows each. Give more rows or a Representation of the whole grid."
            )
        groups[:, k] = torch.where(sizes[level] >= FEWEST, level, -1)
    return test.codes, groups


def _predict(
    rows: Rows, target: int, others: Float[Tensor, "m z"], settings: Settings
) -> Int[Tensor, " m"]:
    """The predicted level of a factor, of other codes, by a learner of the rows."""
    level = rows.levels[:, target].cpu()
    x, x_others = to_unit_range(rows.codes), to_unit_range(others, rows.codes)
    x, x_others = x.cpu(), x_others.cpu()
    if settings.estimator == "boosting":
        return boost(x, level, x_others, seed=rows.seed).test
    from sklearn.ensemble import RandomForestClassifier

    binned: tuple[NDArray[Any], NDArray[Any]] = bin_codes(x.numpy(), x_others.numpy(), BINS)
    forest = RandomForestClassifier(
        TREES, max_features=None, min_samples_leaf=LEAF, random_state=rows.seed
    )
    return torch.from_numpy(np.asarray(forest.fit(binned[0], level.numpy()).predict(binned[1])))
