"""Figure of a study: what codes say about images against how well images come back."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration, sample
from unknot.core.text import number, setting_text
from unknot.report.labels import place_labels
from unknot.report.study.catalogue import Figure, Part
from unknot.report.study_style import (
    DataFigure,
    darker,
    legend,
    looks,
    maybe_log,
    panels,
)
from unknot.report.style import (
    MUTED,
    PAPER,
    RULE,
    SMALL,
    set_panel,
    styled,
)

TITLE = "Rate and distortion, in nats"


def applies(part: Part) -> Iterator[Figure]:
    """Where two runs have both, and one of them ended well."""
    results, pair = part.results, ("kl", "recon")
    both = any(one.has(*pair) for one in results.configurations)
    if both and results.runs_with(*pair) > 1:
        lost = sum(len(rows) - len(x) for rows, x, _ in (
            _both(one, *pair) for one in results.configurations
        ))  # fmt: skip
        yield Figure("trade-offs", "rate-distortion", TITLE, notes(lost), lambda: draw(results))


def notes(lost: int) -> tuple[str, ...]:
    """How many runs have no dot."""
    return (f"{lost} runs that diverged or lack one of the two are not shown." if lost else "",)


@styled
def draw(results: Results, *, rate: str = "kl", distortion: str = "recon") -> DataFigure:
    """Reconstruction loss against divergence, in nats: runs as dots, means of settings as marks.

    Along a grey line the ELBO, minus the sum of the two, is the same.

    Paper: Alemi et al. 2018, "Fixing a broken ELBO", for the plane.

    Args:
        results: Of one dataset.
        rate: Name of a column.
        distortion: Name of a column.
    """
    results.choose([rate, distortion])
    found = results.configurations
    looked = looks(cell.objective for cell in found)
    figure, (axes,) = panels(1, across=1, size=(6.6, 4.5), head=0.5, title=TITLE)
    rows, marks, seen = [], [], []
    for cell in found:
        own, x, y = _both(cell, rate, distortion)
        rows += own
        if not len(x):
            continue
        look = looked[cell.objective]
        axes.plot(x, y, ".", color=look.colour, markersize=2.5, alpha=0.35, markeredgewidth=0)
        marks.append((float(x.mean()), float(y.mean()), cell))
        seen.append(np.stack([x, y]))
    for name, look in looked.items():
        own_marks = [(x, y) for x, y, cell in marks if cell.objective == name]
        axes.plot(
            *np.array(own_marks).reshape(-1, 2).T, color=look.colour, marker=look.marker,
            linestyle=look.dash, linewidth=0.9, markersize=5, markeredgecolor=PAPER,
            markeredgewidth=0.6,
        )  # fmt: skip
    set_panel(axes, "", grid="both", ticks=5)
    x, y = np.concatenate(seen, axis=1) if seen else np.ones((2, 1))
    maybe_log(axes, "x", x)
    maybe_log(axes, "y", y)
    named = _same_elbo(axes, x, y)
    axes.set_xlabel(f"rate, {rate}")
    axes.set_ylabel(f"distortion, {distortion}")
    lost = len(rows) - (x.size if seen else 0)
    legend(figure, looked, notes=notes(lost))
    ends = [mark for i, mark in enumerate(marks) if _is_end(marks, i)]
    place_labels(
        figure,
        axes,
        [(mx, my) for mx, my, _ in ends],
        [setting_text(cell.strength) for *_, cell in ends],
        [darker(looked[cell.objective].colour) for *_, cell in ends],
        paths=[[(mx, my) for mx, my, cell in marks if cell.objective == name] for name in looked],
        texts=named,
    )
    return DataFigure(figure, rows)


def _same_elbo(axes: Axes, x: np.ndarray, y: np.ndarray) -> list[Text]:
    """Lines of equal sums, at round numbers, and their names where they come in."""
    named: list[Text] = []
    limits = axes.get_xlim(), axes.get_ylim()
    sums = x + y
    along = np.geomspace(max(limits[0][0], 1e-9), limits[0][1], 200)
    if axes.get_xscale() == "linear":
        along = np.linspace(*limits[0], 200)
    for total in MaxNLocator(6).tick_values(float(sums.min()), float(sums.max())):
        inside = (total - along > limits[1][0]) & (total - along < limits[1][1])
        if inside.sum() < 2:
            continue
        axes.plot(along[inside], total - along[inside], color=RULE, linewidth=0.9, zorder=0)
        begin = along[inside][0], total - along[inside][0]
        on_top = begin[0] > along[0]
        named.append(
            axes.annotate(
                f"ELBO {number(-float(total))}", begin, xytext=(7, -7) if on_top else (3, 2),
                textcoords="offset points", fontsize=SMALL, color=MUTED, zorder=0,
            )
        )  # fmt: skip
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
    return named


def _is_end(marks: list[tuple[float, float, Configuration]], i: int) -> bool:
    """Whether a mark is the first or last of its objective."""
    own = [j for j, mark in enumerate(marks) if mark[2].objective == marks[i][2].objective]
    return i in (own[0], own[-1])


def _both(
    cell: Configuration, rate: str, distortion: str
) -> tuple[list[dict[str, Any]], np.ndarray, np.ndarray]:
    """Rows of all runs, and the two numbers of those that have both and did not diverge."""
    rows: list[dict[str, Any]] = []
    kept = []
    told = [n for n in ("status", "diverged", rate, distortion) if n in cell.runs]
    for i in range(len(cell.runs[rate])):
        run = {name: [cell.runs[name][i]] for name in told}
        pair = [sample(run, name).values for name in (rate, distortion)]
        whole = all(len(values) for values in pair)
        if whole:
            kept.append([float(values[0]) for values in pair])
        rows.append(
            {
                "objective": cell.objective,
                "strength": cell.strength,
                **{name: cell.runs[name][i] for name in ("seed", "status") if name in cell.runs},
                rate: cell.runs[rate][i],
                distortion: cell.runs[distortion][i],
                "shown": whole,
            }
        )
    x, y = np.array(kept).reshape(-1, 2).T
    return rows, x, y
