"""Readout: how well factors are read from codes, also of rows that training never saw."""

from dataclasses import dataclass
from math import pi
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.learners import check_classes, learner_record, linear_beliefs, standardize
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric

TREES, LEAF = 20, 0.001
"""Of a forest: its leaves hold a thousandth of the rows."""
RANK = 1e-9
"""A direction of the codes with a smaller share of the largest one's length is none."""

Tables: TypeAlias = tuple[Float[Tensor, "n z"], Float[Tensor, "m z"]]
"""Standardized codes to learn from and to test on."""


@dataclass(frozen=True)
class Settings(RowSettings):
    """Rows to learn from and to test on, and which factors are numbers."""

    samples: int | None = 10_000
    test_samples: int | None = 5_000
    distinct: bool = True
    numbers: bool = False
    """Whether all factors count as numbers, also shapes and angles."""
    version: int = 1

    @property
    def gaps(self) -> bool:
        """Each factor is read by itself."""
        return True

    @property
    def real(self) -> bool:
        """Values with an order are numbers."""
        return True

    @property
    def across_parts(self) -> bool:
        """Of a part of a split, it learns from the training part."""
        return True


PROTOCOLS = {"paper": Settings(numbers=True), "unknot": Settings()}


@metric(
    PROTOCOLS,
    options=("test",),
    range=(None, 1),
    part_ranges={"r2": (None, 1), "forest_r2": (None, 1), "*accuracy": (0, 1), "forest": (None, 1)},
    measures=("explicitness",),
    depends_on=("classifier",),
    cost=2.0,
    reads=(
        "1: all factors are read from the codes. 0: no better than always saying the mean. Below "
        "0: wrong by more than that, as where a reader meets codes unlike those it learnt from."
    ),
    parts={
        "r2": "Of factors whose values have an order; 1 is best, 0 the mean.",
        "accuracy": "Of factors whose values have no order, such as shapes.",
        "forest": "By trees, which bend but never leave the range of values they have learnt.",
        "forest_*": "The same by trees, of factors of this kind.",
    },
)
def readout(rows: Rows, settings: Settings) -> Measured:
    r"""Readout: how well factors are read from codes, on rows of another part of the data.

    A linear reader learns each factor from all codes: by least squares where values have an order,
    $$R^2 = 1 - \frac{\mathrm{mean}_i (v_i - \hat v_i)^2}{\mathrm{Var}(v)},$$
    and by logistic regression where they have none, with the share of right answers. An angle is
    read as its sine and cosine. ``readout`` is the mean over factors, ``readout.r2`` and
    ``readout.accuracy`` those over factors of either kind, where there are any;
    ``readout.forest``, ``.forest_r2`` and ``.forest_accuracy`` are by a random forest. The parts
    ``per_factor`` and ``forest_per_factor`` have all of them.

    Of a part of a split, such as combinations of values that training never saw, the reader learns
    from the training part and is tested on that part (``unknot evaluate RUN --part test``, in a
    study ``readout@test``). Without a part, rows are split at random.

    Paper: Schott et al. 2022, "Visual representation learning does not generalize strongly within
    the same domain", and its published evaluation; Montero et al. 2021, "The role of
    disentanglement in generalisation", which looks at reconstructions of the same kind of rows
    (``recon``).
    Differs: the variance is that of all values that occur, each counted once, as the published code
    has it for full grids; of continuous factors that of all rows. ``paper`` takes all factors for
    numbers, as that code does; its readers are networks of which no settings are published with it.
    A reader that is linear can follow codes beyond what it has seen, and trees cannot.
    Note: it says nothing of how factors are laid out: a rotation gets the same. Squares make much
    of single codes that are far off.

    Args:
        codes: Codes ``[n, z]``, or a representation.
        factors: Factor values ``[n, f]``.
        protocol: A name, or settings.
        seed: Of drawn rows and of the forest.
        test: Test arrays ``(codes, factors)``; else rows are split.
    """
    linear, forest, numeric = [], [], []
    for some in rows.by_factor():
        tables = standardize(some, some.test_rows)
        for k, kind in enumerate(some.kinds):
            numeric.append(settings.numbers or kind != "nominal")
            if numeric[-1]:
                target = _target(some, k, cyclic=kind == "cyclic" and not settings.numbers)
                linear.append(_r2(_least_squares(tables, target), target))
                forest.append(_r2(_trees(tables, target.train, some.seed), target))
            else:
                check_classes(some.choose([k]))
                linear.append(_named(some, k, _logistic(some, k)))
                forest.append(_named(some, k, _trees(tables, some.levels[:, k].cpu(), some.seed)))
    of_order = torch.tensor(numeric)
    values: dict[str, Tensor | float] = {}
    for reader, entries in (("", linear), ("forest", forest)):
        each = torch.stack(entries)
        values[reader] = each.mean()
        prefix = f"{reader}_" if reader else ""
        if bool(of_order.any()):
            values[f"{prefix}r2"] = each[of_order].mean()
        if not bool(of_order.all()):
            values[f"{prefix}accuracy"] = each[~of_order].mean()
    parts = {"per_factor": torch.stack(linear), "forest_per_factor": torch.stack(forest)}
    return Measured(values, parts, record=learner_record(rows))


