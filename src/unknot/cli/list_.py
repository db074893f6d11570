"""``unknot list``: what there is to choose from."""

from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from unknot.core.registry import Room


class What(StrEnum):
    """Catalogues."""

    objectives = "objectives"
    datasets = "datasets"
    metrics = "metrics"
    nets = "nets"
    samplers = "samplers"


def list_(
    what: Annotated[What, typer.Argument(help="What to list.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List objectives, datasets, metrics, nets or samplers with their settings and presets.

    Includes those that other installed packages add.

    Change a setting with `--set objective.NAME=VALUE`, `--set net.NAME=VALUE` and so on. A preset
    is a named set of settings, e.g. `--preset study2019`. A sampler chooses the images of each
    batch (single images, pairs or triplets); its settings begin with `draw`, e.g.
    `--set draw.name=pairs`.

    Example: `unknot list objectives`
    """
    from rich.markup import escape

    from unknot.cli.screen import say, table

    rows = _rows(what.value)
    if json:
        table([], rows, True)
        return
    for row in rows:
        say(f"[bold]{row['name']}[/]  {escape(row['what it is'])}")
        words = " ".join(
            f"{key}={usual}" if usual else key for key, usual in row["settings"].items()
        )
        presets = row.get("presets")
        if "better" in row:
            words = f"{row['better']} is better; needs {', '.join(row['needs'])}"
        for line in (row["paper"], words, f"presets: {', '.join(presets)}" if presets else ""):
            if line:
                say(f"  [dim]{escape(line)}[/]")


def _rows(room: "Room") -> list[dict[str, Any]]:
    from unknot.core import registry
    from unknot.core.errors import ConfigError

    facts: dict[str, Callable[[str], dict[str, Any]]] = {"metrics": _facts, "samplers": _views}
    rows = []
    for name in registry.names(room):
        row: dict[str, Any] = {
            "name": name,
            "what it is": registry.summary(room, name),
            "paper": registry.paper(room, name),
            "settings": {},
            "presets": [],
        }
        # One broken package must not hide the others; the summary says what is wrong with it.
        with suppress(ConfigError):
            row["settings"] = registry.settings(room, name)
            row["presets"] = registry.preset_names(room, name)
            row |= facts[room](name) if room in facts else {}
        rows.append(row)
    return rows


def _views(name: str) -> dict[str, Any]:
    from unknot.core import registry

    return {"views": registry.get("samplers", name).views}


def _facts(name: str) -> dict[str, Any]:
    from dataclasses import asdict

    from unknot.metrics import facts

    return {key: value for key, value in asdict(facts(name)).items() if key != "name"}
