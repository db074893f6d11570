"""What a row of the tables of bad inputs is."""

from typing import NamedTuple

ESC, LONG = "\x1b[31mred", "n" * 300


class Bad(NamedTuple):
    """A bad input."""

    words: tuple[str, ...]
    """Of the command, behind ``unknot``."""
    expected: str
    """A part of the line that comes back."""
    before: str = ""
    code: int = 2


class Call(NamedTuple):
    """A bad call from Python."""

    code: str
    """An expression; `unknot`, `np`, `torch`, `run`, `codes`, `factors` are there."""
    expected: str
    before: str = ""


def bad(line: str, expected: str, before: str = "", code: int = 2) -> Bad:
    """A command without words that have spaces in them."""
    return Bad(tuple(line.split(" ")), expected, before, code)


def setting(text: str, expected: str, before: str = "") -> Bad:
    """``unknot train --set``."""
    return Bad(("train", "--set", text), expected, before)
