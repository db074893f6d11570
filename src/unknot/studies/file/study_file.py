"""StudyFile: a study as its author wrote it, perhaps changed by flags.

```toml
seeds = "0..49"
[train]
steps = 300_000

[quick]
seeds = [0, 1]
train.steps = 600
```

Each setting of ``[quick]`` takes the place of the one that the file has at the same path, and there
must be one; tables are merged. Grids are replaced all together, by ``[[quick.grid]]``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from unknot.core import dotted
from unknot.core.border import check_name
from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.core.toml import edit_toml, parse_toml, parse_value, read_text
from unknot.runs import config, words
from unknot.studies.file import presets
from unknot.studies.file.sweep import KEYS, Sweep, baselines, expand

DATASET = re.compile(r"(train\.)?data(\.name)?\s*=")
"""How a word begins that names the dataset of all runs."""


@dataclass(frozen=True)
class StudyFile:
    """What a study file says, and the text that it was read from."""

    table: Mapping[str, Any]
    """Without ``[quick]``."""
    source: str = ""
    """The author's text, with comments; it may say something else than the table."""

    @classmethod
    def parse(cls, text: str, name: str = "The study file") -> "StudyFile":
        """The study of a text."""
        table = parse_toml(text, name)
        return cls({key: value for key, value in table.items() if key != "quick"}, text)

    @cached_property
    def text(self) -> str:
        """As a file says it: the author's text, with the changes that flags made."""
        return edit_toml(self.source, self.table)

    @cached_property
    def sweep(self) -> Sweep:
        """The settings of its runs."""
        return expand(self.table)

    @property
    def baselines(self) -> tuple[str, ...]:
        """What its report compares scores with: objectives, settings or ``score=number``."""
        return baselines(self.table.get("baseline", []))

    @property
    def folder_name(self) -> str:
        """Its name as that of a folder.

        Example:
            >>> StudyFile({"name": "Three betas, again"}).folder_name
            'three-betas-again'
        """
        words = re.findall(r"\w+", str(self.table.get("name", "")).lower())
        return "-".join(words) or "study"


def read_study(
    file: Path | None,
    *,
    assignments: Sequence[str] = (),
    grid: Sequence[str] = (),
    seeds: str | None = None,
    metrics: str | None = None,
    protocol: str | None = None,
    quick: bool = False,
) -> StudyFile:
    """The study of a file and of the flags of a command.

    Args:
        file: A TOML file, or the name of a preset; None to build a study from flags alone.
        assignments: Words such as ``train.steps=100``, ``steps=100``, ``beta=4`` or ``name=mine``.
        grid: Axes such as ``objective.beta=1,2,4``; they multiply every grid of the file.
        seeds: Such as ``0..4``.
        metrics: Names with commas between, or ``all``.
        protocol: Of the scores.
        quick: Put what the file has under ``[quick]`` in its place; else that is left out.
    """
    if file is None and not (assignments or grid or seeds or metrics or protocol or quick):
        raise ConfigError(
            "Name a study file, or at least one axis such as --grid objective.beta=1,2,4."
        )
    file = find_file(file) if file else None
    source = read_text(file) if file else ""
    table = parse_toml(source, str(file))
    shorter = table.pop("quick", None)
    table.setdefault("name", file.stem if file else "study")
    if quick:
        table = _with_quick(table, shorter)
    table = _with_words(table, assignments)
    if grid:
        table["across"] = with_axes(table.get("across", {}), grid)
    if seeds is not None:
        table["seeds"] = config.seeds(seeds)
    if isinstance(listed := table.get("metrics") if metrics is None else metrics, str):
        names = [name.strip() for name in listed.split(",")]
        table["metrics"] = "all" if names == ["all"] else names
    if protocol is not None:
        table["protocol"] = protocol
    return StudyFile(table, source)


def _with_words(table: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """A study's table with words such as ``steps=100``, which are settings of its runs.

    A dataset that is named so is that of all runs: it takes the place of an axis of datasets.
    """
    own = [word for word in assignments if re.split(r"[.=]", word.strip())[0] in KEYS]
    result = config.assign(table, own)
    if rest := [word for word in assignments if word not in own]:
        result["train"] = words.apply(result.get("train", {}), rest)
    across = result.get("across")
    if isinstance(across, dict) and any(DATASET.match(word.strip()) for word in assignments):
        result["across"] = {name: axis for name, axis in across.items() if name != "data"}
    return result


def find_file(file: Path) -> Path:
    """A file that is there, or the preset of that name where it is a bare word."""
    if file.is_file() or file.suffix or len(file.parts) > 1:
        return file
    return presets.file(str(file))


def _with_quick(table: Mapping[str, Any], quick: Any) -> dict[str, Any]:
    """The short version of a study, under a name of its own."""
    if not isinstance(quick, dict) or not quick:
        raise ConfigError(
            "This study has no quick version: its file has no table [quick] with settings."
        )
    try:
        shorter = dotted.override(table, quick)
    except KeyError as error:
        path = error.args[0]
        hint = nearest(path, [paths for paths, _ in dotted.leaves(table)])
        raise ConfigError(f"[quick] sets {path}, which the study does not{hint}") from error
    return {**shorter, "name": f"{table['name']} quick"}


def with_axes(across: Any, axes: Sequence[str]) -> dict[str, Any]:
    """The table ``[across]`` with axes such as ``objective.beta=1,2,4``."""
    if not isinstance(across, dict):
        raise ConfigError(f"[across] must be a table of settings; got {across!r}.")
    result = dict(across)
    for axis in axes:
        path, equals, text = (part.strip() for part in axis.partition("="))
        if not equals or not path or not text:
            raise ConfigError(f"Expected an axis such as objective.beta=1,2,4; got '{axis}'.")
        paths = [f"{p}.name" if p in dotted.NAMED else p for p, _ in dotted.leaves(result)]
        if path in paths or f"{path}.name" in paths:
            raise ConfigError(f"The axis {path} comes twice.")
        dotted.put(result, check_name(path, "An axis"), _points(text, path))
    return result


def _points(text: str, path: str) -> list[Any]:
    """The values of an axis: a TOML list, or values with commas between; bare words are strings."""
    for attempt in (text, f"[{text}]"):
        value = parse_value(attempt, path)
        if isinstance(value, list):
            return value
    return [parse_value(word.strip(), path) for word in text.split(",")]
