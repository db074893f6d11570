"""Figure of a study: two values of a setting back to back."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.analysis.plain_table import split_table
from unknot.core.errors import ConfigError
from unknot.core.files import file_stem
from unknot.core.text import setting_text
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.boxes import describe_missing, half_violin, mark_missing, score_rows
from unknot.report.study.style import ROW, DataFigure, configuration_rows, legend, looks, panels
from unknot.report.style import set_panel, styled


def applies(part: Part) -> Iterator[Figure]:
    """For each setting of two values that some configuration has both of, two at most."""
    results, score = part.results, part.results.panels[0]
    for name in two_valued(results):
        show = partial(draw, results, score, name)
        yield Figure("spread", f"split-{file_stem(name)}", show, f"{score} by {name}, back to back")


def two_valued(results: Results) -> list[str]:
    """Settings other than the objective's own of which there are two values.

    Some configuration must have both and differ in nothing else: else no violin has two halves.
    """
    table, configurations = results.table, results.configurations
    names = [n for n in results.settings if n.partition(".")[0] not in ("objective", "data")]
    two = [n for n in names if len({str(v) for v in table[n]}) == 2 and None not in table[n]]
    rest = {n: {_key_without(c, n) for c in configurations} for n in two}
    return [n for n in two if len(rest[n]) < len(configurations)][:2]


def _key_without(configuration: Configuration, name: str) -> str:
    return replace(
        configuration, settings={n: v for n, v in configuration.settings.items() if n != name}
    ).key


@styled
def draw(results: Results, score: str, halves: str) -> DataFigure:
    """One score over seeds, two values of a column back to back at each configuration.

    Args:
        results: Of any number of datasets.
        score: Name of a column.
        halves: Name of a column of two values: the first above, the second below the line.
    """
    results.choose([score, halves])
    values = list(split_table(results.table, halves))
    if len(values) != 2:
        raise ConfigError(
            f"A violin has two halves; '{halves}' has {len(values)} values: "
            f"{', '.join(map(setting_text, values))}."
        )
    looked = {
        name: replace(look, marker="s", dash="")
        for name, look in looks(map(setting_text, values)).items()
    }
    # Configurations with either value, by what they are called without it.
    sides = [
        {c.label: c for c in results.only(halves, [value]).without(halves).configurations}
        for value in values
    ]
    order = list({**sides[1], **sides[0]}.values())
    layout = configuration_rows(order)
    figure, (axes,) = panels(
        1, size=(5.6, ROW * 1.35 * (layout.length + 1.5) + 0.3), head=0.9,
        title=f"{score}, by {halves}",
    )  # fmt: skip
    rows: list[dict[str, Any]] = []
    for side, value, by_label in zip((-1, 1), values, sides, strict=True):
        for label, place in zip((c.label for c in order), layout.places, strict=True):
            if label in by_label:
                sample, color = by_label[label].sample(score), looked[setting_text(value)].color
                half_violin(axes, sample.values, float(place), side, color)
                mark_missing(axes, sample, place + 0.25 * side)
                rows += [{halves: value, **row} for row in score_rows(by_label[label], score)]
    set_panel(axes, "", grid="x", ticks=6)
    layout.label_axis(axes)
    axes.set_xlabel(score)
    configurations = [c for side in sides for c in side.values()]
    legend(figure, looked, notes=(describe_missing(configurations, [score]),))
    return DataFigure(figure, rows)
