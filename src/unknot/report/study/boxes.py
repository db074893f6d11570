"""Boxes, violins and dots: how the values of a row are drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from unknot.analysis.configurations import Configuration, Sample
from unknot.report.study.style import FEW
from unknot.report.style import ALARM, INK, PAPER, SMALL

HALF = 0.4
"""Of the height of a row: half of a violin or box."""

Row = tuple[float, np.ndarray]
"""Where it stands, and its values."""


def plot_rows(axes: Axes, rows: Sequence[Row], kind: str, color: str) -> None:
    """The rows of one colour: a few artists for all, since matplotlib is slow with many."""
    rows = [(y, values) for y, values in rows if len(values)]
    if not rows:
        return
    few = [(y, values) for y, values in rows if len(values) <= FEW]
    many = [(y, values) for y, values in rows if len(values) > FEW]
    if few:
        axes.plot(*_dots(few), "o", color=color, markersize=3, alpha=0.6)
    if many and kind == "violin":
        for y, values in many:
            grid, wide = density(values)
            axes.fill_between(grid, y - HALF * wide, y + HALF * wide, color=color, linewidth=0.4)
        axes.plot(
            [np.median(values) for _, values in many], [y for y, _ in many], "|",
            color=PAPER, markersize=5, markeredgewidth=1.2,
        )  # fmt: skip
    elif many:
        _boxes(axes, many, color)
    axes.plot(
        [values.mean() for _, values in rows], [y for y, _ in rows], "x", color=INK,
        markersize=3, markeredgewidth=0.9, zorder=4,
    )  # fmt: skip


def _boxes(axes: Axes, rows: Sequence[Row], color: str) -> None:
    y = np.array([place for place, _ in rows])
    q1, middle, q3 = np.array([np.quantile(values, (0.25, 0.5, 0.75)) for _, values in rows]).T
    low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    near = [(v >= a) & (v <= b) for (_, v), a, b in zip(rows, low, high, strict=True)]
    inside = [values[mask] for (_, values), mask in zip(rows, near, strict=True)]
    ends = np.array([(values.min(), values.max()) for values in inside])
    axes.hlines(y, ends[:, 0], ends[:, 1], color=color, linewidth=0.9)
    axes.barh(
        y, q3 - q1, left=q1, height=1.6 * HALF, color=PAPER, edgecolor=color,
        linewidth=0.9, zorder=2,
    )  # fmt: skip
    axes.vlines(middle, y - 0.8 * HALF, y + 0.8 * HALF, color=color, linewidth=1.8, zorder=3)
    beyond = [(place, values[~mask]) for (place, values), mask in zip(rows, near, strict=True)]
    axes.plot(*_dots(beyond), ".", color=color, markersize=1.8, alpha=0.7)


def _dots(rows: Sequence[Row]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """All values, and the height of each."""
    heights = np.repeat([y for y, _ in rows], [len(values) for _, values in rows])
    return np.concatenate([values for _, values in rows]), heights.astype(float)


def half_violin(
    axes: Axes, values: Float[np.ndarray, " n"], y: float, side: int, color: str
) -> None:
    """One half of a violin: above its line for -1, below for 1."""
    if not len(values):
        return
    if len(values) <= FEW:
        heights = np.full(len(values), y + 0.2 * side)
        axes.plot(values, heights, "o", color=color, markersize=2.6, alpha=0.7)
        return
    grid, wide = density(values)
    axes.fill_between(grid, y, y + side * 1.05 * HALF * wide, color=color, linewidth=0.4)
    middle = np.median(values)
    axes.vlines(middle, y, y + side * HALF, color=INK, linewidth=1.1, zorder=3)


def density(
    values: Float[np.ndarray, " n"], points: int = 120
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Density of values between their ends, at most 1; a single value is a spike."""
    from scipy.stats import gaussian_kde

    if np.ptp(values) < 1e-9 * max(1.0, float(np.abs(values).max())):
        return np.repeat(values[:1], 2), np.ones(2)
    grid = np.linspace(values.min(), values.max(), points)
    wide = gaussian_kde(values)(grid)
    return grid, wide / wide.max()


def note_at_right(axes: Axes, text: str, y: float) -> None:
    """A short text in the colour of alarm at the right of a row."""
    axes.annotate(
        text, (1, y), xycoords=axes.get_yaxis_transform(), xytext=(1, 0),
        textcoords="offset points", va="center", fontsize=SMALL, color=ALARM,
        annotation_clip=False,
    )  # fmt: skip


def mark_missing(axes: Axes, sample: Sample, y: float) -> None:
    """Say at the right of a row how many runs it lacks."""
    if sample.missing:
        note_at_right(axes, f"−{sample.missing}", y)


def run_rows(configuration: Configuration, **columns: Sequence[Any]) -> list[dict[str, Any]]:
    """The runs of a configuration as rows of a CSV file, with these columns."""
    facts = [name for name in ("seed", "status") if name in configuration.runs]
    columns = {**{name: configuration.runs[name] for name in facts}, **columns}
    return [
        {
            "objective": configuration.objective,
            "swept_value": configuration.swept_value,
            **dict(zip(columns, cells, strict=True)),
        }
        for cells in zip(*columns.values(), strict=True)
    ]


def score_rows(configuration: Configuration, score: str) -> list[dict[str, Any]]:
    """The runs of a configuration and one of their scores as rows of a CSV file."""
    return run_rows(
        configuration, score=[score] * configuration.size, value=configuration.runs[score]
    )


def describe_missing(configurations: Sequence[Configuration], scores: Sequence[str]) -> str:
    """What `mark_missing` has counted."""
    missing = missing_runs(configurations, scores)
    return f"Not shown, counted at the right of their rows: {missing}." if missing else ""


def missing_runs(configurations: Sequence[Configuration], scores: Sequence[str]) -> str:
    """How many of these runs lack a score, by what became of them."""
    most = {
        why: sum(max(getattr(c.sample(s), why) for s in scores) for c in configurations)
        for why in ("diverged", "undefined", "unfinished")
    }
    return ", ".join(f"{n} {why}" for why, n in most.items() if n)
