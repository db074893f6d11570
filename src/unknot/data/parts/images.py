"""Stored images: one byte or one bit per pixel."""

import lzma
import tokenize
import warnings
import zipfile
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped, UInt8
from torch import Tensor

from unknot.core.dataset import Images
from unknot.core.errors import DataError, ShapeError

Ends: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]
"""What becomes 0 in each channel, and what becomes 1."""
# What zipfile, zlib and numpy raise for an npz file that is damaged or something else; it was found
# by altering every byte of one.
BAD_ARCHIVE = (
    ValueError,
    TypeError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    tokenize.TokenError,
)


@dataclass(frozen=True)
class Stored(ABC):
    """Images that are stored as numbers, one for each channel and pixel."""

    stored: Shaped[Tensor, "size c h w"]

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        c, h, w = self.stored.shape[1:]
        return c, h, w

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows, in [0, 1]."""
        return self.scale(self.take(index))

    def take(self, index: Int[Tensor, "*n"], *, pinned: bool = False) -> Shaped[Tensor, "*n c h w"]:
        """Rows as they are stored; pinned in the host's memory, where a GPU can copy from it."""
        flat = index.reshape(-1).to(self.stored.device, torch.int64)
        # Whole rows are copied; indexing would go through them pixel by pixel.
        if pinned:
            shape, dtype = (len(flat), *self.shape), self.stored.dtype
            rows = torch.empty(shape, dtype=dtype, pin_memory=True)
            torch.index_select(self.stored, 0, flat, out=rows)
        else:
            rows = self.stored.index_select(0, flat)
        return rows.reshape(*index.shape, *self.shape)

    @abstractmethod
    def scale(self, stored: Shaped[Tensor, "*n c h w"]) -> Float[Tensor, "*n c h w"]:
        """Stored images as they are given, in [0, 1]."""

    def to(self, device: torch.device) -> "Stored | Streamed":
        """The same images on another device, or streamed to it if it has no room for them."""
        if not _fits(self, device):
            return Streamed(self, device)
        return replace(self, stored=self.stored.to(device))


@dataclass(frozen=True)
class Bytes(Stored):
    """Images stored as one byte per channel and pixel, divided by 255 as they are taken."""

    def scale(self, stored: UInt8[Tensor, "*n c h w"]) -> Float[Tensor, "*n c h w"]:
        """Divided by 255."""
        return unit_interval(stored.float())


@dataclass(frozen=True)
class Levels(Stored):
    """Images stored in a type of more than 8 bits, scaled to [0, 1] as they are taken."""

    low: tuple[float, ...]
    """What becomes 0 in each channel; smaller values do too."""
    high: tuple[float, ...]
    """What becomes 1 in each channel; larger values do too."""

    @property
    def ends(self) -> Ends:
        """What becomes 0 and what becomes 1 in each channel."""
        return self.low, self.high

    @property
    def is_measured(self) -> bool:
        """Whether values were scaled at all."""
        return are_measured(self.ends)

    def scale(self, stored: Shaped[Tensor, "*n c h w"]) -> Float[Tensor, "*n c h w"]:
        """From low and high of each channel to 0 and 1."""
        return scale_levels(stored, self.ends)


@dataclass(frozen=True)
class Streamed:
    """Images that a GPU has no room for: gathered in the host's memory, copied batch by batch."""

    images: Stored
    device: torch.device
    streamed: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.images)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.images.shape

    @property
    def ends(self) -> Ends:
        """What becomes 0 and what becomes 1 in each channel, of images that are scaled."""
        return self.images.ends if isinstance(self.images, Levels) else ((), ())

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows; the copy overlaps with what the GPU still has to do."""
        rows = self.images.take(index, pinned=self.device.type == "cuda")
        return self.images.scale(rows.to(self.device, non_blocking=True))

    def to(self, device: torch.device) -> "Stored | Streamed":
        """The same images for another device."""
        return self.images.to(device)


@dataclass(frozen=True)
class Bits:
    """Binary images stored as one bit per pixel, most significant bit first, row after row."""

    stored: UInt8[Tensor, "size bytes"]
    shape: tuple[int, int, int]

    def __len__(self) -> int:
        return len(self.stored)

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows, unpacked to 0 and 1."""
        shifts = torch.arange(7, -1, -1, dtype=torch.uint8, device=self.stored.device)
        bits = (self.stored[index].unsqueeze(-1) >> shifts) & 1
        return bits.reshape(*index.shape, *self.shape).float()

    def to(self, device: torch.device) -> "Bits":
        """The same bits on another device."""
        return Bits(self.stored.to(device), self.shape)


