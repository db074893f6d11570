"""The study file: read, changed by flags, written."""

import copy
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unknot.core.errors import ConfigError
from unknot.study import config, presets
from unknot.study.config import NAMED
from unknot.study.quick import quickened, without_quick
from unknot.study.spec import to_toml


def asked(
    file: Path | None,
    *,
    set_: Sequence[str] = (),
    grid: Sequence[str] = (),
    seeds: str | None = None,
    metrics: str | None = None,
    protocol: str | None = None,
    quick: bool = False,
) -> str:
    """The text of a study: the file as it is, or what flags make of it.

    Args:
        file: A TOML file, or the name of a preset; None to build a study from flags alone.
        set_: Words such as ``train.steps=100``.
        grid: Axes such as ``objective.beta=1,2,4``; they multiply every grid of the file.
        seeds: Such as ``0..4``.
        metrics: Names with commas between, or ``all``.
        protocol: Of the scores.
        quick: Put what the file has under ``[quick]`` in its place; else that is left out.

    Raises:
        ConfigError: The file cannot be read, or a word makes no sense.
    """
    file = found(file) if file else None
    given = config.read(file) if file else {}
    if not (set_ or grid or seeds or metrics or protocol or quick):
        if file is None:
            raise ConfigError(
                "Name a study file, or at least one axis such as --grid objective.beta=1,2,4."
            )
        text = without_quick(file.read_text(encoding="utf-8"), given)
        return text if "name" in given else to_toml({"name": file.stem}) + text
    given.setdefault("name", file.stem if file else "study")
    given = quickened(given) if quick else {k: v for k, v in given.items() if k != "quick"}
    table = config.assign(given, set_)
    across = copy.deepcopy(table.get("across", {}))
    if not isinstance(across, dict):
        raise ConfigError(f"[across] must be a table of settings; got {across!r}.")
    for word in grid:
        path, equals, text = word.partition("=")
        if not equals or not path.strip() or not text.strip():
            raise ConfigError(f"Expected an axis such as objective.beta=1,2,4; got '{word}'.")
        _place(across, path.strip(), _points(text))
    if across:
        table["across"] = across
    if seeds is not None:
        table["seeds"] = config.seeds(seeds)
    if metrics is not None:
        listed = [name.strip() for name in metrics.split(",")]
        table["metrics"] = "all" if listed == ["all"] else listed
    if protocol is not None:
        table["protocol"] = protocol
    return to_toml(table)


def found(file: Path) -> Path:
    """A file that is there, or the preset of that name where it is a bare word.

    Raises:
        ConfigError: There is neither.
    """
    if file.is_file() or file.suffix or len(file.parts) > 1:
        return file
    return presets.file(str(file))


def slug(text: str) -> str:
    """The name in a study file as that of a folder.

    Example:
        >>> slug('name = "Three betas, again"')
        'three-betas-again'
    """
    words = re.findall(r"\w+", str(tomllib.loads(text).get("name", "")).lower())
    return "-".join(words) or "study"


def _place(across: dict[str, Any], path: str, points: list[Any]) -> None:
    """Put an axis where it belongs; one that is there already is not silently replaced."""
    *outer, last = path.split(".")
    for key in outer:
        if key in NAMED and isinstance(across.get(key), list):  # data=a,b is short for data.name
            across[key] = {"name": across[key]}
        inner = across.setdefault(key, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"The axis {path} lies inside {key}, which is set as a whole.")
        across = inner
    if last in across:
        raise ConfigError(f"The axis {path} comes twice.")
    across[last] = points


def _points(text: str) -> list[Any]:
    """The values of an axis: a TOML list, or values with commas between; bare words are strings."""
    for attempt in (text, f"[{text}]"):
        try:
            value = tomllib.loads(f"value = {attempt}")["value"]
        except tomllib.TOMLDecodeError:
            continue
        if isinstance(value, list):
            return value
    words: Mapping[str, Any] = config.assign(
        {}, [f"{i}={w}" for i, w in enumerate(text.split(","))]
    )
    return [*words.values()]
