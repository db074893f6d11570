"""SAP, the separated attribute predictability."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unknot.core.errors import DataError
from unknot.metrics.parts.columns import correlation, midranks
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.learners import check_classes, columns, learner_record
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import gap, ratio


@dataclass(frozen=True)
class Settings(RowSettings):
    """What predicts a factor from one code."""

    estimator: Literal["svm", "r2", "rank r2"]
    """``svm`` for every factor; else this for factors that have an order, thresholds for others."""
    samples: int | None = None
    test_samples: int | None = 0
    """0 evaluates on the rows that were fitted."""
    dead: float | None = None
    """Codes of at most this variance predict nothing; None for constant codes alone."""
    groups: float | None = None
    """Codes whose rank correlation exceeds this, up to its sign, count as one, the best of them."""
    version: int = 1

    @property
    def gaps(self) -> bool:
        """Each factor is correlated or learnt by itself."""
        return True

    @property
    def real(self) -> bool:
        """A regression of a factor that has an order."""
        return self.estimator != "svm"

    @property
    def options(self) -> tuple[str, ...]:
        """A support vector machine is fitted to classes, on other rows than it is tested on."""
        return ("test",) if self.estimator == "svm" else ("test", "kinds", "interval")


FEW_CLASSES = 4
"""Classes whose every order is tried for thresholds."""
LARGEST = 1e30
"""The solver of a support vector machine never ends with larger codes."""

PROTOCOLS = {
    "study2019": Settings("svm", 10_000, 5_000),
    "paper": Settings("r2", dead=1e-12, version=2),
    "kumar": Settings("r2", dead=1e-12, version=2),
    "carbonneau": Settings("r2", dead=1e-12, version=2),
    "unknot": Settings("rank r2", version=2),
}


@metric(
    PROTOCOLS,
    options=("test", "kinds", "interval"),
    range=(0, 1),
    measures=("compactness",),
    depends_on=("classifier",),
    cost=0.04,
    reads=(
        "How much better the best latent predicts each factor than the second best. Low "
        "scores are common."
    ),
)
def sap(rows: Rows, settings: Settings) -> Measured:
    r"""Separated attribute predictability: gap between the two best predictors of a factor.

    $$\frac1K \sum_k S_{(1)k} - S_{(2)k}$$
    with $S_{jk}$ the predictability of factor $k$ from code $j$ alone.

    Paper: Kumar et al. 2018, "Variational inference of disentangled latent concepts", section 3:
    the squared correlation for a factor with an order, and for one without the balanced accuracy of
    the best thresholds, both on the evaluated rows.
    Differs: ``study2019`` takes the test accuracy of a linear support vector machine for every
    factor. On one code it names few of 32 ordered values, so that a perfect code gets about 0.24.
    ``unknot`` correlates ranks, which outliers cannot move. The paper gives no variance below which
    a code is inactive: ``dead`` is 1e-12, as in the study's code, and ``dead=0.0025`` the deviation
    of 0.05 of the FactorVAE score. ``groups=0.5`` is the remedy that its section 3 proposes for a
    factor that two latents share: codes that correlate that much form a group, and the gap is one
    between groups; ``sap.groups`` is their number.
    Note: nominal factors stay below 1, since any code names them as often as chance. 0.2 means that
    the best latent of a factor is ahead by a fifth of perfect prediction (not under ``study2019``).

    Args:
        codes: Codes ``[n, z]``, or a representation.
        factors: Factor values ``[n, f]``.
        protocol: A name, or settings.
        seed: Of drawn or split rows.
        test: Test arrays ``(codes, factors)``; only a support vector machine needs them.
        kinds: One of ``ordered``, ``cyclic``, ``nominal`` per factor; a representation knows its
            own, given rows are ordered unless said otherwise.
        interval: Level of an interval by half-samples of the rows; not for ``study2019``.

    Raises:
        ConfigError: ``kinds`` do not fit the factors, or ``study2019`` is given what it cannot use.
        DataError: Codes are too large for ``study2019``.
    """
    if settings.estimator == "svm":
        if float(rows.codes.abs().max()) > LARGEST:
            raise DataError(f"A support vector machine cannot be fitted to codes above {LARGEST}.")
        tables = [_svm_accuracy(some, some.test_rows) for some in rows.by_factor()]
        table = torch.cat(tables, dim=1)
        if settings.dead is not None:
            table = torch.where(_alive(rows, settings)[:, None], table, 0.0)
        return _gaps(table, rows, settings, learner_record(rows))
    table = rows.correlations(ranks=settings.estimator == "rank r2").square()
    for k, kind in enumerate(rows.kinds):
        if kind == "nominal":
            known = rows.levels[:, k] >= 0
            table[:, k] = threshold_accuracy(rows.codes[known], rows.levels[known, k])
    return _gaps(torch.where(_alive(rows, settings)[:, None], table, 0.0), rows, settings)


def _alive(rows: Rows, settings: Settings) -> Bool[Tensor, " z"]:
    if settings.dead is None:  # minute codes have variance 0, constant ones a trace of rounding
        return rows.codes.amax(0) > rows.codes.amin(0)
    return rows.codes.var(0, correction=0) > settings.dead


def _gaps(
    table: Float[Tensor, "z f"],
    rows: Rows,
    settings: Settings,
    record: Mapping[str, Any] | None = None,
) -> Measured:
    values: dict[str, Tensor | float] = {}
    parts = {"table": table}
    if settings.groups is not None:
        parts["group"] = correlated_groups(rows.codes, settings.groups)
        table = torch.stack([table[parts["group"] == g].amax(0) for g in parts["group"].unique()])
        values["groups"] = len(table)
    gaps = gap(table, dim=0)
    return Measured({"": gaps.mean(), **values}, {"per_factor": gaps, **parts}, record=record or {})


def correlated_groups(codes: Float[Tensor, "n z"], least: float) -> Int[Tensor, " z"]:
    """The number of each code's group: chains of codes whose ranks correlate more than ``least``.

    Example:
        >>> x, y = torch.tensor([[0.0, 1, 2, 3], [1, 0, 0, 1]]).double()
        >>> correlated_groups(torch.stack([x, y, -(x**3)], dim=1), 0.5).tolist()
        [0, 1, 0]
    """
    ranks = midranks(codes)
    near = correlation(ranks, ranks).abs() > least
    group = torch.arange(len(near), device=codes.device)
    for _ in near:  # the least number of a chain is passed on from neighbour to neighbour
        group = torch.where(near, group, len(near)).amin(1).minimum(group)
    numbered: Tensor = group.unique(return_inverse=True)[1]
    return numbered


def _svm_accuracy(train: Rows, test: Rows) -> Float[Tensor, "z f"]:
    """Test accuracy of a linear support vector machine for each factor on each single code.

    The settings are those of the 2019 study: ``C=0.01``, balanced classes.
    """
    from sklearn.svm import LinearSVC

    check_classes(train)
    (x, y), (x_test, y_test) = columns(train), columns(test)
    table = np.empty((x.shape[1], len(y)))
    for j in range(x.shape[1]):
        for k in range(len(y)):
            machine = LinearSVC(C=0.01, class_weight="balanced", dual=False)
            machine.fit(x[:, [j]], y[k])
            table[j, k] = np.mean(machine.predict(x_test[:, [j]]) == y_test[k])
    return torch.from_numpy(table).to(train.codes)


def threshold_accuracy(
    codes: Float[Tensor, "n z"], level: Int[Tensor, " n"]
) -> Float[Tensor, " z"]:
    """Balanced accuracy of the best thresholds on each code for one factor (Kumar et al. 2018).

    Each class gets one stretch of the code's values (or none), and the thresholds between them are
    the best there are on these rows, in any order of the classes. Of more than four classes only
    the order of their mean ranks is tried.
    """
    classes = int(level.max()) + 1
    member = torch.nn.functional.one_hot(level, classes).double()
    weight = ratio(member, member.sum(0)) / (member.sum(0) > 0).sum()
    best = []
    for code in codes.T:
        ordered, order = code.sort()
        last = torch.cat([ordered[1:] != ordered[:-1], ordered.new_ones(1, dtype=torch.bool)])
        gains = weight[order].cumsum(0)[last]
        gains = torch.cat([gains.new_zeros(1, classes), gains])
        orders: Iterable[Sequence[int]] = itertools.permutations(range(classes))
        if classes > FEW_CLASSES:
            rank = midranks(code[:, None])
            orders = [ratio((member * rank).sum(0), member.sum(0)).argsort().tolist()]
        reached = torch.stack([_reached(gains, ranks) for ranks in orders]).max()
        best.append(reached.clamp_max(1))  # sums of shares round
    return torch.stack(best)


def _reached(gains: Float[Tensor, "m c"], order: Sequence[int]) -> Float[Tensor, ""]:
    """The most that classes in this order gain, one stretch each."""
    reached = gains.new_zeros(len(gains))
    for c in order:
        reached = (reached - gains[:, c]).cummax(0).values + gains[:, c]
    return reached[-1]
