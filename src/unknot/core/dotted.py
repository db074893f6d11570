"""Settings by dotted path: ``objective.beta`` in nested tables of plain values."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from unknot.core.errors import ConfigError

NAMED = ("data", "net", "objective", "sampler", "optim")
"""Tables whose name may stand for them: ``data = "dsprites"``, or several names in a grid."""
SETTINGS = (
    *NAMED, "steps", "batch", "precision", "order_seed", "ema", "split", "stop",
    "strength", "swept_value",
)  # fmt: skip
"""First words of what a table of runs has as settings; a table from elsewhere may call the swept
value ``strength``."""

WRITTEN_DOWN = (
    *(
        "log_every",
        "checkpoint_every",
        "validate_every",
        "keep",
        "score_at",
        "score_every",
        "track",
    ),
)
"""Settings that only decide when and where something is written down."""


def is_setting(column: str) -> bool:
    """Whether a column of a table of runs says what was asked for.

    Example:
        >>> [is_setting(name) for name in ("objective.beta", "data", "mig", "seed")]
        [True, True, False, False]
    """
    return column.partition(".")[0] in SETTINGS


def leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no table, with its path.

    Example:
        >>> dict(leaves({"batch": 64, "objective": {"name": "vae", "c": {"end": 5}}}))
        {'batch': 64, 'objective.name': 'vae', 'objective.c.end': 5}
    """
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def get(table: Mapping[str, Any], path: str) -> Any:
    """The value at a path."""
    value: Any = table
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            raise KeyError(path)
        value = value[key]
    return value


def put(table: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path, in place.

    A word or number gives way to a table when something inside of it is set, as a weight does to a
    schedule; the name of a dataset, net, objective, sampler or optimiser stays its name.

    Example:
        >>> table = {"objective": "vae", "lr": 1.0}
        >>> put(table, "objective.beta", 4)
        >>> put(table, "lr.kind", "linear")
        >>> table
        {'objective': {'name': 'vae', 'beta': 4}, 'lr': {'kind': 'linear'}}
    """
    *outer, last = path.split(".")
    for key in outer:
        inner = table.get(key)
        if not isinstance(inner, dict):
            named = key in NAMED and is_name(inner)
            if isinstance(inner, list) and not named:
                raise ConfigError(f"'{path}': {key} is a list; set it as a whole.")
            table[key] = {"name": inner} if named else {}
        table = table[key]
    table[last] = copy.deepcopy(value)


def is_name(value: Any) -> bool:
    """Whether a value is a name, or a list of names for a grid."""
    points = value if isinstance(value, list) else [value]
    return bool(points) and all(isinstance(point, str) for point in points)


def override(
    table: Mapping[str, Any], changes: Mapping[str, Any], path: str = ""
) -> dict[str, Any]:
    """A copy of a table with other values for some of its keys; tables are merged.

    Example:
        >>> override({"seeds": 5, "train": {"steps": 9, "batch": 4}}, {"train": {"steps": 1}})
        {'seeds': 5, 'train': {'steps': 1, 'batch': 4}}
    """
    result = copy.deepcopy(dict(table))
    for key, value in changes.items():
        if key not in table:
            raise KeyError(f"{path}{key}")
        both = isinstance(value, Mapping) and isinstance(table[key], Mapping)
        result[key] = override(table[key], value, f"{path}{key}.") if both else value
    return result
