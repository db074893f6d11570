"""COIL-20 from its authors' archive."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from jaxtyping import UInt8

from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace, Kind
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import decode_rows, shrink_gray, small_gray
from unknot.data.parts.download import Source
from unknot.data.parts.grids import grid_order
from unknot.data.parts.mapped import map_images
from unknot.data.parts.npz import open_archive, read_array
from unknot.data.parts.published import Published, locate_tree
from unknot.data.parts.trees import open_tree, tree_files

NAMES = ("object", "view")
SIZES = (20, 72)
KINDS: tuple[Kind, ...] = ("nominal", "cyclic")
FULL = 128
"""Side of the pictures in the files."""
WHAT = "the archive of COIL-20"
Side: TypeAlias = Literal[64, 128]
FILE = Source(
    "coil-20-proc.zip",
    (
        "https://www.cs.columbia.edu/CAVE/databases/SLAM_coil-20_coil-100/coil-20/coil-20-proc.zip",
        "https://cave.cs.columbia.edu/old/databases/SLAM_coil-20_coil-100/coil-20/coil-20-proc.zip",
    ),
    about=12_100_000,
)


@dataclass(frozen=True)
class Coil20:
    """COIL-20: photographs of 20 things on a turntable, 5 degrees apart, gray (download: 12 MB).

    Paper: Nene et al. 1996, "Columbia object image library (COIL-20)".

    Args:
        path: The file ``coil-20-proc.zip``, a folder with its pictures ``obj1__0.png`` and so on,
            or an npz file with ``images``, ``object`` and ``view``; where `unknot data get` put it
            unless set.
        side: 64 (bilinear) or 128 pixels.
    """

    path: Place = None
    side: Side = 64

    published: ClassVar[Published] = Published(
        "coil20",
        (FILE,),
        "research only",
        1_440,
        (1, 64, 64),
        FactorSpace(NAMES, SIZES, KINDS),
        resize="from 128 x 128 by Pillow's bilinear filter; 128 on request",
        verified="checked on the real pictures, packed as npz; not on the zip file",
    )

    def __post_init__(self) -> None:
        check_choices(self, "side")

    def sources(self) -> tuple[Source, ...]:
        """The one archive."""
        return (FILE,)

    def load(self) -> FactorDataset:
        """All images, as a memory map.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        place = locate_tree(self)
        space = FactorSpace(NAMES, SIZES, KINDS)
        images = map_images(
            "coil20",
            tree_files(place),
            {"side": self.side},
            (space.size, 1, self.side, self.side),
            lambda: _chunks(place, space, self.side),
        )
        return FactorDataset("coil20", space, images)


def _chunks(
    place: Path, space: FactorSpace, side: int
) -> Iterator[UInt8[np.ndarray, "rows 1 h w"]]:
    if place.suffix == ".npz":
        with open_archive(place, WHAT) as archive:
            images = read_array(archive, "images", (space.size, FULL, FULL))
            columns = [read_array(archive, name, (space.size,)) for name in NAMES]
        if images.dtype != np.uint8 or any(column.dtype.kind not in "iu" for column in columns):
            kinds = ", ".join(str(array.dtype) for array in (images, *columns))
            raise DataError(
                f"'{place}' should have uint8 images and integers object and view; got {kinds}."
            )
        ordered = images[grid_order(space, columns, place)]
        yield ordered[:, None] if side == FULL else shrink_gray(ordered, side, "bilinear")
        return
    with open_tree(place, WHAT) as tree:
        numbers = {
            name: (int(match[1]) - 1, int(match[2]))
            for name in tree.names
            if (match := re.fullmatch(r"obj(\d+)__(\d+)\.png", PurePosixPath(name).name))
        }
        columns = [*np.array([*numbers.values()], np.int64).reshape(-1, 2).T]
        order = grid_order(space, columns, place)
        names = np.array([*numbers])[order].tolist()
        yield from decode_rows(
            tree, names, lambda picture: small_gray(picture, side, "bilinear"), FULL
        )
