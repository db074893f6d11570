"""Published datasets whose images are decoded once and mapped from the cache from then on."""

import math
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import UInt8

from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset, Images
from unknot.core.errors import WriteError
from unknot.core.factor_table import Space
from unknot.core.factors import FactorSpace
from unknot.data.parts import shelf
from unknot.data.parts.images import Bytes, as_tensor
from unknot.data.parts.published import PublishedDataset, locate
from unknot.data.parts.trees import tree_files

IN_MEMORY = 1 << 30
"""Bytes up to which images that cannot be cached stay in memory."""
Chunks: TypeAlias = Iterator[UInt8[np.ndarray, "rows c h w"]]


class PublishedImages(PublishedDataset):
    """A published dataset of images: an entry states its facts and how its files are decoded."""

    def __post_init__(self) -> None:
        check_choices(self)

    @property
    def grid(self) -> FactorSpace:
        """The rows that are decoded, in their order."""
        if self.published.space is None:
            raise AssertionError(f"{self.published.name} has no images")
        return self.published.space

    @property
    def image(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.published.shape

    @property
    def decoding(self) -> Mapping[str, Any]:
        """Settings that decide what is decoded, beside the size of images; as plain values."""
        return {}

    @property
    def constants(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and deviation of channels to standardise by; none for images in [0, 1]."""
        return (), ()

    @abstractmethod
    def chunks(self, files: list[Path]) -> Chunks:
        """The images that files have, from the first row to the last."""

    def decode(self, on_progress: shelf.Progress = lambda *_: None) -> Bytes:
        """All images from the cache; they are put there if they are not in it yet.

        Args:
            on_progress: Told how many images are decoded, and of how many.
        """
        files = locate(self)
        shape = (self.grid.size, *self.image)
        return map_images(
            self.published.name,
            files,
            self.decoding,
            shape,
            lambda: _count(self._checked(files), shape[0], on_progress),
        )

    def check_labels(self) -> None:
        """Read what lies beside the images, where anything does.

        Raises:
            DataError: It is damaged.
        """

    def _checked(self, files: list[Path]) -> Chunks:
        """Images whose labels are whole: nothing is left in the cache of others."""
        self.check_labels()
        yield from self.chunks(files)

    def load(self) -> FactorDataset:
        """All images, as a memory map.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        return self.assemble(self.grid, self.decode())

    def assemble(self, space: Space, images: Images) -> FactorDataset:
        """A dataset of images as they are given, standardised where the settings say so."""
        return FactorDataset(self.published.name, space, images, *self.constants)


def decode_files(settings: Any, update: Callable[[int, int], None]) -> None:
    """Decode the files of a published dataset into the cache, where that is still to be done.

    Args:
        settings: Of any dataset.
        update: Told how many images are decoded, and of how many.
    """
    for part in (settings, *getattr(settings, "ingredients", ())):
        if isinstance(part, PublishedImages):
            part.decode(update)


def map_images(
    name: str,
    files: Sequence[Path],
    settings: Mapping[str, Any],
    shape: tuple[int, int, int, int],
    chunks: Callable[[], Chunks],
) -> Bytes:
    """Images from the cache where they are there and sound, else made and put there.

    Args:
        name: Of the dataset.
        files: What they are made from; of a folder, all that is in it.
        settings: What else decides them, as plain values.
        shape: Of all images.
        chunks: Makes them, from the first row to the last.

    Raises:
        WriteError: They are too large for memory and cannot be written.
    """
    key, size = _key(files, settings, shape), math.prod(shape)
    entry = shelf.recall(key, name)
    if entry is None:
        try:
            entry = shelf.put(key, chunks(), dict, size, name)
        except WriteError as error:
            if size > IN_MEMORY:
                raise
            warnings.warn(f"{name} could not be cached and stays in memory. {error}", stacklevel=2)
            return Bytes(torch.from_numpy(np.concatenate([*chunks()])))
    if entry.pixels.shape != shape:
        raise AssertionError(f"{name} has images {entry.pixels.shape}, not {shape}")
    return Bytes(as_tensor(entry.pixels))


def _key(files: Sequence[Path], settings: Mapping[str, Any], shape: tuple[int, ...]) -> str:
    """A name for names, sizes and times of files, and what is made of them."""
    paths = [path for file in files for path in tree_files(file)]
    # Files of different folders may have the same names.
    common = Path(os.path.commonpath(paths))
    folder = common if common.is_dir() else common.parent
    stats = [(path.relative_to(folder).as_posix(), path.stat()) for path in paths]
    facts = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    return shelf.make_key(facts, dict(settings), shape)


def _count(chunks: Chunks, total: int, on_progress: shelf.Progress) -> Chunks:
    count = 0
    for chunk in chunks:
        yield chunk
        count += len(chunk)
        on_progress(count, total)
