"""What is measured of a dataset to bring its values to a net: percentiles, means, deviations.

They are measured on all rows when the data are read, and on the training part alone once a run has
a split: rows that are held out take no part in how they are scaled.
"""

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.dataset import FactorDataset, Images
from unknot.core.text import number
from unknot.data.parts.images import Ends, Levels, Streamed
from unknot.data.parts.values import SparseValues, Values, csr_rows, sparse_moments

PERCENTILES = (0.1, 99.9)
SAMPLE_ROWS = 2_000
"""Rows that percentiles are taken of, spread evenly."""
AT_ONCE = 256
"""Images whose moments are added up at a time."""
STANDARDIZED = "standardised"
TRAINING, BY_TRAINING = " of the training part", " by the training part"
Moments: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]
"""Mean and standard deviation of each channel."""


def measure_ends(stored: Any, rows: Int[np.ndarray, " n"] | None = None) -> Ends:
    """Percentiles of each channel of numbers ``[n, c, h, w]``, of all rows or of some."""
    if rows is None:
        sample = np.asarray(stored[:: -(-len(stored) // SAMPLE_ROWS)])
    else:
        sample = np.asarray(stored[rows[:: -(-len(rows) // SAMPLE_ROWS)]])
    ends = [np.percentile(sample[:, c], PERCENTILES).tolist() for c in range(sample.shape[1])]
    low = tuple(float(a) for a, _ in ends)
    return low, tuple(float(b) if b > a else float(a) + 1.0 for a, b in ends)


def describe_ends(images: Levels, scope: str = "") -> str:
    """How values were scaled, for people.

    Args:
        images: Which.
        scope: Whose percentiles, if not of all rows.
    """
    low, high = images.ends
    values = "; ".join(f"{number(a)} .. {number(b)}" for a, b in zip(low, high, strict=True))
    each = " for each channel" if len(low) > 1 else ""
    return (
        f"{str(images.stored.dtype).removeprefix('torch.')} scaled to 0 .. 1 from its percentiles "
        f"{PERCENTILES[0]} and {PERCENTILES[1]}{scope}{each} ({values}), values beyond cut off"
    )


def measure_moments(images: Images, rows: Int[Tensor, " n"] | None = None) -> Moments:
    """Mean and standard deviation of each channel, of all rows or of some."""
    if isinstance(images, Values):
        stored = images.stored.cpu().numpy()
        values = stored if rows is None else stored[rows.numpy()]
        wide = values.astype(np.float64)
        return _checked(wide.mean((0, 2, 3)), wide.std((0, 2, 3)))
    if isinstance(images, SparseValues):
        sparse = csr_rows(images)
        return _checked(*sparse_moments(sparse if rows is None else sparse[rows.numpy()]))
    sums = squares = torch.zeros(images.shape[0], dtype=torch.float64)
    count = 0
    index = torch.arange(len(images)) if rows is None else rows  # type: ignore[arg-type]
    for some in index.split(AT_ONCE):
        x = images.pixels(some).double().transpose(0, 1).flatten(1).cpu()
        sums, squares, count = sums + x.sum(1), squares + x.square().sum(1), count + x.shape[1]
    mean = sums / count
    std = (squares / count - mean.square()).clamp(min=0).sqrt()
    std = torch.where(std > 1e-6, std, torch.ones_like(std))
    return tuple(mean.tolist()), tuple(std.tolist())


def _checked(mean: Float[np.ndarray, " c"], spread: Float[np.ndarray, " c"]) -> Moments:
    """Means and deviations; a column of one value is not divided."""
    std = np.where(spread > 1e-12 * np.abs(mean).clip(1e-300), spread, 1.0)
    return tuple(mean.tolist()), tuple(std.tolist())


def measure_on(dataset: FactorDataset, rows: Int[Tensor, " n"] | None, split: Any) -> FactorDataset:
    """A dataset scaled by what its training rows have; what is published or fixed stays.

    Args:
        dataset: Any.
        rows: Of the training part; None for all.
        split: What `rows` came of, which the dataset keeps.
    """
    if not dataset.measured or dataset.measured_on == split:
        return dataset
    images = _stored(dataset.images)
    ends: Ends = ((), ())
    if isinstance(images, Levels) and images.is_measured:
        ends = measure_ends(images.stored.cpu().numpy(), None if rows is None else rows.numpy())
        images = replace(images, low=ends[0], high=ends[1])
    moments = measure_moments(images, rows) if dataset.mean else ((), ())
    return set_scale(dataset, ends, moments, split)


def set_scale(dataset: FactorDataset, ends: Ends, moments: Moments, split: Any) -> FactorDataset:
    """A dataset scaled by numbers that were measured on the training part of a split.

    Args:
        dataset: Any.
        ends: What becomes 0 and 1 in each channel, where that is measured.
        moments: Mean and deviation of each channel, where it is standardised by its own.
        split: On whose training part; None for all rows.
    """
    images, note, scope = dataset.images, dataset.note, "" if split is None else TRAINING
    levels = _stored(images)
    if isinstance(levels, Levels) and all(ends):
        other = replace(levels, low=ends[0], high=ends[1])
        for before in ("", TRAINING):
            note = note.replace(describe_ends(levels, before), describe_ends(other, scope))
        images = replace(images, images=other) if isinstance(images, Streamed) else other
    mean, std = moments if dataset.mean and all(moments) else (dataset.mean, dataset.std)
    before, _, rest = note.partition(", ")
    if dataset.measured and before.removesuffix(BY_TRAINING) == STANDARDIZED:
        note = ", ".join(filter(None, (STANDARDIZED + (BY_TRAINING if split else ""), rest)))
    return replace(dataset, images=images, mean=mean, std=std, note=note, measured_on=split)


def _stored(images: Images) -> Images:
    return images.images if isinstance(images, Streamed) else images
