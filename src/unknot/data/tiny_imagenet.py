"""Tiny ImageNet: the training pictures of a course's challenge."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar

import numpy as np
from jaxtyping import UInt8

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import color, decode_rows
from unknot.data.parts.download import Source
from unknot.data.parts.images import Bytes
from unknot.data.parts.mapped import map_images
from unknot.data.parts.published import Published, locate_tree
from unknot.data.parts.trees import Tree, open_tree, tree_files

SIZES = (100_000,)
SIDE = 64
WHAT = "the archive of Tiny ImageNet"
FILE = Source(
    "tiny-imagenet-200.zip",
    ("http://cs231n.stanford.edu/tiny-imagenet-200.zip",),
    about=240_000_000,
    md5="90528d7ca1a48142e341f4ef8d21d0de",
)


@dataclass(frozen=True)
class TinyImageNet:
    """Tiny ImageNet: 100,000 photographs, 64 x 64 in colour, no factors (download: 240 MB).

    Also the pictures of ``dsprites_imagenet`` with ``pictures = "tiny_imagenet"``.

    Paper: Le and Yang 2015, "Tiny ImageNet visual recognition challenge".

    Args:
        path: The file ``tiny-imagenet-200.zip``, or its folder; where `unknot data get` put it
            unless set.
    """

    path: Place = None

    published: ClassVar[Published] = Published(
        "tiny_imagenet",
        (FILE,),
        "research only",
        SIZES[0],
        (3, SIDE, SIDE),
        None,
    )

    def sources(self) -> tuple[Source, ...]:
        """The one archive."""
        return (FILE,)

    def load(self) -> FactorDataset:
        """All training pictures in the order of their paths, as a memory map of 1.2 GB.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        images = self.pictures()
        space = FactorSpace(("index",), (len(images),), ("nominal",))
        return FactorDataset("tiny_imagenet", space, images)

    def pictures(self) -> Bytes:
        """The pictures alone."""
        place = locate_tree(self)

        def chunks() -> Iterator[UInt8[np.ndarray, "rows 3 h w"]]:
            with open_tree(place, WHAT) as tree:
                yield from decode_rows(tree, _training(tree, place), color, SIDE)

        return map_images("tiny_imagenet", tree_files(place), {}, (SIZES[0], 3, SIDE, SIDE), chunks)


def _training(tree: Tree, place: Path) -> list[str]:
    paths = [PurePosixPath(name) for name in tree.names]
    names = sorted(
        str(p)
        for p in paths
        if p.suffix == ".JPEG" and p.parent.name == "images" and p.parts[-4:-3] == ("train",)
    )
    if len(names) != SIZES[0]:
        raise DataError(
            f"'{place}' should have {SIZES[0]:,} pictures train/*/images/*.JPEG; it has "
            f"{len(names):,}."
        )
    return names
