"""Settings that a caller makes are checked against their annotations before a metric reads them.

Those of the named protocols are ours. Nothing here imports PyTorch.
"""

import math
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest

BOOLS = (bool, np.bool_)
WORDS = {int: "a whole number", float: "a number", bool: "True or False", type(None): "None"}
EMPTY = ("test_samples", "eval_votes")
"""Counts that may be 0, which means the rows or votes that are learnt from."""


def check_settings(metric: str, settings: Any) -> None:
    """Check names, numbers and counts of a dataclass of settings, and of those inside it.

    Numbers are finite and at least 0, counts at least 1. A field of another type is left to the
    metric.

    Raises:
        ConfigError: One is wrong.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Settings:
        ...     dead: float | None = None
        >>> check_settings("sap", Settings(dead=float("nan")))
        Traceback (most recent call last):
        ...
        unknot.core.errors.ConfigError: sap: Settings.dead should be a number from 0 on; got nan.
    """
    kind = type(settings)
    try:
        hints = get_type_hints(kind)
    except NameError:  # annotations of a user's that cannot be read
        return
    for field in fields(settings):
        value, hint = getattr(settings, field.name), hints[field.name]
        if is_dataclass(value):
            check_settings(metric, value)
            continue
        least = 0 if field.name in EMPTY else 1
        elements = get_args(hint)[:1] if get_origin(hint) is tuple else ()
        values = value if elements and isinstance(value, tuple) else [value]
        for each in values:
            if fault := _fault(each, _forms(elements[0] if elements else hint), least):
                raise ConfigError(f"{metric}: {kind.__name__}.{field.name} {fault}")


def _forms(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _fault(value: Any, forms: tuple[Any, ...], least: int) -> str:
    """What is wrong with a value, in words; empty where nothing is, or where nobody knows."""
    names = [name for form in forms if get_origin(form) is Literal for name in get_args(form)]
    plain = [form for form in forms if form in WORDS]
    if any(form not in WORDS and get_origin(form) is not Literal for form in forms):
        return ""
    if any(value == name and type(value) is type(name) for name in names):
        return ""
    if (value is None and type(None) in plain) or (isinstance(value, BOOLS) and bool in plain):
        return ""
    numeric = [form for form in plain if form in (int, float)]
    if numeric and isinstance(value, Real) and not isinstance(value, BOOLS):
        if float not in plain and not isinstance(value, Integral):
            return f"should be a whole number; got {value}."
        bottom = least if float not in plain else 0
        if not (math.isfinite(value) and float(value) >= bottom):
            return f"should be {WORDS[numeric[-1]]} from {bottom} on; got {value}."
        return ""
    if names and not numeric and isinstance(value, str):
        return f"has no choice {value!r}{nearest(value, [str(name) for name in names])}"
    words = [*(WORDS[form] for form in plain), *(repr(name) for name in names)]
    return f"should be {' or '.join(words)}; got {value!r}."
