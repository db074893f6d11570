"""Arguments of the first functions that a script calls: their types, looked at before anything."""

from collections.abc import Mapping, Sequence
from itertools import islice
from operator import index
from typing import Any

import torch

from unknot.core.border import as_path, check_type
from unknot.core.errors import ConfigError
from unknot.core.text import shown
from unknot.runs.config import MOST_SEEDS

SETTINGS = {"data_settings": "data", "net_settings": "net", "objective_settings": "objective"}
"""Arguments that are tables of settings, and where the name of the thing belongs."""


def check_arguments(
    *,
    out: Any,
    score_at: Any,
    functions: Mapping[str, Any],
    tables: Mapping[str, Any],
) -> None:
    """Refuse arguments of `unknot.train` of a wrong type.

    Args:
        out: A path, or None.
        score_at: Steps.
        functions: What is called, by name; None for nothing.
        tables: Settings by the name of their argument; None for none.

    Raises:
        ConfigError: One has another type; the message has its name.
    """
    if out is not None:
        as_path("out", out)
    check_type("score_at", score_at, Sequence)
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise ConfigError(f"{name} must be a function; got {shown(function)}.")
    for name, table in tables.items():
        check_type(name, table, Mapping, type(None))
        if "name" in (table or {}):
            raise ConfigError(f"{name} has a name among its settings; use {SETTINGS[name]}='...'.")


def device_name(device: Any) -> str:
    """The name of a device, which may be one of PyTorch.

    Example:
        >>> device_name(torch.device("cpu"))
        'cpu'
    """
    check_type("device", device, str, torch.device)
    return str(device)


def seed_list(seeds: Any) -> int | list[int]:
    """Seeds of any type of whole numbers, NumPy's among them.

    Example:
        >>> seed_list(7), seed_list(range(3))
        (7, [0, 1, 2])
    """
    wrong = f"seeds must be a whole number or several; got {shown(seeds)}."
    if isinstance(seeds, bool | str | bytes | Mapping):
        raise ConfigError(wrong)
    if getattr(seeds, "ndim", 0) == 0 and hasattr(seeds, "__index__"):
        return index(seeds)
    try:
        listed = [index(seed) for seed in islice(seeds, MOST_SEEDS + 1)]
    except TypeError as error:
        raise ConfigError(wrong) from error
    if len(listed) > MOST_SEEDS:
        raise ConfigError(f"seeds are more than {MOST_SEEDS:,} members; use fewer.")
    return listed
