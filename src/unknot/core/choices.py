"""Settings: fields that choose between named forms, and fields that follow from others."""

from abc import ABC, abstractmethod
from functools import cache
from typing import Any, get_args, get_type_hints

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest


class Creatable(ABC):
    """Base of settings of which some follow from others: files and scripts make them by `create`.

    They are frozen, so nothing is filled in later.
    """

    @classmethod
    @abstractmethod
    def create(cls, *args: Any, **settings: Any) -> Any:
        """The settings with all that was left out filled in."""


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
        value, choices = getattr(thing, name), _choices(kind, name)
        if value not in choices:
            hint = nearest(str(value), [str(choice) for choice in choices])
            raise ConfigError(f"{kind.__name__}.{name} has no choice {value!r}{hint}")


@cache
def _choices(kind: Any, name: str) -> list[Any]:
    return list(get_args(get_type_hints(kind)[name]))
