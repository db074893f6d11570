"""Picture files decoded: upright, without transparency, in the size and channels asked for."""

import io
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from unknot.core.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")
Crop: TypeAlias = Literal["centre", "squeeze", "pad", "none"]
Depth: TypeAlias = Literal["uint8", "uint16", "float32"]
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TIFF")
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
ORIENTATION, TURNED = 0x0112, (5, 6, 7, 8)
"""The EXIF tag of how a camera was held, and its values for a quarter turn."""


@dataclass(frozen=True)
class Header:
    """What a picture file says before it is decoded."""

    height: int
    width: int
    channels: int
    depth: Depth = "uint8"
    clear: bool = False
    """Whether some of it may be transparent."""
    cut: bool = False
    """Whether the decoder keeps 8 of 16 bits: colour of 16 bits."""


@dataclass(frozen=True)
class Target:
    """What every image of a dataset is to be."""

    height: int
    width: int
    channels: int
    crop: Crop = "centre"
    depth: Depth = "uint8"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.channels, self.height, self.width


def open_picture(
    data: bytes | Path, use: Callable[["Image"], T], formats: tuple[str, ...] = FORMATS
) -> T:
    """What is made of a picture file; whatever is wrong with it is a ValueError."""
    from PIL import Image

    try:
        file = io.BytesIO(data) if isinstance(data, bytes) else data
        with Image.open(file, formats=formats) as picture:
            return use(picture)
    except MemoryError:
        raise
    except Exception as error:  # decoders raise much more than OSError for a damaged file
        raise ValueError(str(error)) from error


@contextmanager
def decoding_threads() -> Iterator[Callable[..., Iterator[Any]]]:
    """Maps over threads, one for each core: decoders let go of Python's lock."""
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        yield pool.map
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def read_header(data: bytes | Path) -> Header:
    """The header of a picture file; whatever is wrong with it is a ValueError."""
    return open_picture(data, picture_header)


def decode(data: bytes, target: Target) -> np.ndarray:
    """A picture as ``[c, h, w]``; whatever is wrong with it is a ValueError."""
    return open_picture(data, lambda picture: fit_picture(picture, target))


def fit_array(image: np.ndarray, target: Target) -> np.ndarray:
    """An image ``[c, h, w]`` in the size and channels asked for, in its own type."""
    from PIL import Image

    if image.shape == target.shape:
        return image
    c = len(image)
    if c != target.channels and {c, target.channels} != {1, 3}:
        raise DataError(f"Images of {c} channels cannot become {target.channels}; leave channels.")
    if c == 3 > target.channels:
        gray = (0.299, 0.587, 0.114) @ image.reshape(3, -1).astype(np.float64)
        image = _as_type(gray.reshape(1, *image.shape[1:]), image.dtype)
    bands = [
        np.asarray(_fit(Image.fromarray(band.astype(np.float32)), target))
        for band in image  # in float32, whatever the type
    ]
    fitted = _as_type(np.stack(bands), image.dtype)
    return np.broadcast_to(fitted, target.shape)


def picture_header(picture: "Image") -> Header:
    """What a picture says before it is decoded."""
    w, h = picture.size
    # Of a PNG file without tags at its beginning, Pillow would decode all to look for them.
    tags = picture.format != "PNG" or "exif" in picture.info
    if tags and picture.getexif().get(ORIENTATION) in TURNED:
        w, h = h, w
    mode, pages = picture.mode, getattr(picture, "n_frames", 1)
    if depth := _deep(picture):
        return Header(h, w, pages, depth)
    if pages > 1 and picture.format == "TIFF":
        return Header(h, w, pages)
    clear = mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    cut = mode.startswith("RGB") and ";16" in str(getattr(picture, "tile", ""))
    return Header(h, w, 1 if mode in ("1", "L", "LA") else 3, clear=clear, cut=cut)


def _deep(picture: "Image") -> Depth | None:
    """The type of pixels that 8 bits do not hold; None for those that they do."""
    if picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format == "PNG"):
        return "uint16"
    return "float32" if picture.mode in ("I", "F") else None


def fit_picture(picture: "Image", target: Target) -> np.ndarray:
    """A picture as ``[c, h, w]``, upright and in the size and channels asked for."""
    from PIL import Image

    pages = getattr(picture, "n_frames", 1)
    if target.depth != "uint8" or (pages > 1 and picture.format == "TIFF"):
        bands = []
        for page in range(pages):
            picture.seek(page)
            band = _upright(picture).convert("F")
            bands.append(np.asarray(_fit(band, target)))
        return _as_type(np.stack(bands), np.dtype(target.depth))
    if picture.format == "JPEG":
        # At the coarsest of its scales that has at least twice the pixels a side: much quicker.
        side = 2 * max(target.height, target.width)
        picture.draft(None, (side, side))
    upright = _upright(picture)
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        layer = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    mode = "L" if target.channels == 1 else "RGB"
    if upright.mode != mode:
        upright = upright.convert(mode)
    image = np.asarray(_fit(upright, target))
    return image[None] if image.ndim == 2 else image.transpose(2, 0, 1)


def _upright(picture: "Image") -> "Image":
    """As the camera was held; Pillow's function would copy a picture that needs no turn."""
    from PIL import ImageOps

    picture.load()
    turned = picture.getexif().get(ORIENTATION, 1) != 1
    return ImageOps.exif_transpose(picture) if turned else picture


def _fit(picture: "Image", target: Target) -> "Image":
    """In the size asked for: bilinear, each pixel a mean over all that it covers."""
    from PIL import Image, ImageOps

    size, bilinear = (target.width, target.height), Image.Resampling.BILINEAR
    if picture.size == size:
        return picture
    if target.crop == "centre":
        return ImageOps.fit(picture, size, bilinear)
    if target.crop == "pad":
        return ImageOps.pad(picture, size, bilinear)
    if target.crop == "squeeze":
        return picture.resize(size, bilinear)
    w, h = picture.size
    raise DataError(
        f"Expected images of {target.height} x {target.width} with crop=none; got {h} x {w}. "
        "Use crop=centre, squeeze or pad."
    )


def _as_type(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Rounded and within the range of whole numbers; floats as they are."""
    if dtype.kind == "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    rounded: np.ndarray = np.rint(values).clip(limits.min, limits.max).astype(dtype)
    return rounded
