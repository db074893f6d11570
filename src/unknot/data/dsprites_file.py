"""dSprites from its original archive."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import UInt8

from unknot.core.dataset import FactorDataset
from unknot.data.dsprites import MEAN, SPACE, STD
from unknot.data.parts import hdf5, npz
from unknot.data.parts.images import Bits
from unknot.data.parts.published import Published, PublishedDataset, locate
from unknot.data.parts.sources import Source
from unknot.data.parts.sprites import SIDE

CHUNK = 4096
WHAT = "the dSprites archive"
FILE = Source(
    "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
    tuple(
        "https://raw.githubusercontent.com/google-deepmind/dsprites-dataset/"
        f"{commit}/dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
        for commit in ("fa310c66517cfc1939d77fe17c725154efc97127", "master")
    ),
    about=26_000_000,
    sha256="857dc001287e8efa226e0025fac6b29e5745c621b380b0d3363e4e33f4e28fa2",
)


@dataclass(frozen=True)
class DSpritesFile(PublishedDataset):
    """dSprites from the original archive (download: 26 MB).

    Only the images are read, a few thousand at a time, so the 3 GB they unpack to are never in
    memory at once. The archive's pickled ``metadata`` is never opened.

    Paper: Matthey et al. 2017, "dSprites: disentanglement testing sprites dataset".

    Args:
        path: The file ``dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz``, or the same as
            ``.hdf5`` (needs h5py, the extra ``data``); where `unknot data get` put it unless set.
        standardize: Subtract the mean and divide by the deviation of Michlo 2022, table A.2.

    Example: `unknot.train(data.DSpritesFile("dsprites.npz"))`
    """

    # Not a Place: ids of runs had it before files were found by themselves.
    path: str | None = None
    standardize: bool = False

    published: ClassVar[Published] = Published(
        "dsprites_file", (FILE,), "Apache-2.0", (1, SIDE, SIDE), ("npz", "HDF5"), SPACE
    )

    def load(self) -> FactorDataset:
        """All images, one bit per pixel.

        Raises:
            DataError: The file is missing, damaged or not the dSprites archive.
        """
        (file,) = locate(self)
        packed = np.empty((SPACE.size, SIDE * SIDE // 8), np.uint8)
        start = 0
        for rows in _packed_rows(file):
            packed[start : start + len(rows)] = rows
            start += len(rows)
        images = Bits(torch.from_numpy(packed), (1, SIDE, SIDE))
        mean, std = (MEAN, STD) if self.standardize else ((), ())
        return FactorDataset("dsprites_file", SPACE, images, mean, std)


def _packed_rows(file: Path) -> Iterator[UInt8[np.ndarray, "rows bytes"]]:
    shape = (SPACE.size, SIDE, SIDE)
    if file.suffix in (".hdf5", ".h5"):
        with hdf5.open_hdf5(file, WHAT) as data:
            yield from map(_pack, hdf5.read_rows(data, "imgs", shape))
        return
    with npz.open_archive(file, WHAT) as archive:
        yield from map(_pack, npz.read_rows(archive, "imgs", shape, CHUNK))


def _pack(pixels: UInt8[np.ndarray, "rows h w"]) -> UInt8[np.ndarray, "rows bytes"]:
    if pixels.max() > 1:
        raise ValueError("'imgs' should hold 0 and 1 only")
    return np.packbits(pixels.reshape(len(pixels), -1), axis=1)
