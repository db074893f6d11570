"""TOML files: read, written, and changed without losing what their authors wrote in them."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from unknot.core.border import DEEPEST, check_value
from unknot.core.errors import ConfigError
from unknot.core.files import open_file, unpack_hint
from unknot.core.text import shown


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """What a TOML text says."""
    try:
        table = tomllib.loads(text)
    except ValueError as error:  # not TOML, or a number of thousands of digits
        raise ConfigError(f"{name} is not TOML: {error}.") from error
    except RecursionError as error:
        raise ConfigError(f"{name} is nested more than {DEEPEST} deep.") from error
    check_value(table)
    return table


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    return parse_toml(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The text of a TOML file."""
    try:
        with open_file(path) as file:
            return file.read().decode("utf-8-sig")  # Windows puts a mark in front
    except OSError as error:
        raise ConfigError(f"Could not read {path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        hint = unpack_hint(path)
        raise ConfigError(f"{path} is not TOML: {error}.{hint}") from error


def parse_value(text: str, name: str = "") -> Any:
    """A value as people type it: TOML, and bare words are strings.

    Args:
        text: To read.
        name: Of the setting, for messages.

    Example:
        >>> [parse_value(text) for text in ("4", "[1, 2]", "true", "dsprites", "a b.npz")]
        [4, [1, 2], True, 'dsprites', 'a b.npz']
    """
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return check_value(text, name)
    except ValueError as error:  # a number of thousands of digits
        raise ConfigError(f"{name or shown(text)} is not a value: {error}.") from error
    except RecursionError as error:
        raise ConfigError(f"{name or shown(text)} is nested more than {DEEPEST} deep.") from error
    if [*table] != ["value"]:  # a line break, and a setting of its own behind it
        raise ConfigError(
            f"Expected one value for {name or 'a setting'}; got {shown(text)}. Repeat the option."
        )
    return check_value(table["value"], name)


def to_toml(table: Mapping[str, Any]) -> str:
    """Nested plain values as TOML: tables at the top, and inside of them one line for each setting.

    Example:
        >>> print(to_toml({"net": {"name": "conv64", "lr": {"end": 1e-4}}, "steps": 5}))
        steps = 5
        <BLANKLINE>
        [net]
        name = "conv64"
        lr = {end = 0.0001}
        <BLANKLINE>
    """
    document = tomlkit.document()
    for key, value in sorted(table.items(), key=lambda pair: isinstance(pair[1], Mapping)):
        if isinstance(value, Mapping) and document:
            document.add(tomlkit.nl())
        document.add(key, _section(value))
    return document.as_string()


def edit_toml(text: str, table: Mapping[str, Any]) -> str:
    r"""A TOML text changed so that it says what a table says; comments and layout stay.

    Example:
        >>> edit_toml("a = 1  # why\nb = 2\n", {"a": 3})
        'a = 3  # why\n'
    """
    if _same(tomllib.loads(text), table):
        return text
    try:
        document = tomlkit.parse(text)
        _update(document, table)
        edited = document.as_string()
        if _same(tomllib.loads(edited), table):
            return edited
    except (TOMLKitError, ValueError):
        pass  # a layout that cannot be kept; what the file says matters more
    return to_toml(table)


def _update(document: Any, table: Mapping[str, Any]) -> None:
    for key in [key for key in document if key not in table]:
        del document[key]
    for key, value in table.items():
        if key in document and isinstance(value, Mapping) and isinstance(document[key], Mapping):
            _update(document[key], value)
        elif key not in document or not _same(tomlkit.item(document[key]).unwrap(), value):
            top = isinstance(document, tomlkit.TOMLDocument)
            document[key] = _section(value) if top else _item(value)


def _same(first: Any, second: Any) -> bool:
    """Whether two values are equal and of one type: 1 is neither 1.0 nor true."""
    return json.dumps(first, sort_keys=True, default=repr) == json.dumps(
        second, sort_keys=True, default=repr
    )


def _section(value: Any) -> Any:
    """A value at the top of a file, where a table has lines of its own."""
    if not isinstance(value, Mapping):
        return _item(value)
    table = tomlkit.table()
    for key, inner in value.items():
        table.add(key, _item(inner))
    return table


def _item(value: Any) -> Any:
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        for key, inner in value.items():
            inline.add(key, _item(inner))
        return inline
    if isinstance(value, list):
        array = tomlkit.array()
        for inner in value:
            array.append(_item(inner))
        return array
    return tomlkit.item(value)
