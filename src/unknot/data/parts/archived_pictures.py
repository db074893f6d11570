"""Pictures from compressed files, decoded by all cores and brought to one size."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from unknot.core.errors import DataError
from unknot.data.parts.decoding import decoding_threads, open_picture
from unknot.data.parts.trees import Tree

ROWS = 1024
FORMATS = ("PNG", "JPEG")
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
            open_picture(data, lambda x: x.verify(), FORMATS)  # checksums, which decoders pass over
            image = open_picture(data, lambda x: convert(x) if x.size == size else None, FORMATS)
        except ValueError as error:
            raise DataError(f"Cannot read the picture '{name}'; fetch it again.") from error
        if image is None:
            raise DataError(f"The picture '{name}' should have {size[0]} x {size[1]} pixels.")
        return image

    with decoding_threads() as run:  # archives are read by one thread
        for start in range(0, len(names), ROWS):
            some = names[start : start + ROWS]
            yield np.stack([*run(decode, some, [tree.read(name) for name in some])])


def color(picture: Image.Image) -> UInt8[np.ndarray, "3 h w"]:
    """A picture in three channels, as it is."""
    return np.asarray(picture.convert("RGB")).transpose(2, 0, 1)


def small_color(picture: Image.Image, side: int, way: Filter) -> UInt8[np.ndarray, "3 side side"]:
    """A picture in three channels, squeezed to a square."""
    return color(picture.convert("RGB").resize((side, side), _resampling(way)))


def small_gray(picture: Image.Image, side: int, way: Filter) -> UInt8[np.ndarray, "1 side side"]:
    """A picture in one channel, squeezed to a square."""
    return np.asarray(picture.convert("L").resize((side, side), _resampling(way)))[None]


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
