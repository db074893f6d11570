"""Pictures from compressed files, decoded by all cores and brought to one size."""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from unknot.core.errors import DataError
from unknot.data.parts.trees import Tree

ROWS = 1024
WHITE = 250
"""Level from which all channels count as background."""
Filter: TypeAlias = Literal["lanczos", "bilinear", "bicubic"]
"""How images become smaller; all of Pillow's average over what a pixel covers."""


def decode_rows(
    tree: Tree,
    names: Sequence[str],
    convert: Callable[[Image.Image], UInt8[np.ndarray, "c h w"]],
    width: int,
    height: int | None = None,
) -> Iterator[UInt8[np.ndarray, "rows c h w"]]:
    """Pictures of a tree in the given order, so many at a time.

    Args:
        tree: Where they are.
        names: Which.
        convert: Makes an array of a picture.
        width: What each must have.
        height: The same as the width unless given.

    Raises:
        DataError: A picture is damaged or of another size.
    """
    size = (width, height or width)

    def decode(name: str, data: bytes) -> UInt8[np.ndarray, "c h w"]:
        try:
            with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as picture:
                picture.verify()  # compares checksums, where decoding does not
            with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as picture:
                if picture.size == size:
                    return convert(picture)
        except Exception as error:  # decoders raise much more than OSError for a damaged file
            raise DataError(f"Cannot read the picture '{name}'; fetch it again.") from error
        raise DataError(f"The picture '{name}' should have {size[0]} x {size[1]} pixels.")

    # Decoders run beside each other in threads; archives are read by one.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(names), ROWS):
            some = names[start : start + ROWS]
            yield np.stack([*pool.map(decode, some, [tree.read(name) for name in some])])


def color(picture: Image.Image) -> UInt8[np.ndarray, "3 h w"]:
    """A picture in three channels, as it is."""
    return np.asarray(picture.convert("RGB")).transpose(2, 0, 1)


def small_color(picture: Image.Image, side: int, way: Filter) -> UInt8[np.ndarray, "3 side side"]:
    """A picture in three channels, squeezed to a square."""
    return color(picture.convert("RGB").resize((side, side), _resampling(way)))


def small_gray(picture: Image.Image, side: int, way: Filter) -> UInt8[np.ndarray, "1 side side"]:
    """A picture in one channel, squeezed to a square."""
    return np.asarray(picture.convert("L").resize((side, side), _resampling(way)))[None]


def crop_color(
    picture: Image.Image, square: int | None, side: int
) -> UInt8[np.ndarray, "3 side side"]:
    """A picture in three channels, or its middle square of so many pixels, squeezed to a square."""
    if square is not None:
        left, top = (picture.width - square) // 2, (picture.height - square) // 2
        picture = picture.crop((left, top, left + square, top + square))
    return small_color(picture, side, "bicubic")


def chair_mask(picture: Image.Image, side: int) -> UInt8[np.ndarray, "1 side side"]:
    """White where at least half of what a pixel covers is not the white background."""
    inside = np.asarray(picture.convert("RGB")).min(2) < WHITE
    mask = Image.fromarray(inside.astype(np.uint8) * 255).resize((side, side), Image.Resampling.BOX)
    return np.where(np.asarray(mask) >= 128, np.uint8(255), np.uint8(0))[None]


def read_sheet(data: bytes, where: str, size: tuple[int, int]) -> UInt8[np.ndarray, "h w 4"]:
    """A PNG picture with its opacity.

    Raises:
        DataError: It is damaged or of another size.
    """
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as picture:
            sheet = np.asarray(picture.convert("RGBA"))
    except Exception as error:  # decoders raise much more than OSError for a damaged file
        raise DataError(f"Cannot read the picture '{where}'; fetch it again.") from error
    if sheet.shape != (size[1], size[0], 4):
        raise DataError(f"The picture '{where}' should have {size[0]} x {size[1]} pixels.")
    return sheet


def layer_sheets(sheets: Sequence[UInt8[np.ndarray, "h w 4"]]) -> UInt8[np.ndarray, "h w 3"]:
    """Pictures laid over each other on black, the first lowest."""
    under = Image.new("RGBA", sheets[0].shape[1::-1], "black")
    for sheet in sheets:
        under.alpha_composite(Image.fromarray(sheet))
    return np.asarray(under)[..., :3]


def shrink_color(
    images: UInt8[np.ndarray, "n h w 3"], side: int, way: Filter
) -> UInt8[np.ndarray, "n 3 side side"]:
    """Colour images made smaller, as 8-bit images throughout."""
    return np.stack([small_color(Image.fromarray(x), side, way) for x in images])


def shrink_gray(
    images: UInt8[np.ndarray, "n h w"], side: int, way: Filter
) -> UInt8[np.ndarray, "n 1 side side"]:
    """Gray images made smaller.

    LANCZOS is that of disentanglement_lib, which gave Pillow signed bytes. It takes them as 32-bit
    integers, so values are not cut to 0 .. 255 between the two directions; what overshoots is cut
    here at the end.
    """
    if way == "lanczos":
        images = images.astype(np.int32)
    size, resampling = (side, side), _resampling(way)
    small = [np.asarray(Image.fromarray(x).resize(size, resampling)) for x in images]
    return np.stack(small).clip(0, 255).astype(np.uint8)[:, None]


def _resampling(way: Filter) -> Image.Resampling:
    return Image.Resampling[way.upper()]
