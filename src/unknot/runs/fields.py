"""A dataclass of settings from plain values, each checked against its field's type."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from unknot.core import registry
from unknot.core.choices import Creatable
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper, Number
from unknot.core.text import shown
from unknot.runs.spec import tag

T = TypeVar("T")
RENAMED = {
    "draw": "sampler",
    "standardise": "standardize",
    "parametrisation": "parametrization",
    "sampler": "rule",
}
"""Keys of format 1 and what they are now; the last is one of pairs."""

WORDS = {
    "int_type": "should be a whole number",
    "float_type": "should be a number",
    "bool_type": "should be true or false",
    "string_type": "should be a text",
    "tuple_type": "should be a list",
}
"""What a value of a wrong type should be, for people who do not write Python."""


def build(kind: type[T], table: Mapping[str, Any], where: str = "") -> T:
    """A dataclass from plain values, each checked against its field's type."""
    create: Callable[..., T] = kind.create if issubclass(kind, Creatable) else kind
    return create(**checked_fields(kind, table, where))


def checked_fields(kind: Any, table: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The fields of a dataclass, each checked against its type."""
    prefix = f"{where}." if where else ""
    needed, hints = field_types(kind)
    for name in table:
        if name not in hints:
            now = RENAMED.get(name)
            hint = f"; it is {now} now." if now in hints else registry.nearest(str(name), [*hints])
            raise ConfigError(f"Unknown key '{prefix}{name}'{hint}")
    for name in needed:
        if name not in table:
            raise ConfigError(f"{prefix}{name} is needed; set it with --set {prefix}{name}=...")
    return {n: _checked(f"{prefix}{n}", hints[n], v) for n, v in table.items()}


def _checked(name: str, kind: Any, value: Any) -> Any:
    """A value that fits its annotation; whole numbers are welcome where reals are wanted."""
    if getattr(value, "ndim", None) == 0:  # a number of NumPy or PyTorch
        value = value.item()
    if isinstance(value, dict) and (kinds := _tagged(kind)):
        return _build_tagged(name, kinds, value)
    if isinstance(value, list) and (item := _item(kind)):  # TOML has lists only
        value = tuple(_checked(f"{name}[{i}]", item, v) for i, v in enumerate(value))
    if kind in (Hyper, Number):
        kind = float
    if isinstance(kind, type) and is_dataclass(kind):  # or built already, as a choice is
        return build(kind, value, name) if isinstance(value, dict) else value
    return _checker(kind)(name, value)


# A study of thousands of settings asks for the same few types again and again.
@cache
def field_types(kind: Any) -> tuple[list[str], dict[str, Any]]:
    """Names of the fields without a default, and the annotations of all."""
    hints, all_fields = get_type_hints(kind), fields(kind)
    needed = [f.name for f in all_fields if f.default is MISSING and f.default_factory is MISSING]
    return needed, {f.name: hints[f.name] for f in all_fields}


@cache
def _checker(kind: Any) -> Callable[[str, Any], Any]:
    """Checks a value, under its name, against an annotation."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    config = ConfigDict(strict=True, arbitrary_types_allowed=True, allow_inf_nan=False)
    adapter: TypeAdapter[Any] = TypeAdapter(kind, config=config)

    def check(name: str, value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            fault = error.errors()[0]
            reason = WORDS.get(fault["type"]) or fault["msg"].removeprefix("Input ")
            raise ConfigError(f"{name} {reason}; got {shown(repr(value))}.") from error

    return check


@cache
def _tagged(annotation: Any) -> dict[str, Any]:
    """The dataclasses of a tagged union, those with a class variable ``kind``, by their kind."""
    options = [o for o in get_args(annotation) or (annotation,) if is_dataclass(o)]
    return {kind: option for option in options if (kind := tag(option))}


@cache
def _item(annotation: Any) -> Any:
    """What a tuple of any length holds, perhaps one that may be None; None for all else."""
    options = annotation, *get_args(annotation)
    tuples = [get_args(option) for option in options if get_origin(option) is tuple]
    return next((inner[0] for inner in tuples if inner[1:] == (...,)), None)


def _build_tagged(name: str, kinds: Mapping[str, Any], table: Mapping[str, Any]) -> Any:
    """The member of a tagged union that a table names as its ``kind``, from the rest of it."""
    choice = table.get("kind")
    if choice is None:
        raise ConfigError(
            f"{name} as a table needs a kind, one of {', '.join(kinds)}; got {', '.join(table)}."
        )
    if not isinstance(choice, str) or choice not in kinds:
        hint = registry.nearest(str(choice), [*kinds])
        raise ConfigError(f"{name}.kind has no choice {choice!r}{hint}")
    return build(kinds[choice], {k: v for k, v in table.items() if k != "kind"}, name)
