"""What the verbs for files of published datasets share."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from unknot.data.parts.published import PublishedDataset
    from unknot.data.parts.sources import Source


def find_published(name: str, assignments: list[str] | None = None) -> "PublishedDataset":
    """A dataset with files by its name, with settings such as ``variant=real``.

    Raises:
        ConfigError: It has none, or there is no such dataset.
    """
    from unknot.cli.options import dataset_settings
    from unknot.core import registry
    from unknot.core.errors import ConfigError
    from unknot.data.parts.collections import COLLECTIONS
    from unknot.data.parts.published import PublishedDataset

    if name in COLLECTIONS and not assignments:
        return COLLECTIONS[name]
    if "" in _settings(name).values():
        raise ConfigError(f"{name} reads a file of yours; there is nothing to download.")
    dataset: Any = dataset_settings(name, assignments)
    if not isinstance(dataset, PublishedDataset):
        own = name not in registry.names("datasets")
        what = "lies here already" if own else "is generated and needs no file"
        raise ConfigError(f"{name} {what}; use it as it is.")
    return dataset


def _settings(name: str) -> dict[str, str]:
    from unknot.core import registry

    return registry.settings("datasets", name) if name in registry.names("datasets") else {}


def files_there(folder: Path, sources: tuple["Source", ...]) -> list[Path]:
    """Those of the files that are in a folder."""
    return [path for source in sources if (path := folder / source.file).is_file()]


def size_text(size: int) -> str:
    """Bytes for people.

    Example:
        >>> [size_text(n) for n in (348, 28_881, 267_573_662, 12_740_198_400)]
        ['348 bytes', '29 kB', '268 MB', '12.7 GB']
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}" if name == "GB" else f"{size / unit:.0f} {name}"
    return f"{size} bytes"


def confirm(question: str, yes: bool) -> None:
    """Ask before something is done; without a terminal only --yes does.

    Raises:
        ConfigError: Nobody is there to be asked.
    """
    from unknot.core.errors import ConfigError

    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(f"{question} Say so with --yes.")
    if not typer.confirm(question):
        raise typer.Exit(1)
