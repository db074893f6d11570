"""``unknot list``: what there is to choose from."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from unknot.core.registry import Room


class What(StrEnum):
    """Catalogues."""

    objectives = "objectives"
    datasets = "datasets"
    draws = "draws"
    metrics = "metrics"
    nets = "nets"


def list_(
    what: Annotated[What, typer.Argument(help="Catalogue to list.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List a catalogue with settings and presets, including entries from installed packages.

    Change a setting with `--set objective.NAME=VALUE`, `--set net.NAME=VALUE` and so on. A preset
    is a named set of settings, e.g. `--preset study2019`. A sampler (catalogue `draws`) chooses the
    images of each batch: single images, pairs or triplets, e.g. `--set draw.name=pairs`.

    Example: `unknot list objectives`
    """
    from rich.markup import escape

    from unknot.cli.screen import say, table

    rows = _draws() if what is What.draws else _room(cast("Room", what.value))
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


def _room(room: "Room") -> list[dict[str, Any]]:
    from unknot.core import registry

    facts = _facts if room == "metrics" else lambda _: {}
    return [
        {
            "name": name,
            "what it is": registry.summary(room, name),
            "paper": registry.paper(room, name),
            "settings": registry.settings(room, name),
            "presets": registry.preset_names(room, name),
            **facts(name),
        }
        for name in registry.names(room)
    ]


def _facts(name: str) -> dict[str, Any]:
    from dataclasses import asdict

    from unknot.metrics import facts

    return {key: value for key, value in asdict(facts(name)).items() if key != "name"}


def _draws() -> list[dict[str, Any]]:
    """They have no room of their own: `unknot.samplers.parts.draw` names ours."""
    import inspect
    import re
    from dataclasses import MISSING, fields
    from importlib.metadata import entry_points

    from unknot.core.errors import ConfigError
    from unknot.samplers.parts.draw import DRAWS, named

    rows: list[dict[str, Any]] = []
    for name in sorted({*DRAWS, *(entry.name for entry in entry_points(group="unknot.draws"))}):
        try:
            draw = named(name)
        except ConfigError as error:  # one broken package must not hide the others
            rows.append({"name": name, "what it is": str(error), "paper": "", "settings": {}})
            continue
        doc = inspect.getdoc(draw) or ""
        paper = re.search(r"^Paper: (.*? \d{4})", doc, re.MULTILINE)
        usual = {f.name: "" if f.default is MISSING else repr(f.default) for f in fields(draw)}
        rows.append({"name": name, "what it is": doc.partition("\n")[0]})
        rows[-1] |= {"paper": paper[1] if paper else "", "settings": usual, "views": draw.views}
    return rows
