"""A check of fields that choose between named forms."""

from functools import cache
from typing import Any, get_args, get_type_hints

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest


def check_choices(thing: Any, *names: str) -> None:
    """Check that fields annotated ``Literal[...]`` hold one of its names; for ``__post_init__``.

    Files are checked as they are read; this is for what is made in Python.

    Example:
        >>> from dataclasses import dataclass
        >>> from typing import Literal
        >>> @dataclass(frozen=True)
        ... class Toy:
        ...     form: Literal["density", "literal"] = "density"
        ...     def __post_init__(self):
        ...         check_choices(self, "form")
        >>> Toy(form="dense")
        Traceback (most recent call last):
        ...
        unknot.core.errors.ConfigError: Toy.form has no choice 'dense'; did you mean 'density'?
    """
    kind: Any = type(thing)
    for name in names:
        value, known = getattr(thing, name), _choices(kind, name)
        if value not in known:
            hint = nearest(str(value), known)
            raise ConfigError(f"{kind.__name__}.{name} has no choice {value!r}{hint}")


@cache
def _choices(kind: Any, name: str) -> list[str]:
    return list(get_args(get_type_hints(kind)[name]))
