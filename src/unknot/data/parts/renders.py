"""Rendered grids of numbered pictures with a table of labels: Falcor3D and Isaac3D."""

import io
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import UInt8

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.data.parts.archived_pictures import decode_rows, small_color
from unknot.data.parts.grids import check_grid
from unknot.data.parts.images import BAD_ARCHIVE, Bytes
from unknot.data.parts.mapped import map_images
from unknot.data.parts.trees import Tree, open_tree, tree_files

FULL = 128
"""Side of the pictures in the files."""
Side: TypeAlias = Literal[64, 128]
RESIZE = "from 128 x 128 by Pillow's bicubic filter, rounded to 8 bits; 128 on request"


def map_renders(name: str, place: Path, labels: str, space: FactorSpace, side: int) -> Bytes:
    """Pictures ``images/NUMBER.png`` of a folder or archive, whose labels go through the grid.

    Args:
        name: Of the dataset.
        place: The folder or archive.
        labels: File name of the table of factor values.
        space: The grid.
        side: Of the images.

    Raises:
        DataError: Files are missing, damaged or others.
    """
    return map_images(
        name,
        tree_files(place),
        {"side": side},
        (space.size, 3, side, side),
        lambda: _chunks(name, place, labels, space, side),
    )


def _chunks(
    name: str, place: Path, labels: str, space: FactorSpace, side: int
) -> Iterator[UInt8[np.ndarray, "rows 3 h w"]]:
    with open_tree(place, f"the files of {name}") as tree:
        check_grid(space, _labels(tree, labels, place), place)
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
        files = [pictures[number] for number in range(space.size)]
        yield from decode_rows(
            tree, files, lambda picture: small_color(picture, side, "bicubic"), FULL
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
