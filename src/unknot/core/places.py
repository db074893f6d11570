"""Settings that say where a file lies, and not what is in it."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from os.path import commonpath
from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, Any, TypeAlias, get_type_hints

_MARK = "where a file lies"
Place: TypeAlias = Annotated[str | None, _MARK]
"""The type of a path to a file whose content is known: it takes no part in the ids of runs."""
NeededPlace: TypeAlias = Annotated[str, _MARK]
"""The same of a path that has to be set."""


@cache
def place_fields(kind: Any) -> frozenset[str]:
    """Names of a dataclass's fields that are places.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Toy:
        ...     path: Place = None
        ...     seed: int = 0
        >>> sorted(place_fields(Toy))
        ['path']
    """
    hints = get_type_hints(kind, include_extras=True)
    marks = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
    return frozenset(f.name for f in fields(kind) if _MARK in marks[f.name])


def without_folders(value: Any) -> Any:
    """Settings as a page for others has them: of an absolute path its last part alone.

    Example:
        >>> without_folders({"path": "/data/faces.npz", "sizes": [64, "64/2"]})
        {'path': 'faces.npz', 'sizes': [64, '64/2']}
    """
    if isinstance(value, Mapping):
        return {key: without_folders(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(inner) for inner in value]
    return value.replace("\\", "/").rstrip("/").rpartition("/")[2] if _absolute(value) else value


def without_common_folder(values: Sequence[Any]) -> list[Any]:
    """A column of settings with absolute paths told apart by as little as it takes.

    Example:
        >>> without_common_folder(["/data/a/x.npz", "/data/b/x.npz", 3])
        ['a/x.npz', 'b/x.npz', 3]
        >>> without_common_folder(["/data/a/x.npz"] * 2)
        ['x.npz', 'x.npz']
    """
    short = [without_folders(value) if _absolute(value) else value for value in values]
    if len({*map(repr, short)}) == len({*map(repr, values)}):
        return short
    try:
        common = commonpath([value for value in values if _absolute(value)])
    except ValueError:  # of two drives
        return [*values]
    return [value[len(common) :].lstrip("/\\") if _absolute(value) else value for value in values]


def _absolute(value: Any) -> bool:
    return isinstance(value, str) and (
        PurePosixPath(value).is_absolute() or PureWindowsPath(value).is_absolute()
    )
