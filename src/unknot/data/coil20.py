"""COIL-20 from its authors' archive."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from jaxtyping import UInt8

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import decode_rows, shrink_gray, small_gray
from unknot.data.parts.grids import grid_order
from unknot.data.parts.npz import open_archive, read_array
from unknot.data.parts.published import Published
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import Source
from unknot.data.parts.trees import open_tree

SPACE = FactorSpace(("object", "view"), (20, 72), ("nominal", "cyclic"))
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
class Coil20(PublishedImages):
    """COIL-20: photographs of 20 things on a turntable, 5 degrees apart, gray (download: 12 MB).

    Paper: Nene et al. 1996, "Columbia object image library (COIL-20)".

    Args:
        path: The file ``coil-20-proc.zip``, a folder with its pictures ``obj1__0.png`` and so on,
            or an npz file with ``images``, ``object`` and ``view``; where `unknot data get` put it
            unless set.
        side: 64 (bilinear) or 128 pixels.

    Example: `unknot.train(data.Coil20(side=128))`
    """

    path: Place = None
    side: Side = 64

    published: ClassVar[Published] = Published(
        "coil20",
        (FILE,),
        "research only",
        (1, 64, 64),
        ("zip", "folder", "npz"),
        SPACE,
        resize="from 128 x 128 by Pillow's bilinear filter; 128 on request",
        verified=("npz",),
    )

    @property
    def image(self) -> tuple[int, int, int]:
        """One channel of the side that was asked for."""
        return 1, self.side, self.side

    def chunks(self, files: list[Path]) -> Chunks:
        """Photographs by object and view."""
        (place,) = files
        if place.suffix == ".npz":
            ordered = _read_npz(place, self.grid)
            small = self.side < FULL
            yield shrink_gray(ordered, self.side, "bilinear") if small else ordered[:, None]
            return
        with open_tree(place, WHAT) as tree:
            numbers = {
                name: (int(match[1]) - 1, int(match[2]))
                for name in tree.names
                if (match := re.fullmatch(r"obj(\d+)__(\d+)\.png", PurePosixPath(name).name))
            }
            columns = [*np.array([*numbers.values()], np.int64).reshape(-1, 2).T]
            names = np.array([*numbers])[grid_order(self.grid, columns, place)].tolist()
            yield from decode_rows(
                tree, names, lambda picture: small_gray(picture, self.side, "bilinear"), FULL
            )


def _read_npz(file: Path, space: FactorSpace) -> UInt8[np.ndarray, "n h w"]:
    """Photographs in the order of the grid."""
    with open_archive(file, WHAT) as archive:
        images = read_array(archive, "images", (space.size, FULL, FULL))
        columns = [read_array(archive, name, (space.size,)) for name in space.names]
    if images.dtype != np.uint8 or any(column.dtype.kind not in "iu" for column in columns):
        kinds = ", ".join(str(array.dtype) for array in (images, *columns))
        raise DataError(
            f"'{file}' should have uint8 images and integers object and view; got {kinds}."
        )
    ordered: np.ndarray = images[grid_order(space, columns, file)]
    return ordered
