"""Published datasets: what is known of them without their files, and where those lie."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import platformdirs

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.data.parts import cache
from unknot.data.parts.download import Source, verify


@dataclass(frozen=True)
class Published:
    """Facts of a published dataset.

    Args:
        name: What the registry calls it.
        files: All that it may need.
        licence: In a few words.
        images: How many, as usually loaded.
        shape: Channels, height and width, as usually loaded.
        space: The factors; None where they fill no grid.
        resize: How images came to their size; empty where files have them so.
        private: Whether the licence forbids passing files on, so that users are asked first.
        verified: How the loader was checked against the real file; empty if it was not.
    """

    name: str
    files: tuple[Source, ...]
    licence: str
    images: int
    shape: tuple[int, int, int]
    space: FactorSpace | None
    resize: str = ""
    private: bool = False
    verified: str = ""


@runtime_checkable
class PublishedDataset(Protocol):
    """A dataset whose files can be got by name."""

    published: ClassVar[Published]

    def sources(self) -> tuple[Source, ...]:
        """The files that these settings need."""
        ...


def data_folder() -> Path:
    """Where files lie: ``UNKNOT_DATA``, or ``unknot`` in the user's folder for data."""
    if path_text := os.environ.get("UNKNOT_DATA"):
        return Path(path_text).expanduser()
    return platformdirs.user_data_path("unknot", appauthor=False)


def locate(dataset: Any) -> list[Path]:
    """The files of a published dataset: at its ``path`` if that is set, else where `get` puts them.

    ``path`` is the file, or a folder that has the files. Files that lie in the data folder are
    checked against their checksums, once.

    Raises:
        DataError: One is not there, or is another file.
    """
    name, sources = dataset.published.name, dataset.sources()
    if dataset.path is not None:
        place = Path(dataset.path).expanduser()
        if len(sources) == 1 and not place.is_dir():
            paths = [place]
        else:
            paths = [_unpacked(place / source.file) for source in sources]
    else:
        paths = [data_folder() / name / source.file for source in sources]
    if missing := [path for path in paths if not path.is_file()]:
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


def locate_tree(dataset: Any) -> Path:
    """The one archive of a published dataset, or the folder it was unpacked to.

    Raises:
        DataError: It is not there, or is another file.
    """
    (source,) = dataset.sources()
    if dataset.path is not None:
        place = Path(dataset.path).expanduser()
        if place.is_dir() and not (place / source.file).is_file():
            return place
    (path,) = locate(dataset)
    return path


def _unpacked(path: Path) -> Path:
    """A file, or the same without ``.gz`` if only that is there."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return plain if plain.is_file() and not path.is_file() else path


def cached_files(name: str) -> list[Path]:
    """What was made of a dataset and kept."""
    folder = cache.folder()
    entries = (path for path in (folder / name).rglob("*") if path.is_file())
    return sorted([*folder.glob(f"{name}-*.bin"), *entries])