@dataclass(frozen=True)
class _Target:
    """Numbers to learn and numbers to test on, in one column or the two of an angle."""

    train: Float[Tensor, "n c"]
    test: Float[Tensor, "m c"]
    variance: float
    """Of all values, summed over columns."""


def _target(rows: Rows, k: int, *, cyclic: bool) -> _Target:
    """A factor as numbers; values are scaled to lie between 0 and 1, or around a circle."""
    both = torch.cat([rows.values[:, k], rows.test_rows.values[:, k]]).double().cpu()
    values, level = both.unique(return_inverse=True)
    if cyclic:
        angle = 2 * pi * level.double() / len(values)
        numbers, variance = torch.stack([angle.cos(), angle.sin()], dim=1), 1.0
    else:
        numbers = ((both - values[0]) / (values[-1] - values[0]))[:, None]
        once = (values - values[0]) / (values[-1] - values[0])
        of = numbers if rows.kinds[k] == "continuous" else once
        variance = float(of.var(correction=0))
    return _Target(numbers[: len(rows)], numbers[len(rows) :], variance)


def _r2(predicted: Float[Tensor, "m c"], target: _Target) -> Float[Tensor, ""]:
    error = (predicted - target.test).square().sum(1).mean()
    return 1 - error / target.variance


def _named(rows: Rows, k: int, level: Int[Tensor, " m"]) -> Float[Tensor, ""]:
    """How often the predicted level is right."""
    return (level == rows.test_rows.levels[:, k].cpu()).double().mean()


def _least_squares(tables: Tables, target: _Target) -> Float[Tensor, "m c"]:
    # By singular values: codes may be constant, equal, or more than there are rows.
    x, x_test = (table.cpu() for table in tables)
    middle = target.train.mean(0)
    weights: Tensor = torch.linalg.pinv(x, rtol=RANK) @ (target.train - middle)
    return middle + x_test @ weights


def _logistic(rows: Rows, k: int) -> Int[Tensor, " m"]:
    classes, _, beliefs = linear_beliefs(rows, k)
    return torch.from_numpy(classes)[beliefs.argmax(1)]


def _trees(tables: Tables, target: Tensor, seed: int) -> Tensor:
    """Predictions of a forest: of numbers where these are real, else of classes."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestRegressor if target.is_floating_point() else RandomForestClassifier
    x, x_test = (table.cpu().numpy() for table in tables)
    forest = kind(TREES, min_samples_leaf=LEAF, max_features=1.0, random_state=seed)
    flat = target.squeeze(1) if target.ndim == 2 and target.shape[1] == 1 else target
    predicted = torch.from_numpy(forest.fit(x, flat.numpy()).predict(x_test))
    shaped: Tensor = predicted.reshape(len(x_test), *target.shape[1:])
    return shaped
