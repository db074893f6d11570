"""Arguments of public functions, looked at before the function runs."""

import inspect
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, wraps
from typing import (
    Any,
    Literal,
    ParamSpec,
    SupportsIndex,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.core.text import shown

P = ParamSpec("P")
R = TypeVar("R")
TEXTS = str, bytes, bytearray
LISTS: dict[Any, str] = {str: " of texts", int: " of whole numbers"}


def typed(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a function refuse arguments of a type that its annotations do not name.

    Numbers may be those of any library. What is inside of lists is looked at where it is text or
    whole numbers; inside of tables it is not.

    Args:
        names: Of the arguments to look at; all unless given.

    Example:
        >>> @typed()
        ... def repeat(text: str, times: int = 1):
        ...     return text * times
        >>> repeat("a", "b")
        Traceback (most recent call last):
        ...
        unknot.core.errors.ConfigError: times must be a whole number; got b, of the type str.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @cache  # annotations may name what is defined further down
        def hints() -> dict[str, Any]:
            chosen = {p.name: p for p in signature.parameters.values() if p.name != "self"}
            return {
                name: (_evaluate(chosen[name].annotation, function), chosen[name].kind)
                for name in names or chosen
            }

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            given = signature.bind(*args, **kwargs).arguments
            for name, (hint, kind) in hints().items():
                if name not in given:
                    continue
                several = kind is inspect.Parameter.VAR_POSITIONAL
                for value in given[name] if several else (given[name],):
                    check_hint(name, value, hint)
            return function(*args, **kwargs)

        return call

    return decorate


def check_fields(thing: Any, *names: str) -> None:
    """Refuse fields of a dataclass that their annotations do not name; for ``__post_init__``.

    Raises:
        ConfigError: One has another type, or is none of the choices.
    """
    hints = get_type_hints(type(thing))
    for name in names:
        check_hint(f"{type(thing).__name__}.{name}", getattr(thing, name), hints[name])


def check_hint(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that an annotation does not name.

    Raises:
        ConfigError: It has another type, or is none of the choices.
    """
    if _fits(value, hint):
        return
    choices = [choice for part in _parts(hint) for choice in _choices(part)]
    if isinstance(value, str) and choices:
        raise ConfigError(
            f"{name} has no choice {shown(value)}{nearest(value, [*map(str, choices)])}"
        )
    words = " or ".join(dict.fromkeys(_word(part) for part in _parts(hint) if part is not _NONE))
    raise ConfigError(
        f"{name} must be {words}; got {shown(value)}, of the type {type(value).__name__}."
    )


_NONE = type(None)


def _evaluate(annotation: Any, function: Callable[..., Any]) -> Any:
    if isinstance(annotation, str):
        return eval(annotation, vars(inspect.getmodule(function)))  # noqa: S307 - our own source
    return Any if annotation is inspect.Parameter.empty else annotation


def _parts(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return [part for inner in get_args(hint) for part in _parts(inner)]
    return [_NONE if hint is None else hint]


def _choices(part: Any) -> tuple[Any, ...]:
    return get_args(part) if get_origin(part) is Literal else ()


def _fits(value: Any, hint: Any) -> bool:
    return any(_fits_part(value, part) for part in _parts(hint))


def _fits_part(value: Any, part: Any) -> bool:
    if part is Any or isinstance(part, TypeVar):
        return True
    if part is bool:
        return isinstance(value, bool) or type(value).__name__ == "bool"  # that of NumPy
    if part in (int, float):
        number = SupportsIndex if part is int else (SupportsIndex, float)
        single = not isinstance(value, bool) and getattr(value, "ndim", 0) == 0
        return single and (isinstance(value, number) or (part is float and _is_float(value)))
    if get_origin(part) is Literal:
        return isinstance(value, str | int | _NONE) and value in get_args(part)
    kind = getattr(part, "array_type", None) or get_origin(part) or part  # of jaxtyping, of lists
    if kind is Callable or part is Callable:
        return callable(value)
    if not isinstance(kind, type):
        return True
    kind = Sequence if kind in (list, tuple) else kind
    if not isinstance(value, kind) or (isinstance(value, TEXTS) and not issubclass(kind, TEXTS)):
        return False
    if issubclass(kind, Mapping) or not isinstance(value, Collection):
        return True
    inner = next(iter(get_args(part)), Any)
    if inner is str or get_origin(inner) is Literal:
        return all(isinstance(each, str) for each in value)
    return inner is not int or all(_fits_part(each, int) for each in value)


def _is_float(value: Any) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, complex)


def _word(part: Any) -> str:
    """What an annotation asks for, in words."""
    plain = {int: "a whole number", float: "a number", bool: "True or False", str: "a text"}
    if part in plain:
        return plain[part]
    if choices := _choices(part):
        return f"one of {', '.join(map(str, choices))}"
    kind = getattr(part, "array_type", None) or get_origin(part) or part
    if kind is Callable or part is Callable:
        return "a function"
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "a table"
    if kind.__module__ == "collections.abc" or kind in (list, tuple, set):
        return f"a list{LISTS.get(next(iter(get_args(part)), None), '')}"
    return f"of the type {kind.__name__}"
