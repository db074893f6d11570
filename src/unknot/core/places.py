"""Settings that say where a file lies, and not what is in it."""

from dataclasses import fields
from functools import cache
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
