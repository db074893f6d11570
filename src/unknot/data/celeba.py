"""CelebA from its authors' files."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from PIL import Image

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factor_table import FactorTable
from unknot.core.factors import Kind
from unknot.core.files import os_reason
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import decode_rows, small_color
from unknot.data.parts.grids import without_factors
from unknot.data.parts.images import Bytes
from unknot.data.parts.published import Published, locate
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import drive_source
from unknot.data.parts.trees import open_tree

WIDTH, HEIGHT, SIDE = 178, 218, 64
ATTRIBUTES = 40
SQUARE = 148
"""Side of the middle square of a cropped picture."""
WHAT = "the pictures of CelebA"
Part: TypeAlias = Literal["all", "train", "validation", "test"]
Crop: TypeAlias = Literal["none", "centre"]
PARTS: dict[Part, int] = {"train": 0, "validation": 1, "test": 2}
"""What the table of parts says."""


FILES = (
    drive_source(
        "img_align_celeba.zip",
        "0B7EVK8r0v71pZjFTYXZWM3FlRnM",
        size=1_443_490_838,
        sha256="46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
    ),
    drive_source(
        "list_attr_celeba.txt",
        "0B7EVK8r0v71pblRyaVFSWGxPY0U",
        size=26_721_026,
        sha256="f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
    ),
    drive_source(
        "list_eval_partition.txt",
        "0B7EVK8r0v71pY0NSMzRuSXJEVkk",
        size=2_836_386,
        sha256="fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7",
    ),
)


@dataclass(frozen=True)
class CelebA(PublishedImages):
    """CelebA: faces of celebrities, 64 x 64 in colour, labelled (download: 1.5 GB).

    The labels are 40 attributes, 0 or 1, which do not fill a grid. ``split = {kind = "published"}``
    divides all pictures into the parts of the authors.

    Paper: Liu et al. 2015, "Deep learning face attributes in the wild".

    Args:
        path: A folder with ``img_align_celeba.zip`` (or its folder ``img_align_celeba``),
            ``list_attr_celeba.txt`` and ``list_eval_partition.txt``; where `unknot data get` put
            them unless set.
        part: ``all`` pictures, or the authors' ``train``, ``validation`` or ``test``.
        crop: ``none`` squeezes the whole picture into the square (Hsu et al. 2023), ``centre``
            takes the middle 148 x 148 pixels.

    Example: `unknot.train(data.CelebA(part="train"))`
    """

    path: Place = None
    part: Part = "all"
    crop: Crop = "none"

    published: ClassVar[Published] = Published(
        "celeba",
        FILES,
        "research only, no passing on",
        (3, SIDE, SIDE),
        ("zip", "folder"),
        without_factors(202_599),
        labels="40 attributes of 2 values",
        resize="from 178 x 218 by Pillow's bicubic filter, whole or its middle square",
        private=True,
    )

    @property
    def decoding(self) -> dict[str, Any]:
        """What is taken of a picture."""
        return {"crop": self.crop}

    def load(self) -> FactorDataset:
        """All pictures of the part, as a memory map, in the order of their numbers.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        rows, stored = self._rows(), self.decode().stored
        attributes = self.labels()
        nominal: Kind = "nominal"
        table = FactorTable(
            tuple(attributes),
            (nominal,) * len(attributes),
            ((0, 1),) * len(attributes),
            torch.from_numpy(np.stack([*attributes.values()], axis=1)),
            torch.from_numpy(self._parts()) if self.part == "all" else None,
        )
        # The authors' parts are slices, which need no copy in memory.
        start, stop = int(rows[0]), int(rows[-1]) + 1
        is_slice = stop - start == len(rows)
        images = Bytes(stored[start:stop] if is_slice else stored[torch.from_numpy(rows)])
        return self.assemble(table, images)

    def chunks(self, files: list[Path]) -> Chunks:
        """Pictures in the order of their numbers."""
        place, attributes, _ = files
        names, _ = self._table(attributes, ATTRIBUTES, header=True)
        with open_tree(place, WHAT) as tree:
            members = {PurePosixPath(name).name: name for name in tree.names}
            if missing := [name for name in names if name not in members]:
                raise DataError(
                    f"'{place}' lacks {len(missing):,} pictures, {missing[0]} among them."
                )
            paths = [members[name] for name in names]
            yield from decode_rows(tree, paths, self._fit, WIDTH, HEIGHT)

    def check_labels(self) -> None:
        """Read parts and attributes."""
        self.labels()

    def labels(self) -> dict[str, Int64[np.ndarray, " n"]]:
        """Attributes by name, 0 or 1 for each picture of the part.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        _, attributes, _ = locate(self)
        values = self._table(attributes, ATTRIBUTES, header=True)[1][self._rows()]
        with attributes.open(encoding="utf-8") as file:
            names = file.readlines()[1].split()
        return {name: (values[:, i] > 0).astype(np.int64) for i, name in enumerate(names)}

    def _rows(self) -> Int64[np.ndarray, " rows"]:
        """Rows of the part, as the table of parts has them."""
        parts = self._parts()
        rows = np.flatnonzero(np.isin(parts, PARTS.get(self.part, parts)))
        if not len(rows):
            raise DataError(f"'{FILES[2].file}' names no picture of the part '{self.part}'.")
        return rows

    def _parts(self) -> Int64[np.ndarray, " rows"]:
        """The part of each picture."""
        file = locate(self)[2]
        parts = self._table(file, 1, header=False)[1][:, 0]
        if not np.isin(parts, [*PARTS.values()]).all():
            raise DataError(f"'{file}' should name the parts 0, 1 and 2; it has others.")
        return parts

    def _table(
        self, file: Path, columns: int, *, header: bool
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
        count = self.grid.size
        right = not header or (lines[0] == [str(count)] and len(lines[1]) == columns)
        expected = [f"{number:06}.jpg" for number in range(1, count + 1)]
        if names != expected or values.shape != (count, columns) or not right:
            raise DataError(
                f"'{file}' should name {count:,} pictures from 000001.jpg on, with {columns} "
                f"numbers each; it names {len(names):,}."
            )
        return names, values

    def _fit(self, picture: Image.Image) -> UInt8[np.ndarray, "3 side side"]:
        """A picture, or its middle square, squeezed to the side of ours."""
        if self.crop == "centre":
            left, top = (WIDTH - SQUARE) // 2, (HEIGHT - SQUARE) // 2
            picture = picture.crop((left, top, left + SQUARE, top + SQUARE))
        return small_color(picture, SIDE, "bicubic")
