"""What the ``unknot study`` commands print, as text or as JSON."""

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unknot.study.plan import Plan
    from unknot.study.study import Study

MOST_LINES = 40
"""Of a table for people; files and --json have all."""


def say_plan(given: "Plan", facts: dict[str, Any], here: str, json: bool) -> None:
    """What a study would run."""
    import json as text

    from unknot.cli.screen import say, table
    from unknot.metrics import protocols_for
    from unknot.study import export
    from unknot.study.plan import setting_table
    from unknot.study.study import flat

    settings = [flat(setting_table(spec)) for spec in given.settings]
    if json:
        typer.echo(text.dumps({**facts, "plan": settings, "ids": [r.id for r in given.runs]}))
        return
    if varied := export.varied(settings):
        table(*short(varied, settings), False)
        if len(settings) > MOST_LINES:
            say(f"... and {len(settings) - MOST_LINES:,} more configurations")
    say(
        f"{facts['name']}: {facts['runs']:,} runs ({facts['settings']:,} configurations x "
        f"{facts['seeds']:,} seeds) in {facts['populations']:,} populations, "
        f"{facts['steps']:,} steps"
    )
    if facts["doubles"]:
        say(f"{facts['doubles']:,} duplicate configurations are counted once.")
    sweep = given.sweep
    known = {m: protocols_for(m) for m in sweep.metrics or ()}
    lacking = [m for m, names in known.items() if names and sweep.protocol not in names]
    if lacking:
        say(f"Not scored (no protocol {sweep.protocol}): {', '.join(lacking)}.")
    say(f"Machine: {here}.")
    if "estimate" in facts:
        say(f"Time: {facts['estimate']}.")
    if "budget" in facts:
        say(f"Budget: {facts['budget']}.")


def say_status(study: "Study", json: bool) -> None:
    """The progress of a study."""
    import json as text

    from rich.markup import escape

    from unknot.cli.screen import say

    facts = study.status()
    if json:
        typer.echo(text.dumps(facts, indent=1))
        return
    for what in ("runs", "populations"):
        counts = [f"{n:,} {name}" for name, n in facts[what].items() if name != "all"]
        say(f"{facts[what]['all']:,} {what}: {', '.join(counts)}")
    done, steps = facts["steps"]["done"], facts["steps"]["all"]
    say(f"{done:,} of {steps:,} steps ({done / max(steps, 1):.0%}), {facts['scores']:,} scores")
    for failure in facts["failures"]:
        say(escape(f"{failure['populations']} failed: {failure['error']}"))
    if facts["driver"]:
        say("A process is running it now.")
    elif facts["runs"].get("waiting") or facts["failures"]:
        say(f"Resume with: unknot study run {study.path}")


def short(
    names: list[str], rows: "Sequence[Mapping[str, Any]]"
) -> tuple[list[str], list[dict[str, str]]]:
    """A table for people: the first lines, and short names where they are clear."""
    from unknot.core.text import cell_text

    brief = [name.removeprefix("objective.") for name in names]
    heads = [b if brief.count(b) == 1 else n for n, b in zip(names, brief, strict=True)]
    pairs = [*zip(heads, names, strict=True)]
    return heads, [{head: cell_text(row.get(n)) for head, n in pairs} for row in rows[:MOST_LINES]]
