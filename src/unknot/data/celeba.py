"""CelebA from its authors' files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Int64, UInt8

from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.files import os_reason
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import crop_color, decode_rows
from unknot.data.parts.download import Source, drive_address, drive_page
from unknot.data.parts.images import Bytes
from unknot.data.parts.mapped import map_images
from unknot.data.parts.published import Published, locate
from unknot.data.parts.trees import open_tree, tree_files

SIZES = (202_599,)
WIDTH, HEIGHT, SIDE = 178, 218, 64
ATTRIBUTES = 40
SQUARE = 148
"""Side of the middle square of a cropped picture."""
WHAT = "the pictures of CelebA"
FOLDER = "img_align_celeba"
Part: TypeAlias = Literal["all", "train", "validation", "test"]
Crop: TypeAlias = Literal["none", "centre"]
PARTS: dict[Part, int] = {"train": 0, "validation": 1, "test": 2}
"""What the table of parts says."""


def _source(file: str, drive: str, size: int, sha256: str) -> Source:
    return Source(file, (drive_address(drive),), size=size, sha256=sha256, page=drive_page(drive))


FILES = (
    _source(
        "img_align_celeba.zip",
        "0B7EVK8r0v71pZjFTYXZWM3FlRnM",
        1_443_490_838,
        "46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
    ),
    _source(
        "list_attr_celeba.txt",
        "0B7EVK8r0v71pblRyaVFSWGxPY0U",
        26_721_026,
        "f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
    ),
    _source(
        "list_eval_partition.txt",
        "0B7EVK8r0v71pY0NSMzRuSXJEVkk",
        2_836_386,
        "fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7",
    ),
)


@dataclass(frozen=True)
class CelebA:
    """CelebA: faces of celebrities, 64 x 64 in colour, no factors (download: 1.5 GB).

    `labels` gives the 40 attributes of each picture. They do not fill a grid.

    Paper: Liu et al. 2015, "Deep learning face attributes in the wild".

    Args:
        path: A folder with ``img_align_celeba.zip`` (or its folder ``img_align_celeba``),
            ``list_attr_celeba.txt`` and ``list_eval_partition.txt``; where `unknot data get` put
            them unless set.
        part: ``all`` pictures, or the authors' ``train``, ``validation`` or ``test``.
        crop: ``none`` squeezes the whole picture into the square (Hsu et al. 2023), ``centre``
            takes the middle 148 x 148 pixels.
    """

    path: Place = None
    part: Part = "all"
    crop: Crop = "none"

    published: ClassVar[Published] = Published(
        "celeba",
        FILES,
        "research only, no passing on",
        202_599,
        (3, SIDE, SIDE),
        None,
        resize="from 178 x 218 by Pillow's bicubic filter, whole or its middle square",
        private=True,
    )

    def __post_init__(self) -> None:
        check_choices(self, "part", "crop")

    def sources(self) -> tuple[Source, ...]:
        """Pictures, attributes and parts."""
        return FILES

    def load(self) -> FactorDataset:
        """All pictures of the part, as a memory map, in the order of their numbers.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        pictures, attributes, parts = _files(self)
        names = _table(attributes, ATTRIBUTES, header=True)[0]
        rows = self._rows(parts)
        stored = map_images(
            "celeba",
            tree_files(pictures),
            {"crop": self.crop},
            (len(names), 3, SIDE, SIDE),
            lambda: _chunks(pictures, names, self.crop),
        ).stored
        # The authors' parts are slices, which need no copy in memory.
        start, stop = int(rows[0]), int(rows[-1]) + 1
        whole = stop - start == len(rows)
        images = Bytes(stored[start:stop] if whole else stored[torch.from_numpy(rows)])
        return FactorDataset("celeba", FactorSpace(("index",), (len(rows),), ("nominal",)), images)

    def labels(self) -> dict[str, Int64[np.ndarray, " n"]]:
        """Attributes by name, 0 or 1 for each picture of the part.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        _, attributes, parts = _files(self)
        rows = self._rows(parts)
        with attributes.open(encoding="utf-8") as file:
            names = file.readlines()[1].split()
        values = _table(attributes, ATTRIBUTES, header=True)[1][rows]
        return {name: (values[:, i] > 0).astype(np.int64) for i, name in enumerate(names)}

    def _rows(self, file: Path) -> Int64[np.ndarray, " rows"]:
        """Rows of the part, as the table of parts has them."""
        parts = _table(file, 1, header=False)[1][:, 0]
        rows = np.flatnonzero(np.isin(parts, PARTS.get(self.part, parts)))
        if not len(rows):
            raise DataError(f"'{file}' names no picture of the part '{self.part}'.")
        return rows


def _files(dataset: CelebA) -> tuple[Path, Path, Path]:
    """Pictures, packed or not, attributes and parts."""
    if dataset.path is not None:
        place = Path(dataset.path).expanduser()
        folder, attributes, parts = (
            place / file for file in (FOLDER, FILES[1].file, FILES[2].file)
        )
        packed = (place / FILES[0].file).is_file()
        if folder.is_dir() and attributes.is_file() and parts.is_file() and not packed:
            return folder, attributes, parts
    pictures, attributes, parts = locate(dataset)
    return pictures, attributes, parts


def _table(
    file: Path, columns: int, *, header: bool
) -> tuple[list[str], Int64[np.ndarray, "n columns"]]:
    """File names and whole numbers of a table of words."""
    try:
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        body = lines[2:] if header else lines
        names = [line[0] for line in body]
        values = np.array([line[1:] for line in body], dtype=np.int64)
    except OSError as error:
        raise DataError(f"Cannot read '{file}': {os_reason(error)}.") from error
    except (ValueError, IndexError) as error:
        raise DataError(f"'{file}' is not a table of CelebA or is damaged.") from error
    right = not header or (lines[0] == [str(len(names))] and len(lines[1]) == columns)
    expected = [f"{number:06}.jpg" for number in range(1, SIZES[0] + 1)]
    if names != expected or values.shape != (len(names), columns) or not right:
        raise DataError(
            f"'{file}' should name {SIZES[0]:,} pictures from 000001.jpg on, with {columns} "
            f"numbers each; it names {len(names):,}."
        )
    return names, values


def _chunks(place: Path, names: list[str], crop: Crop) -> Iterator[UInt8[np.ndarray, "rows 3 h w"]]:
    square = SQUARE if crop == "centre" else None
    with open_tree(place, WHAT) as tree:
        files = {PurePosixPath(name).name: name for name in tree.names}
        if missing := [name for name in names if name not in files]:
            raise DataError(f"'{place}' lacks {len(missing):,} pictures, {missing[0]} among them.")
        paths = [files[name] for name in names]
        yield from decode_rows(tree, paths, lambda x: crop_color(x, square, SIDE), WIDTH, HEIGHT)
