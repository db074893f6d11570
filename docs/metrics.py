"""Fill in the tables of ``docs/metrics.md``: ``python docs/metrics.py``, about a minute.

The page is written by hand but for what stands between ``<!-- name -->`` and ``<!-- end -->``.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import representations
from places import filled

from unknot.core import registry
from unknot.core.errors import DataError
from unknot.metrics import facts
from unknot.metrics.parts.facts import (
    DEPENDENCES,
    MEANINGS,
    by_property,
    property_text,
    protocol_table,
    protocols_for,
)

PAGE = Path(__file__).with_suffix(".md")
HEADINGS = {
    "perfect": "perfect",
    "permuted": "permuted",
    "rescaled": "rescaled",
    "flipped": "sign flipped",
    "dead_first": "dead latent first",
    "dead_last": "dead latent last",
    "constant": "constant code",
    "duplicated": "duplicated",
    "rotated": "rotated 45°",
    "missing": "factor missing",
    "noise": "noise",
    "outlier": "outliers",
}
CLASSIC = ("beta_vae", "dci", "explicitness", "factor_vae", "irs", "mig", "modularity", "sap")


def catalogue() -> str:
    """Every metric in one line, with its facts; a table for each property that is measured."""
    names = ("name", "what it is", "range", "better", "needs", "depends on", "how to read it")
    head = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    groups = by_property(registry.names("metrics")).items()
    return "\n\n".join(
        "\n".join([f"*{of.capitalize()}*: {property_text(of)}.\n", *head, *map(_line, names)])
        for of, names in groups
    )


def _line(name: str) -> str:
    about = facts(name)
    columns = (
        f"`{name}`",
        registry.summary("metrics", name),
        about.range_text,
        about.better,
        ", ".join(about.needs),
        ", ".join(about.depends_on),
        about.reads,
    )
    return f"| {' | '.join(columns)} |"


def dependences() -> str:
    """What metrics depend on besides the codes, and which do."""
    about = {name: facts(name).depends_on for name in registry.names("metrics")}
    lines = [
        f"| {word} | {text} | {', '.join(f'`{name}`' for name in about if word in about[name])} |"
        for word, text in DEPENDENCES.items()
    ]
    return "\n".join(["| depends on | that is | metrics |", "|---|---|---|", *lines])


def meanings() -> str:
    """What each protocol stands for."""
    lines = [f"| `{name}` | {meaning} |" for name, meaning in MEANINGS.items()]
    return "\n".join(["| protocol | what it is |", "|---|---|", *lines])


def protocols() -> str:
    """Which metric has which protocol."""
    names = list(MEANINGS)
    heads = " | ".join(f"`{name}`" for name in names)
    lines = [f"| metric | {heads} |", "|---" * (1 + len(names)) + "|"]
    for metric in registry.names("metrics"):
        marks = ["yes" if name in protocols_for(metric) else "" for name in names]
        lines.append(f"| {metric} | {' | '.join(marks)} |")
    return "\n".join(lines)


def codes_only() -> list[str]:
    """Metrics that codes and factors suffice for."""
    needs = {name: facts(name).needs for name in registry.names("metrics")}
    return [name for name, of in needs.items() if "codes" in of and "posteriors" not in of]


def table(metrics: Sequence[str], protocol: str) -> str:
    """Scores of the reference representations."""
    lines = [f"| metric | {' | '.join(HEADINGS.values())} |", "|---" * (1 + len(HEADINGS)) + "|"]
    lines += [row(metric, protocol) for metric in metrics]
    return "\n".join(lines)


def row(metric: str, protocol: str) -> str:
    """One metric of all reference representations."""
    values = [value(metric, protocol, name) for name in HEADINGS]
    return f"| {metric} | {' | '.join(values)} |"


def value(metric: str, protocol: str, name: str) -> str:
    """One metric of one reference representation, to two decimals."""
    function = registry.get("metrics", metric)
    try:
        score = float(function(*representations.get(name), protocol=protocol))
    except DataError:
        return "error"
    return f"{score:.2f}".replace("-0.00", "0.00")


TABLES: dict[str, Callable[[], str]] = {
    "metrics": catalogue,
    "dependences": dependences,
    "meanings": meanings,
    "protocols": protocols,
    "settings": protocol_table,
    "representations": lambda: table(codes_only(), "unknot"),
    "representations study2019": lambda: table(CLASSIC, "study2019"),
}


def page(text: str) -> str:
    """The page with its tables made anew."""
    return filled(text, {name: make() for name, make in TABLES.items()})


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
