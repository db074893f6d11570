"""Why a score may say little, whatever the code: too few factors, or too few rows of a value."""

import torch

from unknot.metrics.parts.array_rows import QUANTILE_BINS
from unknot.metrics.parts.facts import ONE_FACTOR
from unknot.metrics.parts.rows import Rows

FEWEST_OF_VALUE = 3
"""Rows of a value, on average; with fewer a metric learns or counts single rows."""


def doubts(rows: Rows, *, real: bool = False, separates: bool = True) -> tuple[str, ...]:
    """Remarks on rows that cannot tell good codes from bad ones, or lack labels.

    ``real`` is whether the metric takes continuous factors as numbers, ``separates`` whether it is
    about factors that are kept apart, which takes two.

    Example:
        >>> level = torch.arange(20)[:, None] // 2
        >>> rows = Rows(level.double(), level, level, ("person",), ("nominal",))
        >>> doubts(rows)
        ('one factor: there is nothing to separate it from', 'person has 10 values in 20 rows')
    """
    remarks = []
    if not real:
        names = [n for n, kind in zip(rows.names, rows.kinds, strict=True) if kind == "continuous"]
        remarks += [f"{name} in {QUANTILE_BINS} quantile bins" for name in names]
    if separates and len(rows.names) == 1:
        remarks.append(ONE_FACTOR)
    all_levels = rows.levels if rows.test is None else torch.cat([rows.levels, rows.test.levels])
    for name, level, every in zip(rows.names, rows.levels.T, all_levels.T, strict=True):
        known = level[level >= 0]
        if gone := int((every < 0).sum()):
            remarks.append(f"{gone:,} of {len(every):,} rows lack {name}")
        if len(known) < FEWEST_OF_VALUE * (values := len(torch.unique(known))):
            remarks.append(f"{name} has {values:,} values in {len(known):,} rows")
    n, z = rows.codes.shape
    if n <= z:
        remarks.append(f"{n} rows for {z} codes: they fit anything")
    return tuple(remarks)
