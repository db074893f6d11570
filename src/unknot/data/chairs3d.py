"""3D Chairs from its authors' archive."""

import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import decode_rows
from unknot.data.parts.grids import grid_order, ranks
from unknot.data.parts.images import Bytes, StoredVariants
from unknot.data.parts.published import Published
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import Source
from unknot.data.parts.trees import open_tree

SPACE = FactorSpace(
    ("model", "azimuth", "elevation"), (1393, 31, 2), ("nominal", "cyclic", "ordered")
)
FULL, SIDE = 600, 64
"""Of pictures in the files and of ours."""
WHITE = 250
"""Level from which all channels count as background."""
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
class Chairs3D(PublishedImages):
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

    Example: `unknot.train(data.Chairs3D(part="train"))`
    """

    path: Place = None
    part: Part = "all"
    model: bool = True

    published: ClassVar[Published] = Published(
        "chairs3d",
        (FILE,),
        "research only",
        (1, SIDE, SIDE),
        ("tar", "folder"),
        SPACE,
        resize="from 600 x 600: masks averaged over what a pixel covers, then cut at a half",
    )

    def load(self) -> FactorDataset:
        """All masks of the part, as a memory map.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        stored, space = self.decode().stored, self.grid
        models, *views = space.sizes
        cut = int(TRAIN * models)
        first, last = {"all": (0, models), "train": (0, cut), "test": (cut, models)}[self.part]
        part = Bytes(stored[first * space.strides[0] : last * space.strides[0]])
        if self.model:
            return self.assemble(replace(space, sizes=(last - first, *views)), part)
        space = FactorSpace(space.names[1:], tuple(views), space.kinds[1:])
        return self.assemble(space, StoredVariants(part, last - first))

    def chunks(self, files: list[Path]) -> Chunks:
        """Masks by model and by the angles that file names have."""
        (place,) = files
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
                ranks(np.array(column)[:, None])[:, 0]
                for column in zip(*views.values(), strict=True)
            ]
            names = np.array([*views])[grid_order(self.grid, columns, place)].tolist()
            yield from decode_rows(tree, names, _mask, FULL)


def _mask(picture: Image.Image) -> UInt8[np.ndarray, "1 side side"]:
    """White where at least half of what a pixel covers is not the white background."""
    inside = np.asarray(picture.convert("RGB")).min(2) < WHITE
    mask = Image.fromarray(inside.astype(np.uint8) * 255).resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.where(np.asarray(mask) >= 128, np.uint8(255), np.uint8(0))[None]