def scale_levels(values: Shaped[Tensor, "*n c h w"], ends: Ends) -> Float[Tensor, "*n c h w"]:
    """Values from low and high of each channel to 0 and 1, those beyond cut off."""
    x = values.float()
    # Filled in on the device: a copy could not be in a CUDA graph.
    low, high = (torch.stack([x.new_full((1, 1), v) for v in side]) for side in ends)
    return ((x - low) / (high - low)).clamp(0, 1)


def are_measured(ends: Ends) -> bool:
    """Whether values are scaled at all: not of images of 8 bits, nor of floats in [0, 1]."""
    low, high = ends
    return bool(low) and not ({*low} == {0.0} and {*high} == {1.0})


def _fits(images: Stored, device: torch.device) -> bool:
    """Whether a device has room for stored images, and as much again for training."""
    if device.type != "cuda" or images.stored.device == device:
        return True
    free, _ = torch.cuda.mem_get_info(device)
    return 2 * images.stored.numel() * images.stored.element_size() <= free


def unit_interval(pixels: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Values from 0 to 255 divided by 255, the same bits on every device.

    By a plain number a GPU would divide as a product with 1/255, which rounds differently.
    """
    return pixels / torch.full((), 255.0, device=pixels.device)


def as_tensor(pixels: np.ndarray) -> Tensor:
    """A tensor that shares an array's memory, also that of a file that must not be written."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        # PyTorch takes no array that runs backwards.
        return torch.from_numpy(pixels.copy() if min(pixels.strides, default=0) < 0 else pixels)


def as_bytes(images: np.ndarray, source: str) -> Bytes:
    """Images from an array: uint8, or floats in [0, 1] which are rounded to 255 steps.

    Args:
        images: ``[n, h, w]``, ``[n, h, w, c]`` or ``[n, c, h, w]`` with 1 or 3 channels.
        source: Where it came from, for messages.
    """
    if images.size == 0:
        raise DataError(f"There are no images in {source}; its shape is {images.shape}.")
    if images.ndim == 3:
        images = images[:, None]
    elif images.ndim == 4 and images.shape[1] not in (1, 3) and images.shape[3] in (1, 3):
        images = images.transpose(0, 3, 1, 2)
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise ShapeError(
            f"Expected images [n, h, w], [n, h, w, c] or [n, c, h, w] with 1 or 3 channels in "
            f"{source}; got shape {images.shape}."
        )
    if images.dtype == np.bool_:
        images = images.astype(np.uint8) * 255
    elif np.issubdtype(images.dtype, np.floating):
        if not np.isfinite(images).all():
            raise DataError(f"Images in {source} hold NaN or infinite values; clean them first.")
        if images.min() < 0 or images.max() > 1:
            raise DataError(
                f"Float images must lie in [0, 1]; {source} spans "
                f"{images.min():.4g} .. {images.max():.4g}. Rescale them first."
            )
        images = np.rint(images * 255).astype(np.uint8)
    elif images.dtype != np.uint8:
        raise DataError(f"Images must be uint8 or float; {source} holds {images.dtype}.")
    return Bytes(torch.from_numpy(np.ascontiguousarray(images)))


@dataclass(frozen=True)
class StoredVariants:
    """All rows of variant 0, then all of variant 1 and so on: an index is the place itself."""

    images: Images
    variants: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.images.shape

    @property
    def streamed(self) -> bool:
        """Whether they stay in the host's memory."""
        return bool(getattr(self.images, "streamed", False))

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows and variants."""
        return self.images.pixels(index)

    def to(self, device: torch.device) -> "StoredVariants":
        """The same images held by another device."""
        return StoredVariants(self.images.to(device), self.variants)
