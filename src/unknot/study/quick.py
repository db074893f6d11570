"""The short version of a study: what its table ``[quick]`` puts in the place of the rest.

```toml
seeds = "0..49"
[train]
steps = 300_000

[quick]                      # comes last
seeds = [0, 1]
train.steps = 600
```

Each setting of ``[quick]`` takes the place of the one that the file has at the same path, and there
must be one. Grids are replaced all together, by ``[[quick.grid]]``.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest


def quickened(table: Mapping[str, Any]) -> dict[str, Any]:
    """A study with its quick settings in place, under a name of its own.

    Raises:
        ConfigError: It has no quick settings, or one of them is nowhere in the file.

    Example:
        >>> quickened({"name": "a", "train": {"steps": 9, "batch": 4}, "quick": {"seeds": 3}})
        Traceback (most recent call last):
            ...
        unknot.core.errors.ConfigError: [quick] sets seeds, which the study does not; known: name...
        >>> quickened({"name": "a", "seeds": 5, "train": {"steps": 9}, "quick": {"seeds": 3}})
        {'name': 'a quick', 'seeds': 3, 'train': {'steps': 9}}
    """
    if not isinstance(quick := table.get("quick"), dict) or not quick:
        raise ConfigError(
            "This study has no quick version: its file has no table [quick] with settings."
        )
    full = {key: value for key, value in table.items() if key != "quick"}
    return {**_over(full, quick, ""), "name": f"{full.get('name', 'study')} quick"}


def without_quick(text: str, table: Mapping[str, Any]) -> str:
    """The text of a study file before ``[quick]``, just as it is written.

    Args:
        text: The file.
        table: What it says.

    Raises:
        ConfigError: Something comes after ``[quick]``.
    """
    if "quick" not in table:
        return text
    before = re.split(r"(?m)^\s*\[+\s*quick\b", text)[0]
    rest = {key: value for key, value in table.items() if key != "quick"}
    try:
        if tomllib.loads(before) == rest:
            return before.rstrip() + "\n"
    except tomllib.TOMLDecodeError:
        pass
    raise ConfigError("[quick] and what belongs to it must come last in a study file; move it.")


def _over(full: Mapping[str, Any], quick: Mapping[str, Any], place: str) -> dict[str, Any]:
    merged = dict(full)
    for key, value in quick.items():
        path = f"{place}{key}"
        if key not in full:
            known = nearest(path, [f"{place}{k}" for k in full])
            raise ConfigError(f"[quick] sets {path}, which the study does not{known}")
        if isinstance(value, dict) and isinstance(full[key], dict):
            value = _over(full[key], value, f"{path}.")
        merged[key] = value
    return merged
