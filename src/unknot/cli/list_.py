"""``unknot list``: what there is to choose from."""

from enum import StrEnum
from typing import Annotated, Any

import typer


class What(StrEnum):
    """The four rooms that hold things with names."""

    objectives = "objectives"
    datasets = "datasets"
    metrics = "metrics"
    nets = "nets"


def list_(
    what: Annotated[What, typer.Argument(help="What to list.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the objectives, datasets, metrics or nets, ours and those of installed packages.

    Settings are given with `--set objective.NAME=VALUE`, `--set data.NAME=VALUE` and so on; presets
    are named sets of them, such as `--set objective.preset=study2019`.

    Example: `unknot list objectives`
    """
    from rich.markup import escape

    from unknot.cli.screen import say, table
    from unknot.core import registry

    room: registry.Room = what.value
    rows: list[dict[str, Any]] = []
    for name in registry.names(room):
        summary, paper = registry.summary(room, name), registry.paper(room, name)
        settings, presets = registry.settings(room, name), registry.preset_names(room, name)
        rows.append({"name": name, "what it is": summary, "paper": paper})
        rows[-1] |= {"settings": settings, "presets": presets}
        if json:
            continue
        say(f"[bold]{name}[/]  {escape(summary)}")
        words = " ".join(f"{key}={usual}" if usual else key for key, usual in settings.items())
        for line in (paper, words, f"presets: {', '.join(presets)}" if presets else ""):
            if line:
                say(f"  [dim]{escape(line)}[/]")
    if json:
        table([], rows, True)
