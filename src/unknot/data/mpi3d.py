"""MPI3D from its authors' archives."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import UInt8

from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace, Kind
from unknot.core.places import Place
from unknot.data.parts.download import Source, drive_address, drive_page
from unknot.data.parts.images import Bytes
from unknot.data.parts.mapped import map_images
from unknot.data.parts.npz import open_archive, read_rows
from unknot.data.parts.published import Published, locate

NAMES = ("colour", "shape", "size", "camera", "background", "horizontal", "vertical")
SIZES = (6, 6, 2, 3, 3, 40, 40)
COMPLEX_SIZES = (4, 4, 2, 3, 3, 40, 40)
KINDS: tuple[Kind, ...] = (
    "nominal", "nominal", "ordered", "ordered", "nominal", "ordered", "ordered",
)  # fmt: skip
SIDE = 64
ROWS = 2048
WHAT = "an archive of MPI3D"
POSITIONS = 40
"""Of an arm; with fewer, neighbours need not look alike."""
HUB = "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/"
DRIVE = "1Tp8eTdHxgUMtsZv5uAoYAbJR1BOa_OQm"
Variant: TypeAlias = Literal["toy", "realistic", "real", "real_complex"]
FILES: dict[str, Source] = {
    **{
        variant: Source(
            f"mpi3d_{variant}.npz", (f"{HUB}mpi3d_{variant}.npz",), about=12_740_000_000
        )
        for variant in ("toy", "realistic", "real")
    },
    "real_complex": Source(
        "real3d_complicated_shapes_ordered.npz",
        (drive_address(DRIVE),),
        about=5_662_000_000,
        page=drive_page(DRIVE),
    ),
}


@dataclass(frozen=True)
class MPI3D:
    """MPI3D: an object on a robot's arm, 64 x 64 in colour (download: up to 12.7 GB a variant).

    Papers that say MPI3D mean different variants; name yours. Images are read once into a memory
    map of 12.7 GB (5.7 GB for ``real_complex``) in the cache folder.

    Paper: Gondal et al. 2019, "On the transfer of inductive bias from simulation to the real world:
    a new disentanglement dataset".

    Args:
        variant: ``toy`` and ``realistic`` are rendered, ``real`` is photographs, ``real_complex``
            is photographs of four everyday things in four colours.
        path: The npz file of the variant; where `unknot data get` put it unless set.
    """

    variant: Variant = "toy"
    path: Place = None

    published: ClassVar[Published] = Published(
        "mpi3d",
        tuple(FILES.values()),
        "CC BY 4.0",
        1_036_800,
        (3, SIDE, SIDE),
        FactorSpace(NAMES, SIZES, KINDS),
    )

    def __post_init__(self) -> None:
        check_choices(self, "variant")

    def sources(self) -> tuple[Source, ...]:
        """The file of the variant."""
        return (FILES[self.variant],)

    def load(self) -> FactorDataset:
        """All images, as a memory map.

        Raises:
            DataError: The file is missing, damaged or another.
        """
        (file,) = locate(self)
        space = FactorSpace(NAMES, COMPLEX_SIZES if "complex" in self.variant else SIZES, KINDS)
        images = map_images(
            "mpi3d",
            [file],
            {},
            (space.size, 3, SIDE, SIDE),
            lambda: _chunks(file, space.size),
        )
        _check_neighbors(images, space, file)
        return FactorDataset("mpi3d", space, images)


def _chunks(file: Path, size: int) -> Iterator[UInt8[np.ndarray, "rows 3 h w"]]:
    with open_archive(file, WHAT) as archive:
        for rows in read_rows(archive, "images", (size, SIDE, SIDE, 3), ROWS):
            yield rows.transpose(0, 3, 1, 2)


def _check_neighbors(images: Bytes, space: FactorSpace, file: Path) -> None:
    """Refuse images that are out of order: a file of 2024 had the right shape and was not sound."""
    if space.sizes[-1] < POSITIONS:
        return
    rows = torch.arange(256) * (space.size // 256)
    rows = rows - (rows % space.sizes[-1] == space.sizes[-1] - 1).long()
    these, beside = (images.pixels(r) for r in (rows, rows + 1))
    near, far = (these - beside).abs().mean(), (these - these.roll(128, 0)).abs().mean()
    if near > far / 2:
        raise DataError(
            f"Neighbouring images of '{file}' differ as much as distant ones, so it is damaged; "
            "remove it and get it again."
        )
