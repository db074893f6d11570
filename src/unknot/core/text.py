"""Numbers, durations and settings as text for people; files keep full precision."""

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

LONG = 1e9
"""Numbers from here on are not written out."""
LONGEST_SHOWN = 120
"""Characters of a value in a message."""
DIRECTIONS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that turn the direction of what follows."""


def number(value: int | float, digits: int = 4) -> str:
    """A number with so many significant digits, thousands apart; from a billion on with a power.

    Example:
        >>> [number(v) for v in (0.123456, 12.0, 3.14159, 12345.6, float("nan"), 1.5e12)]
        ['0.1235', '12', '3.142', '12,346', 'not a number', '1.5e12']
    """
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if abs(value) >= LONG:
        return f"{value:.{digits}g}".replace("e+", "e")
    large = abs(value) >= 10**digits - 0.5
    text = f"{value:,.0f}" if large else f"{value:,.{digits}g}"
    return text.replace("-", "−") if "e" not in text else text


def decimals(value: int | float, digits: int = 3) -> str:
    """A number for a column of a table: so many digits behind the point, fewer for large ones.

    Example:
        >>> [decimals(x) for x in (0.12345, -0.0004, 27.71, 113.125, 18000.0)]
        ['0.123', '0.000', '27.71', '113.1', '18,000']
    """
    if not math.isfinite(value):
        return number(value)
    size = abs(value)
    places = digits if size < 10 else max(0, digits - 1) if size < 100 else 1 if size < 1000 else 0
    # Adding zero takes the sign from a zero.
    return f"{round(value, places) + 0.0:,.{places}f}".replace("-", "−")


def compact(value: int | float) -> str:
    """A number for a small cell: two digits, without a leading zero.

    Example:
        >>> [compact(x) for x in (0.0, 0.042, -0.51, 3.14159, 10.417, 128.0, -0.001)]
        ['0', '.04', '−.51', '3.1', '10', '128', '0']
    """
    size = abs(value)
    if size < 0.005:
        return "0"
    if size < 0.995:
        text = f"{size:.2f}"[1:]
    else:
        text = f"{size:.1f}".removesuffix(".0") if size < 9.95 else f"{size:.0f}"
    return f"−{text}" if value < 0 else text


def duration(seconds: int | float) -> str:
    """A time in its two largest units.

    Example:
        >>> [duration(s) for s in (7.26, 164.0, 7322.0, 2e5, 2e8)]
        ['7.3 s', '2 min 44 s', '2 h 2 min', '2 days 7 h', '2,314 days 19 h']
    """
    rest = round(seconds)
    if rest < 60:
        return f"{seconds if seconds >= 0.05 else 0:.2g} s"
    units = (("day", 86_400), ("h", 3600), ("min", 60), ("s", 1))
    first = next(i for i, (_, size) in enumerate(units) if rest >= size)
    parts = []
    for name, size in units[first : first + 2]:
        count, rest = divmod(rest, size)
        plural = "s" * (name == "day" and count > 1)
        parts += [f"{count:,} {name}{plural}"] if count else []
    return " ".join(parts)


def setting_text(value: Any) -> str:
    """The value of a setting.

    Example:
        >>> [setting_text(v) for v in (16.0, 1e-4, "none", True, [1, 2], {"start": 0, "end": 25.0})]
        ['16', '0.0001', 'none', 'yes', '1, 2', 'start 0, end 25']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {setting_text(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(setting_text, value))
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:g}"
    return str(value)


def value_text(value: Any, digits: int = 4) -> str:
    """A number with so many significant digits, or another value of a setting.

    Example:
        >>> [value_text(v) for v in (115200, 0.0517734, "none", True)]
        ['115,200', '0.05177', 'none', 'yes']
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return number(value, digits) if is_number else setting_text(value)


def cell_text(value: Any) -> str:
    """A cell of a table on the screen; empty where there is nothing.

    Example:
        >>> [cell_text(v) for v in (0.123456, 16.0, None, "done", [1, 2])]
        ['0.1235', '16', '', 'done', '1, 2']
    """
    if value is None:
        return ""
    return number(value) if isinstance(value, float) else setting_text(value)


def setting_label(name: str) -> str:
    """A setting's dotted name without what it goes without saying.

    Example:
        >>> [setting_label(name) for name in ("objective.c.end", "steps", "objective.lambda_od")]
        ['c', 'steps', 'lambda_od']
    """
    parts = name.removeprefix("objective.").split(".")
    return parts[0] if parts[-1] in ("end", "value") else ".".join(parts)


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    Example:
        >>> counted(1, "seed"), counted(1200, "run")
        ('1 seed', '1,200 runs')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}"


def joined(names: Sequence[str]) -> str:
    """Names as a list in a sentence.

    Example:
        >>> joined(["mig", "sap", "cbd"])
        'mig, sap and cbd'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def is_control(character: str) -> bool:
    """Whether a character moves the cursor, breaks a line or turns the direction of what follows.

    So do the halves of a character that came without the other, which no terminal can print.
    """
    return character in DIRECTIONS or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def plain(text: str, keep: str = "") -> str:
    r"""A text of which the terminal prints every character, control characters as escapes.

    Args:
        text: From wherever.
        keep: Control characters that stay as they are.

    Example:
        >>> plain("red \x1b[31m, two\nlines")
        'red \\x1b[31m, two\\nlines'
    """
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode()
        if is_control(character) and character not in keep
        else character
        for character in text
    )


def shorten(text: str, most: int = LONGEST_SHOWN) -> str:
    """A text of at most so many characters, its middle left out where it is longer.

    Example:
        >>> shorten("0123456789" * 9, 20)
        '0123456789 ... 56789'
    """
    if len(text) <= most:
        return text
    end = (most - 5) // 3
    return f"{text[: most - 5 - end]} ... {text[len(text) - end :]}"


def shown(value: Any) -> str:
    """A value from outside as part of a message: one line, and not too long.

    Example:
        >>> shown([1, "two"])
        "[1, 'two']"
    """
    try:
        text = value if value and isinstance(value, str) else repr(value)
    except Exception:  # whatever a foreign object does
        text = f"a {type(value).__name__}"
    return shorten(plain(text[: 50 * LONGEST_SHOWN]))
