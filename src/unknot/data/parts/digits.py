"""Sets of small gray images in MNIST's format: MNIST and Fashion-MNIST."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import UInt8

from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.data.parts.download import Source
from unknot.data.parts.idx import read_idx
from unknot.data.parts.mapped import map_images

FULL = 28
"""Side of the images in the files."""
Part: TypeAlias = Literal["train", "test"]
Side: TypeAlias = Literal[28, 32, 64]
RESIZE = "none; 32 adds black pixels around, 64 doubles those"


def digit_sources(
    hosts: tuple[str, ...], facts: tuple[tuple[int, str], ...]
) -> dict[Part, tuple[Source, Source]]:
    """Images and labels of both parts, from sizes and SHA-256 in this order."""
    files = (
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    )
    images, labels, test_images, test_labels = (
        Source(file, tuple(host + file for host in hosts), size=size, sha256=sha256)
        for file, (size, sha256) in zip(files, facts, strict=True)
    )
    return {"train": (images, labels), "test": (test_images, test_labels)}


def load_digits(name: str, file: Path, rows: int, side: int) -> FactorDataset:
    """Images in the order of the file.

    Raises:
        DataError: The file is damaged or another.
    """
    images = map_images(
        name, [file], {"side": side}, (rows, 1, side, side), lambda: _chunks(file, rows, side)
    )
    return FactorDataset(name, FactorSpace(("index",), (rows,), ("nominal",)), images)


def _chunks(file: Path, rows: int, side: int) -> Iterator[UInt8[np.ndarray, "rows 1 h w"]]:
    images = read_idx(file, (rows, FULL, FULL))[:, None]
    if side > FULL:
        images = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))
    if side == 64:
        images = images.repeat(2, axis=2).repeat(2, axis=3)
    yield images
