"""Figure of a study: cumulative distributions of scores."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from matplotlib.ticker import PercentFormatter

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.report.study.catalogue import Figure, Part
from unknot.report.study_baselines import Baseline, mark, named
from unknot.report.study_boxes import (
    missing_runs,
)
from unknot.report.study_style import (
    DataFigure,
    Look,
    legend,
    looks,
    panels,
)
from unknot.report.style import (
    set_panel,
    styled,
)

TITLE = "Share of runs at or below a score"


def applies(part: Part) -> Iterator[Figure]:
    """Where there are three runs or more."""
    results, shown = part.results, part.results.panels
    if len(results.table["objective"]) > 2:
        yield Figure(
            "spread", "cumulative", TITLE, notes(results.objectives, shown, part.baselines),
            lambda: draw(results, shown, baselines=part.baselines), "Cumulative distributions",
        )  # fmt: skip


def notes(
    found: Sequence[Configuration], names: Sequence[str], baselines: Sequence[Baseline]
) -> tuple[str, ...]:
    """Which runs are counted without a score."""
    missing = missing_runs(found, names)
    said = f"Counted as below all others: {missing}." if missing else ""
    return said, named(baselines, names)


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    by: Literal["setting", "objective"] = "objective",
    across: int = 3,
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """Share of runs up to each value of a score, a line for each objective or setting.

    Runs without the score, diverged ones among them, count as below all others: a line that starts
    above 0 has lost as many.

    Args:
        results: Of one dataset.
        scores: A panel each; all there are unless given.
        by: What has a line of its own.
        across: Panels side by side.
        baselines: Lines across the panels.
    """
    names = results.choose(scores)
    found = results.configurations if by == "setting" else results.objectives
    looked = looks(cell.label for cell in found)
    figure, drawn = panels(
        len(names), across=across, size=(2.9, 2.1), head=0.85,
        title=TITLE,
    )  # fmt: skip
    rows = []
    for score, axes in zip(names, drawn, strict=True):
        for cell in found:
            own = cell.sample(score)
            values = np.sort(own.values)
            share = (own.runs - len(values) + np.arange(1, len(values) + 1)) / own.runs
            look = looked[cell.label]
            if len(values):
                axes.step(
                    np.concatenate([values[:1], values]),
                    np.concatenate([[(own.runs - len(values)) / own.runs], share]),
                    where="post", color=look.colour, linestyle=look.dash, linewidth=1.5,
                )  # fmt: skip
            rows += [
                {"objective": cell.objective, "strength": cell.strength, "score": score,
                 "value": float(v), "share": float(s)}
                for v, s in zip(values, share, strict=True)
            ]  # fmt: skip
        mark(axes, baselines, score, "x")
        set_panel(axes, score, grid="both")
        axes.set_ylim(0, 1.02)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    plain = {name: Look(look.colour, "", look.dash) for name, look in looked.items()}
    legend(figure, plain, across=4, notes=notes(found, names, baselines))
    return DataFigure(figure, rows)
