"""Small gray images in MNIST's format: arrays of bytes behind a head of big-endian integers."""

import math
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import UInt8

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.data.parts.packed import read_packed
from unknot.data.parts.published import locate
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import Source, hosted_source
from unknot.data.parts.user_grid import without_factors

FULL = 28
"""Side of the images in the files."""
TRAIN_ROWS, TEST_ROWS = 60_000, 10_000
BYTES = 0x0800
"""What the first four bytes say of an array of bytes; the number of axes is added."""
FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
Part: TypeAlias = Literal["train", "test"]
Side: TypeAlias = Literal[28, 32, 64]
SPACE = without_factors(TRAIN_ROWS)
RESIZE = "none; 32 adds black pixels around, 64 doubles those"


def digit_sources(host: str, facts: tuple[tuple[int, str], ...]) -> tuple[Source, ...]:
    """Images and labels to train and to test, from sizes and SHA-256 in this order."""
    pairs = zip(FILES, facts, strict=True)
    return tuple(hosted_source(file, (host,), size, sha256) for file, (size, sha256) in pairs)


class Digits(PublishedImages):
    """A dataset in MNIST's format."""

    part: Part
    side: Side

    def sources(self) -> tuple[Source, ...]:
        """Images and labels of the part."""
        return self.published.files[:2] if self.part == "train" else self.published.files[2:]

    @property
    def grid(self) -> FactorSpace:
        """One row for each image of the part."""
        return super().grid if self.part == "train" else without_factors(TEST_ROWS)

    @property
    def image(self) -> tuple[int, int, int]:
        """One channel of the side that was asked for."""
        return 1, self.side, self.side

    def chunks(self, files: list[Path]) -> Chunks:
        """Images in the order of the file."""
        self.labels()  # refused now if they are not those of the images
        images = read_idx(files[0], (self.grid.size, FULL, FULL))[:, None]
        if self.side > FULL:
            images = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))
        if self.side == 64:
            images = images.repeat(2, axis=2).repeat(2, axis=3)
        yield images

    def labels(self) -> UInt8[np.ndarray, " n"]:
        """One number from 0 to 9 for each image.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        return read_idx(locate(self)[1], (self.grid.size,))


def read_idx(file: Path, shape: tuple[int, ...]) -> UInt8[np.ndarray, "..."]:
    """An array of bytes with the shape it should have.

    Raises:
        DataError: The file is damaged or another.
    """
    data = read_packed(file)
    head = b"".join(n.to_bytes(4, "big") for n in (BYTES + len(shape), *shape))
    if data[: len(head)] != head or len(data) != len(head) + math.prod(shape):
        raise DataError(f"'{file}' should have an array of bytes of the shape {shape}.")
    return np.frombuffer(data, np.uint8, offset=len(head)).reshape(shape)
