"""``unknot list``: what there is to choose from."""

import re
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.cli.options import Json

if TYPE_CHECKING:
    from unknot.core.registry import Room


DOCUMENTS = {
    "study2019|Locatello et al. 2019": "Locatello et al. 2019: Challenging Common "
    "Assumptions in the Unsupervised Learning of Disentangled Representations; study2019 means the "
    "settings of its 10,800 models.",
    "[Mm]ichlo": "Michlo 2022: a dissertation on distances between images.",
    "[Mm]ushom": "Mushom 2020: an MSc thesis that compares five objectives on dSprites.",
    "[oÖ]zcan": "Moğultay Özcan 2024: a PhD thesis on learnt loss weights (L-VAE).",
}
"""What names in a list refer to, by what is in them; few readers know these by name."""
USES = {
    "objectives": "Use one: unknot train --objective NAME --preset PRESET "
    "--set objective.SETTING=VALUE. docs/objectives.md explains settings and presets.",
    "datasets": "Use one: unknot train --data NAME --set data.SETTING=VALUE. "
    "Look at one: unknot data show NAME.",
    "metrics": "Use some: unknot evaluate RUN --metrics NAME,NAME. "
    "docs/metrics.md says which to use for what.",
    "nets": "Use one: unknot train --net NAME --set net.SETTING=VALUE.",
    "samplers": "Use one: unknot train --set sampler.name=NAME --set sampler.SETTING=VALUE.",
}
BETTER = {"neither": "neither direction is better"}


class What(StrEnum):
    """Catalogues."""

    objectives = "objectives"
    datasets = "datasets"
    metrics = "metrics"
    nets = "nets"
    samplers = "samplers"


def list_(what: Annotated[What, typer.Argument(help="What to list.")], json: Json = False) -> None:
    """List objectives, datasets, metrics, nets or samplers with their settings and presets.

    Includes those that other installed packages add. Objectives are grouped by what they act on,
    metrics by what they measure.

    Change a setting with `--set objective.NAME=VALUE`, `--set net.NAME=VALUE` and so on. A preset
    is a named set of settings, e.g. `--preset study2019`. A sampler chooses the images of each
    batch (single images, pairs or triplets); its settings begin with `sampler`, e.g.
    `--set sampler.name=pairs`.

    Example: `unknot list objectives`
    """
    from unknot.cli.screen import print_json, say

    rows = _rows(what.value)
    if json:
        print_json(rows)
        return
    by_name = {row["name"]: row for row in rows}
    for heading, members in _groups(what.value, list(by_name)).items():
        if heading:
            title, colon, rest = heading.partition(": ")
            say(("\n" + title.capitalize(), "bold underline"), colon + rest)
        for name in members:
            _show(by_name[name])
    say(f"\n{USES[what]}")
    for pattern, document in DOCUMENTS.items():
        if re.search(pattern, str(rows)):
            who, colon, rest = document.partition(": ")
            say((who, "bold"), colon + rest)


def _groups(room: "Room", names: list[str]) -> dict[str, list[str]]:
    """Names under the headings of their groups; all under an empty one where there are none."""
    if room == "objectives":
        from unknot.objectives.parts.families import FAMILIES, families

        return {f"{family}: {FAMILIES[family]}": group for family, group in families(names).items()}
    if room == "metrics":
        from unknot.metrics.parts.facts import by_property, property_text

        groups = by_property(names)
        return {f"{aspects}: {property_text(aspects)}": group for aspects, group in groups.items()}
    return {"": names}


def _show(row: dict[str, Any]) -> None:
    from unknot.cli.screen import say

    say((row["name"], "bold"), f"  {row['what it is']}")
    settings = [f"{key}={usual}" if usual else key for key, usual in row["settings"].items()]
    lines = [row["paper"], " ".join(settings)]
    if row.get("supervision", "none") != "none":
        lines.append(f"supervision: {row['supervision']}")
    if "better" in row:
        better = BETTER.get(row["better"], f"{row['better']} is better")
        lines.append(f"{better}; needs {', '.join(row['needs'])}")
        lines.append(f"depends on {', '.join(row['depends_on'])}" if row["depends_on"] else "")
    if row["presets"]:
        lines.append(f"presets: {', '.join(row['presets'])}")
    for line in filter(None, lines):
        say((f"  {line}", "dim"))


def _rows(room: "Room") -> list[dict[str, Any]]:
    from unknot.core import registry
    from unknot.core.errors import ConfigError

    rows = []
    for name in registry.names(room):
        row: dict[str, Any] = {
            "name": name,
            "what it is": registry.summary(room, name),
            "paper": registry.paper(room, name),
            "settings": {},
            "presets": [],
        }
        if room == "objectives":
            from unknot.objectives.parts.families import family, supervision

            row |= {"family": family(name), "supervision": supervision(name)}
        # One broken package must not hide the others; the summary says what is wrong with it.
        with suppress(ConfigError):
            row["settings"] = registry.settings(room, name)
            row["presets"] = registry.preset_names(room, name)
            if room == "metrics":
                from unknot.metrics import facts

                row |= {k: v for k, v in vars(facts(name)).items() if k != "name"}
            elif room == "samplers":
                row["views"] = registry.get("samplers", name).views
        rows.append(row)
    return rows
