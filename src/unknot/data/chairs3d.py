"""3D Chairs from its authors' archive."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from jaxtyping import UInt8

from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset, Images
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace, Kind
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import chair_mask, decode_rows
from unknot.data.parts.download import Source
from unknot.data.parts.grids import grid_order, ranks
from unknot.data.parts.images import Bytes
from unknot.data.parts.mapped import map_images
from unknot.data.parts.published import Published, locate_tree
from unknot.data.parts.trees import open_tree, tree_files
from unknot.data.parts.variants import StoredVariants

NAMES = ("model", "azimuth", "elevation")
SIZES = (1393, 31, 2)
KINDS: tuple[Kind, ...] = ("nominal", "cyclic", "ordered")
FULL, SIDE = 600, 64
"""Of pictures in the files and of ours."""
TRAIN = 0.8
"""Share of the models to train with, as in Kumar et al. 2018."""
WHAT = "the archive of 3D Chairs"
Part: TypeAlias = Literal["all", "train", "test"]
FILE = Source(
    "rendered_chairs.tar",
    ("https://www.di.ens.fr/willow/research/seeing3Dchairs/data/rendered_chairs.tar",),
    about=1_000_000_000,
)


@dataclass(frozen=True)
class Chairs3D:
    """3D Chairs: masks of 1,393 chairs from 62 sides, 64 x 64 (download: about 1 GB).

    A pixel is white where the chair covers at least half of it; the pictures have a white
    background. Models are numbered by the names of their folders.

    Paper: Aubry et al. 2014, "Seeing 3D chairs: exemplar part-based 2D-3D alignment using a large
    dataset of CAD models"; as masks with two factors, Kumar et al. 2018, "Variational inference of
    disentangled latent concepts from unlabeled observations".
    Differs: Kumar et al. take 809 models that are no near duplicates, by a list that is not
    published with the files; here there are all, and parts are of all. How they made the masks is
    not said.

    Args:
        path: The file ``rendered_chairs.tar``, or the folder ``rendered_chairs``; where
            `unknot data get` put it unless set.
        part: ``all`` models, the first 80 % to ``train``, or the others to ``test``.
        model: Whether the model is a factor. If not, as in Kumar et al. 2018, training draws one
            whenever it comes to a row.
    """

    path: Place = None
    part: Part = "all"
    model: bool = True

    published: ClassVar[Published] = Published(
        "chairs3d",
        (FILE,),
        "research only",
        86_366,
        (1, SIDE, SIDE),
        FactorSpace(NAMES, SIZES, KINDS),
        resize="from 600 x 600: masks averaged over what a pixel covers, then cut at a half",
    )

    def __post_init__(self) -> None:
        check_choices(self, "part")

    def sources(self) -> tuple[Source, ...]:
        """The one archive."""
        return (FILE,)

    def load(self) -> FactorDataset:
        """All masks of the part, as a memory map.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        place = locate_tree(self)
        space = FactorSpace(NAMES, SIZES, KINDS)
        stored = map_images(
            "chairs3d",
            tree_files(place),
            {},
            (space.size, 1, SIDE, SIDE),
            lambda: _chunks(place, space),
        ).stored
        cut = int(TRAIN * SIZES[0])
        first, last = {"all": (0, SIZES[0]), "train": (0, cut), "test": (cut, SIZES[0])}[self.part]
        views = space.strides[0]
        part = Bytes(stored[first * views : last * views])
        images: Images = part
        space = FactorSpace(NAMES, (last - first, *SIZES[1:]), KINDS)
        if not self.model:
            images = StoredVariants(part, last - first)
            space = FactorSpace(NAMES[1:], SIZES[1:], KINDS[1:])
        return FactorDataset("chairs3d", space, images)


def _chunks(place: Path, space: FactorSpace) -> Iterator[UInt8[np.ndarray, "rows 1 h w"]]:
    with open_tree(place, WHAT) as tree:
        views = {
            name: (path.parent.parent.name, int(match[2]), int(match[1]))
            for name in tree.names
            for path in [PurePosixPath(name)]
            if (match := re.fullmatch(r"image_\d+_p(\d+)_t(\d+)_r\d+\.png", path.name))
            and path.parent.name == "renders"
        }
        if not views:
            raise DataError(f"'{place}' has no pictures MODEL/renders/image_*.png.")
        columns = [
            ranks(np.array(column)[:, None])[:, 0] for column in zip(*views.values(), strict=True)
        ]
        order = grid_order(space, columns, place)
        names = np.array([*views])[order].tolist()
        yield from decode_rows(tree, names, lambda picture: chair_mask(picture, SIDE), FULL)
