"""dSprites from its original archive."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.data.dsprites import MEAN, SPACE, STD
from unknot.data.parts.images import BAD_ARCHIVE, Bits
from unknot.data.parts.sprites import SIDE

CHUNK = 4096


@dataclass(frozen=True)
class DSpritesFile:
    """dSprites from the original archive (needs the npz file).

    Only the images are read, a few thousand at a time, so the 3 GB they unpack to are never in
    memory at once. The archive's pickled ``metadata`` is never opened.

    Args:
        path: The npz file ``dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz``.
        standardize: Subtract the mean and divide by the deviation of Michlo 2022, table A.2.
    """

    path: str
    standardize: bool = False

    def load(self) -> FactorDataset:
        """All images, one bit per pixel.

        Raises:
            DataError: The file is missing, damaged or not the dSprites archive.
        """
        try:
            with zipfile.ZipFile(Path(self.path).expanduser()) as archive:
                packed = _pack(archive)
        except OSError as error:
            raise DataError(
                f"Cannot read the dSprites archive '{self.path}': {error.strerror}."
            ) from error
        except KeyError as error:
            raise DataError(
                f"'{self.path}' has no array 'imgs'; it is not the dSprites archive."
            ) from error
        except BAD_ARCHIVE as error:
            raise DataError(
                f"'{self.path}' is not the dSprites archive or is damaged ({error}); "
                "fetch it again."
            ) from error
        images = Bits(torch.from_numpy(packed), (1, SIDE, SIDE))
        mean, std = (MEAN, STD) if self.standardize else ((), ())
        return FactorDataset("dsprites_file", SPACE, images, mean, std)


def _pack(archive: zipfile.ZipFile) -> UInt8[np.ndarray, "size bytes"]:
    """Bits of the array ``imgs``; ValueError or EOFError where it is not what it should be."""
    packed = np.empty((SPACE.size, SIDE * SIDE // 8), np.uint8)
    with archive.open("imgs.npy") as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("'imgs' has another npy version than 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        expected = (SPACE.size, SIDE, SIDE)
        if shape != expected or fortran or dtype != np.uint8:
            raise ValueError(f"'imgs' should be uint8 {expected}; got {dtype} {shape}")
        for start in range(0, SPACE.size, CHUNK):
            rows = packed[start : start + CHUNK]
            data = file.read(len(rows) * SIDE * SIDE)
            if len(data) != len(rows) * SIDE * SIDE:
                raise EOFError("'imgs' ends early")
            pixels = np.frombuffer(data, np.uint8).reshape(len(rows), -1)
            if pixels.max() > 1:
                raise ValueError("'imgs' should hold 0 and 1 only")
            rows[:] = np.packbits(pixels, axis=1)
        if file.read(1):  # reading to the end is also what makes zipfile compare the checksum
            raise ValueError("'imgs' holds more than its header says")
    return packed
