"""Published datasets: what is known of them without their files, and where those lie."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import platformdirs

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.data.parts import cache
from unknot.data.parts.sources import Source, verify

ARCHIVES = (".zip", ".tar", ".tar.gz")
"""Endings of files that may also lie unpacked, as a folder."""


@dataclass(frozen=True)
class Published:
    """Facts of a published dataset.

    Args:
        name: What the registry calls it.
        files: All that it may need.
        licence: In a few words.
        shape: Channels, height and width, as usually loaded.
        forms: In which its files may lie, as people call them.
        space: The factors, as usually loaded; row numbers where they fill no grid. None for what
            has no images.
        labels: What a table of labels has, where factors fill no grid.
        resize: How images came to their size; empty where files have them so.
        private: Whether the licence forbids passing files on, so that users are asked first.
        verified: Forms in which the loader was checked on the real files.
    """

    name: str
    files: tuple[Source, ...]
    licence: str
    shape: tuple[int, int, int]
    forms: tuple[str, ...]
    space: FactorSpace | None
    labels: str = ""
    resize: str = ""
    private: bool = False
    verified: tuple[str, ...] = ()

    @property
    def images(self) -> int:
        """How many, as usually loaded."""
        return self.space.size if self.space else 0


@runtime_checkable
class PublishedDataset(Protocol):
    """A dataset whose files can be got by name."""

    published: ClassVar[Published]

    def sources(self) -> tuple[Source, ...]:
        """The files that these settings need: all, unless a dataset says which."""
        return self.published.files


def data_folder() -> Path:
    """Where files lie: ``UNKNOT_DATA``, or ``unknot`` in the user's folder for data."""
    if path_text := os.environ.get("UNKNOT_DATA"):
        return Path(path_text).expanduser()
    return platformdirs.user_data_path("unknot", appauthor=False)


def locate(dataset: Any) -> list[Path]:
    """The files of a published dataset: at its ``path`` if that is set, else where `get` puts them.

    ``path`` is the file, or a folder that has the files. An archive may be unpacked: then it is the
    folder. Files that lie in the data folder are checked against their checksums, once.

    Raises:
        DataError: One is not there, or is another file.
    """
    name, sources = dataset.published.name, dataset.sources()
    if dataset.path is not None:
        paths = _paths(Path(dataset.path).expanduser(), sources)
    else:
        paths = [data_folder() / name / source.file for source in sources]
    if missing := [path for path in paths if not (path.is_file() or path.is_dir())]:
        raise DataError(
            f"{name} needs {', '.join(path.name for path in missing)}, not found in "
            f"{missing[0].parent}; get it with `unknot data get {name}`, or say where it is with "
            "--set data.path=PATH."
        )
    if dataset.path is None:
        for source, path in zip(sources, paths, strict=True):
            verify(source, path)
    return paths


def missing_files(dataset: Any) -> dict[str, list[str]]:
    """Files that a dataset needs and that are not there, by the name that `unknot data get` takes.

    Those of published datasets that it is made of count, too; other datasets lack nothing.
    """
    missing = {}
    for part in (dataset, *getattr(dataset, "ingredients", ())):
        if not isinstance(part, PublishedDataset):
            continue
        if (path := getattr(part, "path", None)) is not None:
            files = [] if Path(path).expanduser().exists() else [path]
        else:
            folder = data_folder() / part.published.name
            files = [s.file for s in part.sources() if not (folder / s.file).is_file()]
        if files:
            missing[part.published.name] = files
    return missing


def cached_files(name: str) -> list[Path]:
    """What was made of a dataset and kept."""
    folder = cache.folder()
    entries = (path for path in (folder / name).rglob("*") if path.is_file())
    return sorted([*folder.glob(f"{name}-*.bin"), *entries])


def _paths(place: Path, sources: tuple[Source, ...]) -> list[Path]:
    """Files at a place that a user names: the only one itself, or those in a folder."""
    if len(sources) > 1:
        return [_unpacked(place / source.file) for source in sources]
    (source,) = sources
    path = place / source.file
    alone = not place.is_dir() or (source.file.endswith(ARCHIVES) and not path.is_file())
    return [place if alone else _unpacked(path)]


def _unpacked(path: Path) -> Path:
    """A file, or what it unpacks to if only that is there."""
    plain = path.with_suffix("")
    packed = path.suffix in (".gz", ".zip", ".tar")
    return plain if packed and plain.exists() and not path.is_file() else path
