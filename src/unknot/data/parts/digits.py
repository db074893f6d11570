"""Small gray images in MNIST's format: arrays of bytes behind a head of big-endian integers."""

import math
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import UInt8

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factor_table import FactorTable
from unknot.core.factors import FactorSpace
from unknot.data.parts.grids import without_factors
from unknot.data.parts.published import locate
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import Source, hosted_source
from unknot.data.parts.trees import read_packed

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
Part: TypeAlias = Literal["train", "test", "all"]
Side: TypeAlias = Literal[28, 32, 64]
SPACE = without_factors(TRAIN_ROWS)
RESIZE = "none; 32 adds black pixels around, 64 doubles those"


def digit_sources(host: str, facts: tuple[tuple[int, str], ...]) -> tuple[Source, ...]:
    """Images and labels to train and to test, from sizes and SHA-256 in this order."""
    pairs = zip(FILES, facts, strict=True)
    return tuple(hosted_source(file, (host,), size, sha256) for file, (size, sha256) in pairs)


class Digits(PublishedImages):
    """A dataset in MNIST's format, with one label for each image."""

    part: Part
    side: Side
    label: ClassVar[str]
    """What the label is called."""
    classes: ClassVar[tuple[str, ...]]
    """Names of its values."""

    def sources(self) -> tuple[Source, ...]:
        """Images and labels of the part."""
        files = self.published.files
        return {"train": files[:2], "test": files[2:], "all": files}[self.part]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many images each file of images has."""
        train = super().grid.size
        return {"train": (train,), "test": (TEST_ROWS,), "all": (train, TEST_ROWS)}[self.part]

    @property
    def grid(self) -> FactorSpace:
        """One row for each image of the part."""
        return without_factors(sum(self.counts))

    @property
    def image(self) -> tuple[int, int, int]:
        """One channel of the side that was asked for."""
        return 1, self.side, self.side

    def load(self) -> FactorDataset:
        """All images of the part, with a table of labels.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        values = torch.from_numpy(self.labels().astype(np.int64))[:, None]
        parts = [torch.full((n,), 2 * place) for place, n in enumerate(self.counts)]
        split = torch.cat(parts) if self.part == "all" else None
        table = FactorTable((self.label,), ("nominal",), (self.classes,), values, split)
        return self.assemble(table, self.decode())

    def chunks(self, files: list[Path]) -> Chunks:
        """Images in the order of the files."""
        for file, count in zip(files[::2], self.counts, strict=True):
            images = read_idx(file, (count, FULL, FULL))[:, None]
            if self.side > FULL:
                images = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))
            if self.side == 64:
                images = images.repeat(2, axis=2).repeat(2, axis=3)
            yield images

    def check_labels(self) -> None:
        """Read the digits."""
        self.labels()

    def labels(self) -> UInt8[np.ndarray, " n"]:
        """One number from 0 to 9 for each image.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        pairs = zip(locate(self)[1::2], self.counts, strict=True)
        labels = np.concatenate([read_idx(file, (count,)) for file, count in pairs])
        if labels.max() >= len(self.classes):
            raise DataError(f"Labels of {self.published.name} should be numbers from 0 to 9.")
        return labels


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
