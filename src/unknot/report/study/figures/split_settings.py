"""Figure of a study: two values of a setting back to back."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.analysis.plain_table import split_table
from unknot.core.errors import ConfigError
from unknot.core.text import setting_text
from unknot.report.study.catalogue import Figure, Part, slug
from unknot.report.study_boxes import (
    half,
    mark_missing,
    missing_words,
    run_rows,
)
from unknot.report.study_style import (
    ROW,
    DataFigure,
    Look,
    legend,
    lines_of,
    looks,
    panels,
)
from unknot.report.style import (
    INK,
    set_panel,
    styled,
)


def applies(part: Part) -> Iterator[Figure]:
    """For each setting of two values that some configuration has both of, two at most."""
    results, score = part.results, part.results.panels[0]
    for halves in halved(results):
        yield Figure(
            "spread", f"split-{slug(halves)}", title(score, halves),
            notes(results, score, halves),
            lambda halves=halves: draw(results, score, halves),  # type: ignore[misc]
            f"{score} by {halves}, back to back",
        )  # fmt: skip


def title(score: str, halves: str) -> str:
    """What stands above the panel."""
    return f"{score}, by {halves}"


def notes(results: Results, score: str, halves: str) -> tuple[str, ...]:
    """Which runs have no mark."""
    every = [one for side in _sides(results, halves) for one in side.values()]
    return (missing_words(every, [score]),)


def halved(results: Results) -> list[str]:
    """Settings other than the objective's own of which there are two values.

    Some setting must have both and differ in nothing else: else no violin has two halves.
    """
    table, found = results.table, results.configurations
    names = [n for n in results.settings if n.partition(".")[0] not in ("objective", "data")]
    two = [n for n in names if len({str(v) for v in table[n]}) == 2 and None not in table[n]]
    rest = {n: {_key_without(one, n) for one in found} for n in two}
    return [n for n in two if len(rest[n]) < len(found)][:2]


def _key_without(one: Configuration, name: str) -> str:
    return replace(one, settings={n: v for n, v in one.settings.items() if n != name}).key


def _sides(results: Results, halves: str) -> list[dict[str, Configuration]]:
    """The configurations with either value, by what they are called without it."""
    values = dict.fromkeys(results.table[halves])
    parts = [results.only(halves, [value]).without(halves) for value in values]
    return [{one.label: one for one in part.configurations} for part in parts]


@styled
def draw(results: Results, score: str, halves: str) -> DataFigure:
    """One score over seeds, two values of a column back to back at each setting.

    Args:
        results: Of any number of datasets.
        score: Name of a column.
        halves: Name of a column of two values: the first above, the second below the line.
    """
    results.choose([score, halves])
    parts = split_table(results.table, halves)
    if len(parts) != 2:
        raise ConfigError(
            f"A violin has two halves; '{halves}' has {len(parts)} values: "
            f"{', '.join(map(setting_text, parts))}."
        )
    looked = looks(map(setting_text, parts))
    sides = _sides(results, halves)
    order = list({**sides[1], **sides[0]}.values())
    lines = lines_of(order)
    size = (5.6, ROW * 1.35 * (lines.length + 1.5) + 0.3)
    figure, (axes,) = panels(1, across=1, size=size, head=0.9, title=title(score, halves))
    rows: list[dict[str, Any]] = []
    for side, value, own in zip((-1, 1), parts, sides, strict=True):
        for cell, place in zip(order, lines.places, strict=True):
            if cell.label not in own:
                continue
            runs = own[cell.label].sample(score)
            half(axes, runs.values, float(place), side, looked[setting_text(value)].colour)
            mark_missing(axes, runs, place + 0.25 * side)
            rows += [{halves: value, **row} for row in run_rows(own[cell.label], score)]
    set_panel(axes, "", grid="x", ticks=6)
    plain = {cell.objective: Look(INK, "", "-") for cell in order}
    lines.label_axis(axes, plain, first=True)
    axes.set_xlabel(score)
    bars = {name: Look(look.colour, "s", "") for name, look in looked.items()}
    legend(figure, bars, notes=notes(results, score, halves))
    return DataFigure(figure, rows)
