"""SAP, the separated attribute predictability."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ConfigError, DataError
from unknot.core.factors import KINDS, Kind
from unknot.metrics.parts import protocols
from unknot.metrics.parts.aggregate import gap
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.inputs import Codes, Factors, Rows, Test, take_two
from unknot.metrics.parts.predictors import svm_accuracy, versions
from unknot.metrics.parts.result import Measured, Score, build, score
from unknot.metrics.parts.tables import correlation, midranks, threshold_accuracy


@dataclass(frozen=True)
class Settings:
    """What predicts a factor from one code."""

    estimator: Literal["svm", "r2", "rank r2"]
    """``svm`` for every factor; else this for factors that have an order, thresholds for others."""
    samples: int | None = None
    test_samples: int | None = 0
    """0 evaluates on the rows that were fitted."""
    version: int = 1


LARGEST = 1e30
"""Its solver never ends with larger codes."""

PROTOCOLS = {
    "study2019": Settings("svm", 10_000, 5_000),
    "paper": Settings("r2", version=2),
    "carbonneau": Settings("r2", version=2),
    "unknot": Settings("rank r2", version=2),
}


@metric(
    better="higher",
    range=(0, 1),
    measures=("compactness",),
    cost=0.04,
    reads=(
        "How much better the best latent predicts each factor than the second best. Small "
        "numbers are usual."
    ),
)
def sap(
    codes: Codes,
    factors: Factors = None,
    *,
    protocol: str | Settings = "unknot",
    seed: int = 0,
    test: Test = None,
    kinds: Sequence[str] | None = None,
    interval: float | None = None,
) -> Score:
    r"""Separated attribute predictability: the gap between the two best predictors of a factor.

    $$\frac1K \sum_k S_{(1)k} - S_{(2)k}$$
    with $S_{jk}$ the predictability of factor $k$ from code $j$ alone.

    Paper: Kumar et al. 2018, "Variational inference of disentangled latent concepts", section 3:
    the squared correlation for a factor with an order, and for one without the balanced accuracy of
    the best thresholds, both on the evaluated rows.
    Differs: ``study2019`` takes the test accuracy of a linear support vector machine for every
    factor. On one code it names few of 32 ordered values, so that a perfect code gets about 0.24.
    ``unknot`` correlates ranks, which outliers cannot move.
    Range: 0 to 1; less for factors without an order, which any code names as often as chance.
    Reads as: 0.2 means that the best code of a factor is ahead by a fifth of perfect prediction
    (not under ``study2019``).

    Args:
        codes: Codes ``[n, z]``, or a representation.
        factors: Factor values ``[n, f]``.
        protocol: A name, or settings.
        seed: Of drawn or split rows.
        test: Test arrays ``(codes, factors)``; only a support vector machine needs them.
        kinds: One of ``ordered``, ``cyclic``, ``nominal`` per factor; a representation knows its
            own, given rows are ordered unless said otherwise.
        interval: Level of a bootstrap interval over rows; not for ``study2019``.

    Raises:
        ConfigError: ``kinds`` do not fit the factors, or ``study2019`` is given what it cannot use.
        DataError: Codes are too large for ``study2019``.
    """
    chosen = protocols.pick("sap", PROTOCOLS, protocol)
    s = chosen.settings
    if s.estimator == "svm" and (interval is not None or kinds is not None):
        raise ConfigError(f"sap under '{chosen.name}' takes neither interval nor kinds.")
    rows, held = take_two(
        codes, factors, test, samples=s.samples, test_samples=s.test_samples, seed=seed
    )
    if s.estimator == "svm":
        if float(rows.codes.abs().max()) > LARGEST:
            raise DataError(f"A support vector machine cannot be fitted to codes above {LARGEST}.")
        measured = _gaps(svm_accuracy(rows, held))
        return build(chosen, measured, rows, test_rows=len(held), seed=seed, **versions())
    if kinds is not None:
        rows = replace(rows, kinds=_checked(kinds, rows))
    measure = partial(_measure, rank=s.estimator == "rank r2")
    return score(chosen, measure, rows, seed=seed, interval=interval)


def _checked(kinds: Sequence[str], rows: Rows) -> tuple[Kind, ...]:
    known = tuple(kind for given in kinds for kind in KINDS if kind == given)
    if not len(known) == len(kinds) == len(rows.names):
        raise ConfigError(
            f"Expected one kind of {KINDS} for each of the {len(rows.names)} factors that vary; "
            f"got {tuple(kinds)}."
        )
    return known


def _measure(rows: Rows, rank: bool) -> Measured:
    ordered, values = rows.codes, rows.values.double()
    if rank:
        ordered, values = midranks(ordered), midranks(values)
    table = correlation(ordered, values).square()
    if rank:  # the variance of minute codes would be 0, that of constant ones a trace of rounding
        alive = rows.codes.amax(0) > rows.codes.amin(0)
    else:
        alive = rows.codes.var(0, correction=0) > 1e-12
    for k, kind in enumerate(rows.kinds):
        if kind == "nominal":
            table[:, k] = threshold_accuracy(rows.codes, rows.levels[:, k])
    return _gaps(torch.where(alive[:, None], table, 0.0))


def _gaps(table: Float[Tensor, "z f"]) -> Measured:
    gaps = gap(table, dim=0)
    return Measured({"": gaps.mean()}, {"per_factor": gaps, "table": table})
