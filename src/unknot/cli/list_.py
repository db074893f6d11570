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

    Example: `unknot list objectives`
    """
    from unknot.cli.screen import table
    from unknot.core import registry

    rows = [
        {"name": name, "what it is": registry.summary(what.value, name)}
        for name in registry.names(what.value)
    ]
    table(["name", "what it is"], rows, json)
