"""From images as they were read to a dataset."""

import torch

from unknot.core.dataset import FactorDataset
from unknot.data.parts.grids import without_factors
from unknot.data.parts.images import Bytes, Levels, Stored, as_tensor
from unknot.data.parts.reading import Reading
from unknot.data.parts.scaling import describe_ends, measure_ends, measure_moments
from unknot.data.parts.stacks import lies_in_unit

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
    elif stored.is_floating_point() and lies_in_unit(reading.pixels):
        images = Levels(stored, (0.0,) * stored.shape[1], (1.0,) * stored.shape[1])
    else:
        images = Levels(stored, *measure_ends(reading.pixels))
        _, height, width = images.shape
        signals = f"if these are signals of {height} channels, use the dataset signals"
        like_signals = height <= MOST_CHANNELS and width >= 4 * height
        hint = signals if like_signals else ""
        note = "; ".join(filter(None, (note, describe_ends(images), hint)))
    space = reading.space or without_factors(len(stored))
    mean, std = measure_moments(images) if standardize else ((), ())
    measured = standardize or (isinstance(images, Levels) and images.is_measured)
    return FactorDataset(name, space, images, mean, std, note=note, measured=measured)
