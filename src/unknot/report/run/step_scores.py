"""Scores of a run at the steps whose weights it kept, as curves."""

import math
import textwrap
from collections.abc import Mapping

import numpy as np
import torch
from matplotlib.figure import Figure

from unknot.metrics import facts, lower_is_better
from unknot.report.model.figures import PANEL, draw_curve
from unknot.report.style import ACCENT, INK, new_figure, styled
from unknot.runs import records
from unknot.runs.curves import Curves
from unknot.runs.metric_names import is_metric
from unknot.runs.records import Record
from unknot.runs.run import Run

MOST = 12
"""Scores that are drawn, at most."""
LETTERS_OF_TITLE = 32
"""Of a panel's title that go into a line."""


def record_label(name: str, record: Record) -> str:
    """A score with the protocol and the part of the rows that it is of, where it is not plain."""
    protocol = record.protocol["name"]
    words = [word for word in (protocol, record.part) if word and word != "unknot"]
    return f"{name} ({', '.join(words)})" if words else name


def step_scores(run: Run) -> dict[str, Curves]:
    """Of each score in the run's folder that was measured before the last step, its curve.

    The value at the last step is among them where it is known; a member without a score is NaN.
    """
    ids = run.spec.ids()
    histories: dict[str, dict[int, list[float]]] = {}
    for record in records.read(run.path) if run.path else []:
        if record.id in ids:
            step = run.spec.updates if record.step is None else record.step
            for name, value in record.values.items():
                row = histories.setdefault(record_label(name, record), {})
                row.setdefault(step, [math.nan] * len(ids))[ids.index(record.id)] = value
    return {
        name: Curves(sorted(rows), {name: [torch.tensor(rows[s]).double() for s in sorted(rows)]})
        for name, rows in histories.items()
        if len(rows) > 1
    }


@styled
def step_scores_figure(curves: Mapping[str, Curves], *, across: int = 3) -> Figure:
    """A panel for each of the first twelve scores; a ring at the step with the best median.

    Args:
        curves: From `step_scores`.
        across: Panels side by side.
    """
    names = [*curves][:MOST]
    across = min(len(names), across)
    down = math.ceil(len(names) / across)
    figure = new_figure((PANEL[0] * across, PANEL[1] * down))
    for i, name in enumerate(names):
        axes = figure.add_subplot(down, across, i + 1)
        draw_curve(axes, curves[name], name)
        axes.set_title(textwrap.fill(name, LETTERS_OF_TITLE))
        if (sign := _sign(name)) and (best := _best(curves[name], name, sign)):
            alone = len(curves[name].values[name][0]) == 1
            axes.plot(
                *best, "o", markersize=8, fillstyle="none", color=ACCENT if alone else INK,
                markeredgewidth=1.4, clip_on=False,
            )  # fmt: skip
    return figure


def _sign(name: str) -> int:
    """1 if more is better, -1 if less is, 0 if neither."""
    metric = name.partition(" (")[0]
    if is_metric(metric) and facts(metric.partition(".")[0]).better == "neither":
        return 0
    return -1 if lower_is_better(metric) else 1


def _best(curves: Curves, name: str, sign: int) -> tuple[int, float] | None:
    """The step with the best median over members, and that median."""
    rows = zip(curves.steps, curves[name].numpy(), strict=True)
    points = [
        (step, float(np.median(row[np.isfinite(row)]))) for step, row in rows
        if np.isfinite(row).any()
    ]  # fmt: skip
    return max(points, key=lambda point: sign * point[1]) if points else None
