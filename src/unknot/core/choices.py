"""Settings: fields that choose between named forms, and fields that follow from others."""

from abc import ABC, abstractmethod
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

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

    All such fields are, unless some are named. Files are checked as they are read; this is for what
    is made in Python.

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
    for name in names or _choice_fields(kind):
        value, choices = getattr(thing, name), _choices(kind, name)
        if not isinstance(value, str | int | None) or value not in choices:
            hint = nearest(str(value), [str(choice) for choice in choices])
            raise ConfigError(f"{kind.__name__}.{name} has no choice {value!r}{hint}")


@cache
def _choice_fields(kind: Any) -> list[str]:
    return [field.name for field in fields(kind) if _choices(kind, field.name)]


@cache
def _choices(kind: Any, name: str) -> list[Any]:
    """What a field may hold; None too where it may be left out. None at all for other fields."""
    hint = get_type_hints(kind)[name]
    forms = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    literals = [form for form in forms if get_origin(form) is Literal]
    optional = [None] if literals and type(None) in forms else []
    return [*(choice for form in literals for choice in get_args(form)), *optional]
