"""Sprites: animated characters, put together from the parts of the Liberated Pixel Cup."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.places import Place
from unknot.data.parts.decoding import open_picture
from unknot.data.parts.published import Published
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import Source
from unknot.data.parts.trees import Tree, open_tree

PARTS = ("body", "bottomwear", "topwear", "hair")
"""What is laid over each other, in this order; the same shoes come last."""
SPACE = FactorSpace(
    (*PARTS, "action", "direction", "frame"), (6, 6, 6, 6, 3, 3, 8), ("nominal",) * 6 + ("cyclic",)
)
SHOES = 1
SIDE = 64
SHEET = (832, 1344)
"""Width and height of a sheet: 13 x 21 cells."""
# Rows of the cells by direction (front, left, right) and columns by frame: go, cast a spell, slash.
CELLS = (
    ((10, 9, 11), (8, 1, 2, 3, 4, 5, 6, 7)),
    ((2, 1, 3), (0, 1, 2, 3, 4, 5, 4, 6)),
    ((14, 13, 15), (0, 1, 2, 3, 4, 5, 4, 0)),
)
COMMIT = "3ce4048c5227802bd8f1888e293fd3afdba91c0c"
FILE = Source(
    "Sprites.zip",
    (f"https://codeload.github.com/YingzhenLi/Sprites/zip/{COMMIT}",),
    note="The parts of the pictures at one commit of their repository, as a zip file.",
)


@dataclass(frozen=True)
class Sprites(PublishedImages):
    """Sprites: 1,296 characters in 9 actions of 8 frames, 64 x 64 in colour (small download).

    Characters are put together from sheets of body, clothes and hair on black. The actions are to
    go, to cast a spell and to slash, seen from the front, the left and the right.

    Paper: Li and Mandt 2018, "Disentangled sequential autoencoder".
    Differs: the paper's program divides by 256; here 255 is 1, as everywhere.

    Args:
        path: The zip file of the repository, or its folder with ``body``, ``bottomwear``,
            ``topwear``, ``hair`` and ``shoes``; where `unknot data get` put it unless set.

    Example: `unknot.train(data.Sprites("sprites/"))`
    """

    path: Place = None

    published: ClassVar[Published] = Published(
        "sprites",
        (FILE,),
        "CC BY-SA 3.0 or GPL-3.0 (Liberated Pixel Cup, Universal LPC sprite sheet)",
        (3, SIDE, SIDE),
        ("zip", "folder"),
        SPACE,
        verified=("folder",),
    )

    def chunks(self, files: list[Path]) -> Chunks:
        """All cells of one character after the other."""
        (place,), sizes = files, self.grid.sizes[: len(PARTS)]
        with open_tree(place, "the parts of Sprites") as tree:
            sheets = {
                part: [_sheet(tree, place, part, number) for number in range(size)]
                for part, size in zip(PARTS, sizes, strict=True)
            }
            shoes = _sheet(tree, place, "shoes", SHOES)
        rows = [row for lines, _ in CELLS for row in lines for _ in range(8)]
        columns = [column for lines, frames in CELLS for _ in lines for column in frames]
        for numbers in np.ndindex(*sizes):
            parts = [sheets[part][number] for part, number in zip(PARTS, numbers, strict=True)]
            sheet = _layer([*parts, shoes])
            cells = sheet.reshape(SHEET[1] // SIDE, SIDE, SHEET[0] // SIDE, SIDE, 3)
            yield cells.transpose(0, 2, 4, 1, 3)[rows, columns]


def _sheet(tree: Tree, place: Path, part: str, number: int) -> UInt8[np.ndarray, "h w 4"]:
    """A sheet of one part with its opacity."""
    for name in tree.names:
        path = PurePosixPath(name)
        if path.name == f"{number}.png" and path.parent.name == part:
            return _read_sheet(tree.read(name), f"{place}: {name}")
    raise DataError(f"'{place}' has no picture {part}/{number}.png of the parts of Sprites.")


def _read_sheet(data: bytes, where: str) -> UInt8[np.ndarray, "h w 4"]:
    try:
        sheet = open_picture(data, lambda picture: np.asarray(picture.convert("RGBA")), ("PNG",))
    except ValueError as error:
        raise DataError(f"Cannot read the picture '{where}'; fetch it again.") from error
    if sheet.shape != (SHEET[1], SHEET[0], 4):
        raise DataError(f"The picture '{where}' should have {SHEET[0]} x {SHEET[1]} pixels.")
    return sheet


def _layer(sheets: Sequence[UInt8[np.ndarray, "h w 4"]]) -> UInt8[np.ndarray, "h w 3"]:
    """Pictures laid over each other on black, the first lowest."""
    under = Image.new("RGBA", SHEET, "black")
    for sheet in sheets:
        under.alpha_composite(Image.fromarray(sheet))
    return np.asarray(under)[..., :3]
