"""Accuracy of attributes from the difference of their mean codes."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unknot.core.errors import DataError
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.learners import standardize
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric


@dataclass(frozen=True)
class Settings(RowSettings):
    """Rows to learn from and to test on, and the scale of codes."""

    samples: int | None = None
    test_samples: int | None = None
    distinct: bool = True
    scaling: Literal["none", "standard"] = "none"
    version: int = 1

    @property
    def gaps(self) -> bool:
        """Each attribute is learnt by itself."""
        return True


PROTOCOLS = {"paper": Settings(), "kumar": Settings(), "unknot": Settings(scaling="standard")}


@metric(
    PROTOCOLS,
    options=("test", "interval"),
    range=(0, 1),
    part_ranges={"majority": (0, 1), "chance": (0, 1)},
    measures=("explicitness",),
    depends_on=("classifier",),
    cost=0.14,
    reads=(
        "How often an attribute is named rightly by the side of a line that its mean codes draw. "
        "Read it beside `.majority`, the accuracy of always naming the more frequent value."
    ),
    parts={
        "majority": "Accuracy of always naming the more frequent value, without looking at codes.",
        "chance": "Accuracy of naming a value drawn as often as it occurs.",
    },
)
def attribute_accuracy(rows: Rows, settings: Settings) -> Measured:
    r"""Attribute accuracy: attributes named by one direction of the codes each, mean over them.

    For attribute $k$, $w_k$ is the mean code of training rows that have it minus the mean of those
    that lack it, and $b_k$ the bias of the smallest hinge loss of $w_k^\top z + b_k$ on these rows;
    the sign names the attribute in test rows. A factor of more than two values is one attribute for
    each value. ``.majority`` is the accuracy of always naming what most training rows have, and
    ``.chance`` that of drawing a training row's; the parts have all of them by attribute.

    Paper: Kumar et al. 2018, "Variational inference of disentangled latent concepts", section 4 and
    table 2.
    Differs: the bias is exact, a middle one where several are as good. ``unknot`` standardises
    codes; the margin of a hinge depends on their scale, as under ``paper`` and ``kumar``.
    Note: it is meant for attributes of two values. Of a factor of many values each is rare, and the
    majority is right nearly always; look at the difference.

    Args:
        codes: Codes ``[n, z]``, or a representation.
        factors: Factor values ``[n, f]``.
        protocol: A name, or settings.
        seed: Of drawn or split rows.
        test: Test arrays ``(codes, factors)``; else rows are split.
        interval: Level of an interval by half-samples of the rows, where wanted.

    Raises:
        DataError: No attribute is both present and absent in the training rows.
    """
    accuracies = torch.cat([_accuracies(some, settings) for some in rows.by_factor()])
    if not len(accuracies):
        raise DataError("No attribute is both present and absent in the rows to learn from.")
    right, majority, chance = accuracies.T
    parts = {"per_attribute": right, "majority": majority, "chance": chance}
    values = {"": right.mean(), "majority": majority.mean(), "chance": chance.mean()}
    return Measured(values, parts, record={"test_rows": len(rows.test_rows)})


def _accuracies(train: Rows, settings: Settings) -> Float[Tensor, "a 3"]:
    """Of the side of a line, of the more frequent value and of drawing, for each attribute."""
    test = train.test_rows
    x, x_test = train.codes, test.codes
    if settings.scaling == "standard":
        x, x_test = standardize(train, test)
    has, has_test = (_attributes(rows.levels, train.levels) for rows in (train, test))
    learnable = has.any(0) & ~has.all(0)
    has, has_test = has[:, learnable], has_test[:, learnable]
    present, absent = has.double(), (~has).double()
    direction = (present / present.sum(0) - absent / absent.sum(0)).T @ x
    bias = hinge_bias(x @ direction.T, has)
    right = (x_test @ direction.T + bias > 0) == has_test
    share, test_share = present.mean(0), has_test.double().mean(0)
    majority = torch.where(share > 0.5, test_share, 1 - test_share)
    chance = share * test_share + (1 - share) * (1 - test_share)
    return torch.stack([right.double().mean(0), majority, chance], dim=1)


def _attributes(levels: Int[Tensor, "n f"], known: Int[Tensor, "m f"]) -> Bool[Tensor, "n a"]:
    """Truth values ``[n, a]``: of factors of two values the second, of others each one."""
    columns = []
    for level, all_levels in zip(levels.T, known.T, strict=True):
        values = range(int(all_levels.max()) + 1)
        columns += [level == value for value in (values if len(values) > 2 else values[1:])]
    return torch.stack(columns, dim=1)


def hinge_bias(sides: Float[Tensor, "n a"], has: Bool[Tensor, "n a"]) -> Float[Tensor, " a"]:
    r"""The bias that makes $\sum_i \max(0, 1 - y_i (s_i + b))$ smallest, for each column.

    Each row bends the sum once, at $y_i - s_i$, and its slope there rises by 1 from minus the
    number of rows that have the attribute: it is 0 after as many bends.

    Example:
        >>> sides, has = torch.tensor([[0.0], [1.0], [5.0]]), torch.tensor([[0], [1], [1]]).bool()
        >>> hinge_bias(sides, has).tolist()
        [-0.5]
    """
    bends = (has.to(sides) * 2 - 1 - sides).sort(dim=0).values
    after = has.sum(0, keepdim=True).clamp(1, len(has) - 1)
    return (bends.gather(0, after - 1) + bends.gather(0, after))[0] / 2
