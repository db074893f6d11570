"""What may come in from files, flags, tables and databases that anyone may have written.

Every text from outside is read by a function of this module, or checked by one: how deep, how long
and of which types values may be is decided here and nowhere else.
"""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex

from unknot.core.errors import ConfigError, DataError
from unknot.core.text import is_control, shown

DEEPEST = 64
"""Lists and tables inside of each other."""
MOST_DIGITS = 40
"""Of a whole number."""
LONGEST_NAME = 120
"""Characters of a name: a key, a column, a study, a factor."""
LONGEST_FILE_NAME = 255
"""Bytes, of most systems."""
LONGEST_TEXT = 100_000
"""Characters of any other text, such as a cell of a table."""
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""As JSON writes one."""


def check_value(value: Any, name: str = "") -> Any:
    """A plain value from outside, unless it is deeper, longer or of another type than any is.

    Raises:
        ConfigError: It is; the message has its name.

    Example:
        >>> check_value({"beta": [1, 2.5]}, "grid")
        {'beta': [1, 2.5]}
    """
    todo = [(value, name, 0)]
    while todo:
        inner, path, depth = todo.pop()
        if depth > DEEPEST:
            raise ConfigError(f"{shown(name or path)} is nested more than {DEEPEST} deep.")
        if isinstance(inner, Mapping):
            for key, below in inner.items():
                todo.append((below, f"{path}.{check_name(key, 'A key')}".lstrip("."), depth + 1))
        elif isinstance(inner, list | tuple):
            todo += [(below, path, depth + 1) for below in inner]
        else:
            _check_scalar(inner, path)
            if isinstance(inner, str) and any("\ud800" <= c <= "\udfff" for c in inner):
                raise ConfigError(
                    f"{shown(path) if path else 'A value'} has bytes that are no text in UTF-8: "
                    f"{shown(inner)}."
                )
    return value


def _check_scalar(value: Any, path: str) -> None:
    subject = shown(path) if path else "A value"
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise ConfigError(
                f"{subject} has {len(value):,} characters; at most {LONGEST_TEXT:,} are read."
            )
        if "\0" in value:
            raise ConfigError(f"{subject} has a NUL character in it: {shown(value)}.")
    elif isinstance(value, int) and not isinstance(value, bool):
        if abs(value) >= 10**MOST_DIGITS:
            raise ConfigError(f"{subject} is a number of more than {MOST_DIGITS} digits.")
    elif value is not None and not isinstance(value, bool | float):
        raise ConfigError(
            f"{subject} must be a number, a text, a truth value, a list or a table; "
            f"got {shown(str(value))}, a {type(value).__name__}."
        )


def check_fit(value: Any, form: Any, name: str = "it") -> None:
    """Refuse plain values of another form than a file of ours has.

    Args:
        value: As JSON gives it.
        form: A type; a list with the form of each value; a table with the forms of the keys that
            may be there, or of all keys under ``str``; a tuple of the texts that there are.
        name: Of the value.

    Raises:
        ValueError: It has another form; the message says where.

    Example:
        >>> check_fit({"step": "x"}, {"step": int, "seed": int})
        Traceback (most recent call last):
        ...
        ValueError: its step is x
    """
    if isinstance(form, list):
        fits = isinstance(value, list)
        inner = [(f"{name} {i}", each, form[0]) for i, each in enumerate(value)] if fits else []
    elif isinstance(form, dict):
        fits = isinstance(value, dict)
        inner = [
            (
                f"its {key}" if name == "it" else f"{name}.{key}",
                value[key],
                form.get(key, form.get(str)),
            )
            for key in (value if fits else ())
            if key in form or str in form
        ]
    else:
        is_flag = isinstance(value, bool) and form is not bool
        fits = value in form if isinstance(form, tuple) else isinstance(value, form) and not is_flag
        inner = []
    if not fits:
        raise ValueError(f"{name} is {shown(value)}")
    for path, each, kind in inner:
        check_fit(each, kind, path)


def check_type(name: str, value: Any, *kinds: type) -> None:
    """Refuse an argument of another type than a function takes.

    Args:
        name: Of the argument.
        value: That came for it.
        kinds: Types that it may have; ``NoneType`` is left out of the message.

    Example:
        >>> check_type("device", 3, str)
        Traceback (most recent call last):
        ...
        unknot.core.errors.ConfigError: device must be of the type str; got 3, of the type int.
    """
    if isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds):
        return
    names = " or ".join(kind.__name__ for kind in kinds if kind is not type(None))
    raise ConfigError(
        f"{name} must be of the type {names}; got {shown(value)}, of the type "
        f"{type(value).__name__}."
    )


def as_path(name: str, value: Any) -> Path:
    """A path that a function takes, unless it is of another type or names nothing anywhere."""
    check_type(name, value, str, Path)
    _check_scalar(str(value), name)
    if not str(value):
        raise ConfigError(f"{name} is an empty text, which names no file or folder.")
    if any(len(part.encode(errors="replace")) > LONGEST_FILE_NAME for part in Path(value).parts):
        raise ConfigError(f"{name}: file name too long: {shown(str(value))}.")
    return Path(value)


def check_whole(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """A whole number of any type, NumPy's among them, within its limits.

    Args:
        name: Of the argument.
        value: That came for it.
        least: The smallest that it may be; any when None.
        most: The largest, likewise.

    Raises:
        ConfigError: It is no such number.

    Example:
        >>> check_whole("n", 2.5, 1)
        Traceback (most recent call last):
        ...
        unknot.core.errors.ConfigError: n must be a whole number, 1 or more; got 2.5.
    """
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        with suppress(TypeError):  # arrays and tensors can be asked, and few of them are one number
            number = index(value)
            if (least is None or number >= least) and (most is None or number <= most):
                return number
    limits = "" if least is None else f", {least:,} or more"
    limits = limits if most is None else f" from {least:,} to {most:,}"
    raise ConfigError(f"{name} must be a whole number{limits}; got {shown(value)}.")


def check_names(name: str, value: Any) -> list[Any]:
    """Names that a function takes several of; a text is one of them, and there must be one.

    Example:
        >>> check_names("metrics", "mig")
        ['mig']
    """
    if isinstance(value, str):
        return [value]
    if isinstance(value, Iterable) and (names := [*value]):
        return names
    raise ConfigError(f"{name} must be one name or a list of names; got {shown(value)}.")


def check_mask(array: Any, name: str) -> None:
    """Refuse an array of NumPy with hidden numbers, which most functions would take as they are."""
    hidden = getattr(array, "mask", None)
    count = int(getattr(hidden, "sum", int)())
    if count:
        raise DataError(
            f"A mask hides {count} numbers of {name}; leave these rows out, or fill them in."
        )


def check_name(name: Any, what: str) -> str:
    """A name from outside, unless it is longer than names are or breaks a line.

    Args:
        name: To check.
        what: What has it, as the beginning of a message.

    Example:
        >>> check_name("objective.beta", "A key")
        'objective.beta'
    """
    if not isinstance(name, str):
        raise ConfigError(f"{what} must be a text; got {shown(name)}.")
    if len(name) > LONGEST_NAME:
        raise ConfigError(
            f"{what} has {len(name):,} characters; at most {LONGEST_NAME} are read: {shown(name)}."
        )
    if not name.isprintable() and any(map(is_control, name)):
        raise ConfigError(
            f"{what} has a line break or another control character: {shown(name)}; remove it."
        )
    return name


def clean_name(name: str) -> str:
    r"""A name of a user's table without what names may not hold.

    Example:
        >>> clean_name("mig\n(old) ")
        'mig (old)'
    """
    words = "".join(" " if is_control(character) else character for character in name).split()
    return " ".join(words)[:LONGEST_NAME]


def parse_json(text: str | bytes) -> Any:
    """What a JSON text says; every file and database of ours is read by this function.

    Raises:
        ValueError: It is not JSON, or deeper or longer than what is read.
    """
    try:
        return check_value(json.loads(text, parse_int=parse_number))
    except RecursionError as error:
        raise ValueError(f"it is nested more than {DEEPEST} deep") from error
    except ConfigError as error:
        raise ValueError(str(error).rstrip(".")) from error


def parse_number(text: str) -> int | float | None:
    """The finite number that a text is, as JSON writes numbers; None where it is none.

    Raises:
        ValueError: It has more digits than any number needs.

    Example:
        >>> [parse_number(text) for text in ("4", "0.5", "1e999", "007", "[[[")]
        [4, 0.5, None, None, None]
    """
    if not (match := NUMBER.fullmatch(text)):
        return None
    if any(match.groups()):
        value = float(text)
        return value if abs(value) != float("inf") else None
    if len(text.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"a number has more than {MOST_DIGITS} digits: {shown(text)}")
    return int(text)
