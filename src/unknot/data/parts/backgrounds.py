"""Pictures in colour: a folder of them as small squares, one as it is, or textures by formula.

Textures are small colour pictures that stand in for photographs. There are four kinds in turn:
clouds, warped bands, rounded cells and flat patches, each in three colours of its own. As in
photographs, coarse structure is stronger than fine and channels go together; but there is nothing
to recognise in them. Their arithmetic is in whole numbers throughout, so that every machine makes
the same bytes.
"""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from unknot.core import noise
from unknot.core.errors import DataError
from unknot.data.parts.decoding import open_picture
from unknot.data.parts.trees import refuse_disk

FORMATS = ("PNG", "JPEG")
ENDINGS = (".png", ".jpg", ".jpeg")
SIDE = 64
BANK = 1024
"""Textures in the bank."""
FULL = 1 << 16
"""What stands for 1 in a field."""
OCTAVES = (2, 4, 8, 16, 32)
POINTS = 12
"""Of each texture with cells."""
AT_ONCE = 64
"""Textures made at a time; more would only wait for memory."""


def read_folder(path: str, side: int) -> UInt8[np.ndarray, "n 3 side side"]:
    """All PNG and JPEG pictures of a folder and its subfolders, in the order of their paths.

    Each is cropped to its largest middle square and scaled bilinearly. Files of other kinds are
    passed over.
    """
    # Here, so that a dataset without a folder needs no decoder.
    from PIL import Image, ImageOps

    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise DataError(f"Expected a folder of pictures; '{path}' is not a folder.")
    refuse_disk(folder)
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in ENDINGS and p.is_file())
    if not files:
        raise DataError(f"'{path}' has no pictures; put PNG or JPEG files into it.")
    pictures = np.empty((len(files), 3, side, side), np.uint8)
    for i, file in enumerate(files):
        try:
            picture = open_picture(file, lambda picture: picture.convert("RGB"), FORMATS)
        except ValueError as error:
            raise DataError(f"Cannot read the picture '{file}'; remove or replace it.") from error
        square = ImageOps.fit(picture, (side, side), Image.Resampling.BILINEAR)
        pictures[i] = np.asarray(square).transpose(2, 0, 1)
    return pictures


def read_picture(path: str, most: tuple[int, int]) -> UInt8[np.ndarray, "3 h w"]:
    """A PNG or JPEG picture, shrunk to fit a width and a height; a smaller one stays as it is."""
    from PIL import Image

    file = Path(path).expanduser()
    if not file.is_file():
        raise DataError(f"Expected a PNG or JPEG picture; '{path}' is not a file.")
    try:
        image = open_picture(file, lambda picture: picture.convert("RGB"), FORMATS)
    except ValueError as error:
        raise DataError(f"Cannot read the picture '{path}'; give a PNG or JPEG file.") from error
    image.thumbnail(most, Image.Resampling.BICUBIC)
    return np.asarray(image).transpose(2, 0, 1).copy()


def weave_textures() -> UInt8[np.ndarray, "bank 3 side side"]:
    """The bank of textures."""
    return np.concatenate([_textures(some) for some in torch.arange(BANK).split(AT_ONCE)])


def _textures(number: Int[Tensor, " n"]) -> UInt8[np.ndarray, "n 3 side side"]:
    kinds = (clouds, bands, cells, patches)
    field = torch.empty(len(number), SIDE, SIDE, dtype=torch.int64)
    for i, kind in enumerate(kinds):
        mask = number % len(kinds) == i
        field[mask] = kind(number[mask])
    ends = noise.integers(0, "texture/colours", number, 3, 3, 1, 1, high=256)
    dark, middle, bright = ends.unbind(1)
    dark, bright = dark * 3 // 8, 255 - bright * 3 // 8
    # From the dark colour to the middle one in the lower half of the field, to the bright above.
    low, high = (2 * field).clamp(max=FULL)[:, None], (2 * field - FULL).clamp(min=0)[:, None]
    color = (dark * (FULL - low) + middle * (low - high) + bright * high) // FULL
    grain = stretch(octaves(number, "grain", OCTAVES[2:]))[:, None]
    return (color * (3 * FULL + grain) // (4 * FULL)).byte().numpy()


def clouds(number: Int[Tensor, " n"]) -> Int[Tensor, "n side side"]:
    """Random values at the corners of ever smaller squares, smoothly filled in and summed."""
    return stretch(octaves(number, "clouds", OCTAVES))


def bands(number: Int[Tensor, " n"]) -> Int[Tensor, "n side side"]:
    """Parallel bands of any direction and width, bent by a cloud."""
    slope = noise.integers(0, "texture/slope", number, 2, 1, 1, high=129) - 64
    pixel = torch.arange(SIDE)
    plane = slope[:, 0] * pixel + slope[:, 1] * pixel[:, None]
    bent = octaves(number, "bend", OCTAVES[:3])
    phase = plane * (FULL // 512) + 2 * bent
    return (phase % (2 * FULL) - FULL).abs()


def cells(number: Int[Tensor, " n"]) -> Int[Tensor, "n side side"]:
    """Cells around random points: how far a pixel is inside its own."""
    nearest = nearest_points(number) // POINTS
    return stretch((nearest[:, 1] - nearest[:, 0]).clamp(max=SIDE * 8))


def patches(number: Int[Tensor, " n"]) -> Int[Tensor, "n side side"]:
    """Cells around random points, each of one value."""
    point = nearest_points(number)[:, 0] % POINTS
    value = noise.integers(0, "texture/values", number, POINTS, high=FULL + 1)
    return value.gather(1, point.flatten(1)).reshape(point.shape)


def nearest_points(number: Int[Tensor, " n"]) -> Int[Tensor, "n 2 side side"]:
    """Squared distance of the two nearest points times their count, plus their own numbers.

    In one number, two points at one distance come in the same order everywhere.
    """
    points = noise.integers(0, "texture/points", number, 2, POINTS, 1, 1, high=SIDE)
    pixel = torch.arange(SIDE)
    squares = (points[:, 0] - pixel).square() + (points[:, 1] - pixel[:, None]).square()
    keys = squares * POINTS + torch.arange(POINTS)[:, None, None]
    return keys.topk(2, dim=1, largest=False).values


def octaves(
    number: Int[Tensor, " n"], name: str, counts: tuple[int, ...]
) -> Int[Tensor, "n side side"]:
    """Value noise, each octave of twice the frequency and half the height of the one before."""
    total = torch.zeros(len(number), SIDE, SIDE, dtype=torch.int64)
    for octave, count in enumerate(counts):
        corners = noise.integers(
            0, f"texture/{name}/{count}", number, count + 1, count + 1, high=FULL + 1
        )
        width = SIDE // count
        pixel = torch.arange(SIDE)
        cell, along = pixel // width, pixel % width
        # 3 t^2 - 2 t^3 in units of 1 / width^3: flat at both ends, so that squares do not show.
        rise, top = along.square() * (3 * width - 2 * along), width**3
        across = corners[:, :, cell] * (top - rise) + corners[:, :, cell + 1] * rise
        across = across // top
        rise = rise[:, None]
        down = (across[:, cell] * (top - rise) + across[:, cell + 1] * rise) // top
        total += down >> octave
    return total


def stretch(field: Int[Tensor, "n side side"]) -> Int[Tensor, "n side side"]:
    """Each field from 0 to 1."""
    low, high = field.amin((1, 2), keepdim=True), field.amax((1, 2), keepdim=True)
    return (field - low) * FULL // (high - low).clamp(min=1)
