"""Counts: tables of whole numbers from 0 for likelihoods of counts."""

from dataclasses import replace

import numpy as np
import torch

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.text import number
from unknot.data.parts.scaling import STANDARDIZED
from unknot.data.parts.values import SparseValues, Values

HINT = "looks like counts: consider likelihood=poisson or negative_binomial"
AT_ONCE = 4_096
"""Rows that are looked at together."""


def look_like_counts(values: np.ndarray) -> bool:
    """Whether numbers are whole and from 0, and more than yes and no.

    Example:
        >>> look_like_counts(np.array([0.0, 7.0])), look_like_counts(np.array([0.0, 1.0]))
        (True, False)
    """
    whole = bool((values >= 0).all()) and bool((values == np.rint(values)).all())
    return whole and values.size > 0 and bool(values.max() > 1)


def as_counts(dataset: FactorDataset, likelihood: str) -> FactorDataset:
    """A dataset whose batches are log1p of its counts; nothing is standardised.

    Args:
        dataset: A table or signals.
        likelihood: What needs counts, for messages.

    Raises:
        DataError: The data are images, or not all values are counts.
    """
    if dataset.row_total is not None:
        return dataset
    if not isinstance(dataset.images, Values | SparseValues):
        raise DataError(
            f"The likelihood {likelihood} is for tables and signals of counts, and {dataset.name} "
            "has images; use bernoulli or gaussian."
        )
    totals = []
    for rows in torch.arange(len(dataset)).split(AT_ONCE):
        x = dataset.images.pixels(rows)
        bad = (x < 0) | (x != x.round())
        if bool(bad.any()):
            row, channel, *_ = (int(place) for place in bad.nonzero()[0])
            column = f"column '{dataset.columns[channel]}'" if dataset.columns else "the signal"
            raise DataError(
                f"The likelihood {likelihood} is for counts, whole numbers from 0; {column} has "
                f"{number(float(x[bad][0]))} in row {int(rows[row])}. Leave the likelihood out to "
                "have columns standardised."
            )
        totals.append(x.flatten(1).sum(1))
    total = max(1.0, float(torch.cat(totals).median()))
    others = [
        part
        for part in dataset.note.split(", ")
        if part and part != HINT and not part.startswith(STANDARDIZED)
    ]
    note = ", ".join([f"counts (median total {number(total)}) as log1p", *others])
    return replace(dataset, mean=(), std=(), row_total=total, note=note)
