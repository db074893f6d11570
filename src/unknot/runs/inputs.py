"""Images that a user hands to a model, as the model takes them."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.border import check_mask
from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError, ShapeError
from unknot.core.labels import clean_names
from unknot.core.registry import nearest
from unknot.data.parts.images import are_measured, scale_levels

ROUNDING = 1e-4
"""How far outside [0, 1] a resized image may be."""


def as_images(images: Any, dataset: FactorDataset) -> Float[Tensor, "n c h w"]:
    """Images of NumPy or PyTorch as `dataset.batch` would give them.

    Args:
        images: Whole numbers 0 .. 255 or floats in [0, 1], channels first or last; for a model of
            images of more bits also whole numbers as in their files; for a model of a table its
            rows ``[n, columns]``, or a data frame with its columns in any order.
        dataset: Of the model: their shape, and whether they are standardised.
    """
    if dataset.columns and hasattr(images, "columns"):
        images = _in_order(images, dataset.columns)
    if not isinstance(images, Tensor | np.ndarray):
        raise DataError(f"Images are arrays of NumPy or PyTorch; got {type(images).__name__}.")
    check_mask(images, "the images")
    if isinstance(images, np.ndarray) and images.dtype.kind not in "uifb":
        raise DataError(f"Images are whole numbers 0 .. 255 or floats; got {images.dtype}.")
    if isinstance(images, np.ndarray):  # PyTorch warns about arrays that cannot be written to
        x = torch.from_numpy(np.require(images, requirements=["C", "W"]))
    else:
        x = images
    if _are_numbers(x, dataset.shape):
        x = x.reshape(len(x), *dataset.shape)
        if not bool(x.isfinite().all()):
            raise DataError("Rows must not hold missing or infinite values; fill them in.")
        if dataset.row_total is not None and bool(((x < 0) | (x != x.round())).any()):
            raise DataError("The run is of counts: rows must hold whole numbers from 0.")
        return dataset.standardize(x.float())
    x = _channels_first(x, dataset.shape)
    if x.dtype in (torch.uint8, torch.bool):
        return dataset.standardize(x.float() / (255 if x.dtype == torch.uint8 else 1))
    low, high = dataset.ends
    if not x.is_floating_point():
        if not are_measured((low, high)):
            raise DataError(
                f"Images are uint8 (0 .. 255) or floats in [0, 1]; got {x.dtype}. Convert them "
                "with images.astype('uint8') or images.to(torch.uint8)."
            )
        return dataset.standardize(scale_levels(x, (low, high)))
    if not bool(x.isfinite().all()):
        raise DataError("Images must not hold NaN or infinite values.")
    if (
        not dataset.mean
        and dataset.row_total is None
        and x.numel()
        and (x.min() < -ROUNDING or x.max() > 1 + ROUNDING)
    ):
        advice = "Divide by 255, or hand over uint8."
        if are_measured((low, high)):
            advice = "Scale them as the run did, from low and high of run.dataset.ends."
        raise DataError(
            f"Floats must lie in [0, 1]; these lie in [{x.min():.4g}, {x.max():.4g}]. {advice}"
        )
    return x


def _are_numbers(x: Tensor, shape: tuple[int, int, int]) -> bool:
    """Whether these are rows of a table or signals, as they stand in a file."""
    channels, height, width = shape
    rows = [(channels,)] if width == 1 else [(channels, width), *[(width,)] * (channels == 1)]
    return height == 1 and tuple(x.shape[1:]) in rows


def _in_order(frame: Any, columns: tuple[str, ...]) -> np.ndarray:
    """Columns of a data frame by their names, in the order of the table that a model is of."""
    names, _ = clean_names([str(column) for column in frame.columns])
    there = {column: place for place, column in enumerate(names)}
    for column in columns:
        if column not in there:
            raise DataError(f"The rows have no column '{column}'{nearest(column, [*there])}")
    rows = frame.iloc[:, [there[column] for column in columns]]
    try:
        return np.asarray(rows.to_numpy(np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise DataError(f"Columns of rows must be numbers: {error}.") from error


def _channels_first(x: Tensor, shape: tuple[int, int, int]) -> Tensor:
    channels, height, width = shape
    if x.ndim == 4 and tuple(x.shape[1:]) == shape:
        return x
    if x.ndim == 4 and tuple(x.shape[1:]) == (height, width, channels):
        return x.permute(0, 3, 1, 2)
    if x.ndim == 3 and channels == 1 and tuple(x.shape[1:]) == (height, width):
        return x.unsqueeze(1)
    hint = ""
    if x.ndim in (2, 3) and tuple(x.shape) in (shape, (height, width, channels), (height, width)):
        hint = " Of one image, hand over images[None]."
    elif x.ndim == 4 and channels not in (x.shape[1], x.shape[3]):
        hint = f" The run has {channels} channel{'s' * (channels > 1)}."
    elif x.ndim >= 3:
        hint = f" Resize them to {height} x {width}, as `unknot encode RUN FOLDER` does."
    raise ShapeError(
        f"Expected images [n, {channels}, {height}, {width}]; got {tuple(x.shape)}.{hint}"
    )
