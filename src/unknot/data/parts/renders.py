"""Rendered grids of numbered pictures with a table of labels: Falcor3D and Isaac3D."""

import io
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from unknot.core.errors import DataError
from unknot.data.parts.archived_pictures import decode_rows, small_color
from unknot.data.parts.grids import check_grid
from unknot.data.parts.images import BAD_ARCHIVE
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.trees import Tree, open_tree

FULL = 128
"""Side of the pictures in the files."""
Side: TypeAlias = Literal[64, 128]
RESIZE = "from 128 x 128 by Pillow's bicubic filter, rounded to 8 bits; 128 on request"


class Renders(PublishedImages):
    """Pictures ``images/NUMBER.png`` of a folder or archive, whose labels go through the grid."""

    side: Side
    table: ClassVar[str]
    """File name of the factor values."""

    @property
    def image(self) -> tuple[int, int, int]:
        """Colour images of the side that was asked for."""
        return 3, self.side, self.side

    def chunks(self, files: list[Path]) -> Chunks:
        """Pictures by their numbers."""
        (place,), space = files, self.grid
        with open_tree(place, f"the files of {self.published.name}") as tree:
            check_grid(space, _labels(tree, self.table, place), place)
            paths = [PurePosixPath(file) for file in tree.names]
            pictures = {
                int(p.stem): str(p)
                for p in paths
                if p.suffix == ".png" and p.parent.name == "images" and p.stem.isdecimal()
            }
            if sorted(pictures) != [*range(space.size)]:
                raise DataError(
                    f"'{place}' should have the pictures images/{0:06}.png to "
                    f"images/{space.size - 1:06}.png; it has {len(pictures):,} with numbers."
                )
            names = [pictures[number] for number in range(space.size)]
            yield from decode_rows(
                tree, names, lambda picture: small_color(picture, self.side, "bicubic"), FULL
            )


def _labels(tree: Tree, file: str, place: Path) -> np.ndarray:
    matches = [name for name in tree.names if PurePosixPath(name).name == file]
    if not matches:
        raise DataError(f"'{place}' has no '{file}'.")
    try:
        table = np.lib.format.read_array(io.BytesIO(tree.read(matches[0])), allow_pickle=False)
    except BAD_ARCHIVE as error:
        raise DataError(f"'{file}' in '{place}' is damaged; fetch it again.") from error
    if table.dtype.kind != "f" or not np.isfinite(table).all():
        raise DataError(f"'{file}' in '{place}' should hold finite numbers; got {table.dtype}.")
    array: np.ndarray = table
    return array
