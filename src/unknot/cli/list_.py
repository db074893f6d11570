"""``unknot list``: what there is to choose from."""

from enum import StrEnum
from typing import Annotated

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

    Settings are given with `--set objective.NAME=VALUE`, `--set data.NAME=VALUE` and so on.

    Example: `unknot list objectives`
    """
    from unknot.cli.screen import table
    from unknot.core import registry

    rows = []
    for name in registry.names(what.value):
        settings = registry.settings(what.value, name)
        words = [f"{key}={default}" if default else key for key, default in settings.items()]
        rows.append(
            {
                "name": name,
                "what it is": registry.summary(what.value, name),
                "settings": settings if json else " ".join(words),
            }
        )
    columns = ["name", "what it is", "settings"]
    table(columns[:2] if what is What.metrics else columns, rows, json)
