"""MPI3D from its authors' archives."""

import hashlib
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from jaxtyping import Int64, UInt8

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.places import Place
from unknot.data.parts.npz import open_archive, read_rows
from unknot.data.parts.published import Published
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import Source, drive_source

SPACE = FactorSpace(
    ("colour", "shape", "size", "camera", "background", "horizontal", "vertical"),
    (6, 6, 2, 3, 3, 40, 40),
    ("nominal", "nominal", "ordered", "ordered", "nominal", "ordered", "ordered"),
)
COMPLEX = replace(SPACE, sizes=(4, 4, 2, 3, 3, 40, 40))
"""Four things in four colours."""
SIDE = 64
ROWS = 2048
WHAT = "an archive of MPI3D"
POSITIONS = 40
"""Of an arm; with fewer, neighbours need not look alike."""
PAIRS = 256
"""Of neighbours, and of distant images, that are compared."""
ALIKE = 0.8
"""Most of the difference of distant images that neighbours may have; in disorder it is about 1."""
HUB = "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/"
Variant: TypeAlias = Literal["toy", "realistic", "real", "real_complex"]
FILES: dict[str, Source] = {
    **{
        variant: Source(
            f"mpi3d_{variant}.npz", (f"{HUB}mpi3d_{variant}.npz",), about=12_740_000_000
        )
        for variant in ("toy", "realistic", "real")
    },
    "real_complex": drive_source(
        "real3d_complicated_shapes_ordered.npz",
        "1Tp8eTdHxgUMtsZv5uAoYAbJR1BOa_OQm",
        about=5_662_000_000,
    ),
}
IMAGES_SHA256 = {"realistic": "f6124f358e02846695cb3795acf8714f990c84cf02d495796898c133cf1ae866"}
"""Of ``images.npy`` in the archive, where others have published it."""


@dataclass(frozen=True)
class MPI3D(PublishedImages):
    """MPI3D: an object on a robot's arm, 64 x 64 in colour (download: up to 12.7 GB a variant).

    Papers that say MPI3D mean different variants; name yours. Images are read once into a memory
    map of 12.7 GB (5.7 GB for ``real_complex``) in the cache folder.

    Paper: Gondal et al. 2019, "On the transfer of inductive bias from simulation to the real world:
    a new disentanglement dataset".

    Args:
        variant: ``toy`` and ``realistic`` are rendered, ``real`` is photographs, ``real_complex``
            is photographs of four everyday things in four colours.
        path: The npz file of the variant; where `unknot data get` put it unless set.

    Example: `unknot.train(data.MPI3D(variant="realistic"))`
    """

    variant: Variant = "toy"
    path: Place = None

    published: ClassVar[Published] = Published(
        "mpi3d", tuple(FILES.values()), "CC BY 4.0", (3, SIDE, SIDE), ("npz",), SPACE
    )

    def sources(self) -> tuple[Source, ...]:
        """The file of the variant."""
        return (FILES[self.variant],)

    @property
    def grid(self) -> FactorSpace:
        """The factors of the variant."""
        return COMPLEX if self.variant == "real_complex" else super().grid

    def chunks(self, files: list[Path]) -> Chunks:
        """Images in the order of the file; at the end their order and bytes are checked."""
        (file,), space = files, self.grid
        compared, frames = _compared_rows(space), []
        sha256 = IMAGES_SHA256.get(self.variant)
        digest = hashlib.sha256() if sha256 else None
        start = 0
        with open_archive(file, WHAT) as archive:
            for rows in read_rows(archive, "images", (space.size, SIDE, SIDE, 3), ROWS, digest):
                inside = compared[(compared >= start) & (compared < start + len(rows))]
                frames.append(rows[inside - start])
                start += len(rows)
                yield rows.transpose(0, 3, 1, 2)
        if space.sizes[-1] >= POSITIONS:
            _check_order(np.concatenate(frames), file)
        # A warning: the checksum is not the authors' own.
        if digest and digest.hexdigest() != sha256:
            warnings.warn(
                f"The images of '{file}' have the sha256 {digest.hexdigest()}, not the published "
                f"{sha256}; scores on them may not compare with those of others.",
                stacklevel=2,
            )


def _compared_rows(space: FactorSpace) -> Int64[np.ndarray, " rows"]:
    """Rows all over the grid, each with the next, in which the arm has moved by one step."""
    rows = np.arange(PAIRS) * (space.size // PAIRS)
    rows -= rows % space.sizes[-1] == space.sizes[-1] - 1
    return np.unique(np.concatenate([rows, rows + 1]))


def _check_order(frames: UInt8[np.ndarray, "rows h w c"], file: Path) -> None:
    """Refuse images that are out of order: a file of 2024 had the right shape and was not sound.

    Distant images must differ in the arm's position too, as near ones do: an arm covers much more
    than the object whose colour or shape changes most slowly.
    """
    first, second = frames[0::2].astype(np.int16), frames[1::2]
    # Another distance in the grid for each pair, never none and never half of the grid.
    distant = first[(101 * np.arange(PAIRS) + 37) % PAIRS]
    near, far = np.abs(first - second).mean(), np.abs(first - distant).mean()
    if near > ALIKE * far:
        raise DataError(
            f"Neighbouring images of '{file}' differ as much as distant ones, so it is damaged; "
            "remove it and get it again."
        )
