"""From images as they were read to a dataset."""

import torch

from unknot.core.dataset import FactorDataset
from unknot.data.parts.images import Bytes, Levels, Stored, as_tensor
from unknot.data.parts.reading import Reading
from unknot.data.parts.stacks import measure_scale
from unknot.data.parts.user_grid import without_factors

MOST_CHANNELS = 16
"""An array of floats ``[n, few, many]`` holds signals rather than images."""


def assemble(reading: Reading, name: str, *, standardize: bool = False) -> FactorDataset:
    """A dataset of images as they were read, without a copy of them.

    Args:
        reading: The images.
        name: What people call them.
        standardize: Subtract each channel's mean and divide by its standard deviation.
    """
    stored, note = as_tensor(reading.pixels), reading.note
    images: Stored
    if stored.dtype == torch.uint8:
        images = Bytes(stored)
    else:
        low, high, remark = measure_scale(reading.pixels)
        images = Levels(stored, low, high)
        _, height, width = images.shape
        signals = f"if these are signals of {height} channels, use the dataset signals"
        like_signals = height <= MOST_CHANNELS and width >= 4 * height
        note = "; ".join(filter(None, (note, remark, signals if remark and like_signals else "")))
    space = reading.space or without_factors(len(stored))
    mean, std = _moments(images) if standardize else ((), ())
    return FactorDataset(name, space, images, mean, std, note=note)


def _moments(images: Stored) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel over all images."""
    sums = squares = torch.zeros(images.shape[0], dtype=torch.float64)
    count = 0
    for rows in torch.arange(len(images)).split(256):
        x = images.pixels(rows).double().transpose(0, 1).flatten(1)
        sums, squares, count = sums + x.sum(1), squares + x.square().sum(1), count + x.shape[1]
    mean = sums / count
    std = (squares / count - mean.square()).clamp(min=0).sqrt()
    std = torch.where(std > 1e-6, std, torch.ones_like(std))
    return tuple(mean.tolist()), tuple(std.tolist())
