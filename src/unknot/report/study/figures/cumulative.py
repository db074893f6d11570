"""Figure of a study: cumulative distributions of scores."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from matplotlib.ticker import PercentFormatter

from unknot.analysis import Results
from unknot.report.study.baselines import Baseline, describe_baselines, draw_baselines
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.boxes import missing_runs
from unknot.report.study.style import FAR_APART, DataFigure, legend, looks, maybe_log, panels
from unknot.report.style import set_panel, styled


def applies(part: Part) -> Iterator[Figure]:
    """Where there are three runs or more."""
    results = part.results
    if len(results.table["objective"]) > 2:
        show = partial(draw, results, results.panels, baselines=part.baselines)
        yield Figure("spread", "cumulative", show, "Cumulative distributions")


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    by: Literal["setting", "objective"] = "objective",
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """Share of runs up to each value of a score, a line for each objective or configuration.

    Runs without the score, diverged ones among them, count as below all others: a line that starts
    above 0 has lost as many.

    Args:
        results: Of one dataset.
        scores: A panel each; all there are unless given.
        by: What has a line of its own.
        baselines: Lines across the panels.
    """
    names = results.choose(scores)
    configurations = results.configurations if by == "setting" else results.objectives
    all_looks = looks(c.label for c in configurations)
    looked = {name: replace(look, marker="") for name, look in all_looks.items()}
    figure, all_axes = panels(
        len(names), most=3, size=(2.9, 2.1), head=0.85, title="Share of runs at or below a score"
    )
    rows = []
    for score, axes in zip(names, all_axes, strict=True):
        for configuration in configurations:
            sample, look = configuration.sample(score), looked[configuration.label]
            values = np.sort(sample.values)
            share = (sample.missing + np.arange(1, len(values) + 1)) / sample.runs
            if len(values):
                axes.step(
                    np.concatenate([values[:1], values]),
                    np.concatenate([[sample.missing / sample.runs], share]),
                    where="post", color=look.color, linestyle=look.dash, linewidth=1.5,
                )  # fmt: skip
            rows += [
                {"objective": configuration.objective, "swept_value": configuration.swept_value,
                 "score": score, "value": float(v), "share": float(s)}
                for v, s in zip(values, share, strict=True)
            ]  # fmt: skip
        draw_baselines(axes, baselines, score, "x")
        set_panel(axes, score, grid="both")
        maybe_log(axes, "x", results.values(score), FAR_APART)
        axes.set_ylim(0, 1.02)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    missing = missing_runs(configurations, names)
    note = f"Counted as below all others: {missing}." if missing else ""
    legend(figure, looked, across=4, notes=(note, describe_baselines(baselines, names)))
    return DataFigure(figure, rows)
