"""Tiny ImageNet: the training pictures of a course's challenge."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar

from unknot.core.errors import DataError
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import color, decode_rows
from unknot.data.parts.grids import without_factors
from unknot.data.parts.published import Published
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import Source
from unknot.data.parts.trees import open_tree

SIDE = 64
WHAT = "the archive of Tiny ImageNet"
FILE = Source(
    "tiny-imagenet-200.zip",
    ("http://cs231n.stanford.edu/tiny-imagenet-200.zip",),
    about=240_000_000,
    md5="90528d7ca1a48142e341f4ef8d21d0de",
)


@dataclass(frozen=True)
class TinyImageNet(PublishedImages):
    """Tiny ImageNet: 100,000 photographs, 64 x 64 in colour, no factors (download: 240 MB).

    Also the pictures of ``dsprites_imagenet`` with ``pictures = "tiny_imagenet"``.

    Paper: Le and Yang 2015, "Tiny ImageNet visual recognition challenge".

    Args:
        path: The file ``tiny-imagenet-200.zip``, or its folder; where `unknot data get` put it
            unless set.

    Example: `unknot.train(data.TinyImageNet())`
    """

    path: Place = None

    published: ClassVar[Published] = Published(
        "tiny_imagenet",
        (FILE,),
        "research only",
        (3, SIDE, SIDE),
        ("zip", "folder"),
        without_factors(100_000),
    )

    def chunks(self, files: list[Path]) -> Chunks:
        """All training pictures in the order of their paths."""
        (place,), count = files, self.grid.size
        with open_tree(place, WHAT) as tree:
            paths = [PurePosixPath(name) for name in tree.names]
            names = sorted(
                str(p)
                for p in paths
                if p.suffix == ".JPEG"
                and p.parent.name == "images"
                and p.parts[-4:-3] == ("train",)
            )
            if len(names) != count:
                raise DataError(
                    f"'{place}' should have {count:,} pictures train/*/images/*.JPEG; it has "
                    f"{len(names):,}."
                )
            yield from decode_rows(tree, names, color, SIDE)
