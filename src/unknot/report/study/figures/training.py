"""Figure of a study: training curves of each term, a line for each setting."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from unknot.analysis.configurations import Configuration, has_diverged
from unknot.core.text import number
from unknot.report.figures import curve_names
from unknot.report.study.catalogue import Figure, Part
from unknot.report.study_style import (
    DASHES,
    DataFigure,
    below,
    panels,
    strength_words,
)
from unknot.report.style import (
    set_panel,
    styled,
)
from unknot.study.curves import Curves
from unknot.study.folder import RunFolder
from unknot.study.study import Study

MOST_CURVES = 60
"""Configurations whose curves are drawn, at most."""
POINTS = 200
"""Log steps of a line, at most."""
MOST_TERMS = 9
TENFOLD = 10.0

Band = dict[str, tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s n"]]]
"""For each term the steps, and the values of the seeds at each."""


def bands(study: Study, cells: Sequence[Configuration]) -> list[Band]:
    """What the runs of each cell logged, those that diverged left out."""
    read: dict[str, tuple[list[int], dict[str, np.ndarray]]] = {}
    found = []
    for cell in cells:
        lines: dict[str, list[tuple[list[int], np.ndarray]]] = {}
        for population, member in _members(cell):
            if population not in read:
                read[population] = _terms(_curves(study, population))
            steps, terms = read[population]
            for name, values in terms.items():
                lines.setdefault(name, []).append((steps, values[:, member]))
        found.append({name: _together(own) for name, own in lines.items()})
    return found


def applies(part: Part) -> Iterator[Figure]:
    """For each objective of a study of which a run has ended; two of them in sight."""
    every = part.results.configurations if part.study else []
    groups: dict[str, list[Configuration]] = {}
    for one in [one for one in every if "done" in one.runs["status"]][:MOST_CURVES]:
        groups.setdefault(one.objective, []).append(one)
    drawn = 0
    for name, group in groups.items():
        logged = bands(part.study, group) if part.study else []
        if any(logged):
            drawn += 1
            yield Figure(
                "training", f"training-{name}", title(group), notes(logged),
                lambda group=group, logged=logged: draw(group, logged),  # type: ignore[misc]
                "The other objectives" if drawn > 2 else "",
            )  # fmt: skip


def title(cells: Sequence[Configuration]) -> str:
    """What stands above the panels."""
    return f"Training of {cells[0].objective}"


def notes(found: Sequence[Band]) -> tuple[str, ...]:
    """What lines and bands are."""
    several = max(values.shape[1] for band in found for _, values in band.values()) > 1
    return ("Line: median over seeds; band: from the lowest to the highest." if several else "",)


@styled
def draw(cells: Sequence[Configuration], found: Sequence[Band], *, across: int = 3) -> DataFigure:
    """Each logged term over the steps of one objective's cells: median and range of the seeds.

    Args:
        cells: Of one objective.
        found: What `bands` gave for them.
        across: Panels side by side.
    """
    first = ("loss", "recon", "kl")
    every = dict.fromkeys(name for band in found for name in band)
    names = sorted(every, key=lambda n: first.index(n) if n in first else len(first))[:MOST_TERMS]
    colours = _ramp(len(cells))
    dashes: list[Any] = [DASHES[i % len(DASHES)] for i in range(len(cells))]
    figure, drawn = panels(
        len(names), across=across, size=(2.9, 2.0), head=0.9,
        title=title(cells),
    )  # fmt: skip
    rows = []
    for name, axes in zip(names, drawn, strict=True):
        for i, (cell, band) in enumerate(zip(cells, found, strict=True)):
            if name not in band:
                continue
            steps, values = band[name]
            low, middle, high = np.quantile(values, (0, 0.5, 1), axis=1)
            axes.plot(steps, middle, color=colours[i], linestyle=dashes[i], linewidth=1.4)
            if values.shape[1] > 1:
                axes.fill_between(steps, low, high, color=colours[i], alpha=0.2, linewidth=0)
            rows += [
                {"objective": cell.objective, "strength": cell.strength, "term": name,
                 "step": int(step), "seeds": values.shape[1], "median": float(m), "low": float(a),
                 "high": float(b)}
                for step, m, a, b in zip(steps, middle, low, high, strict=True)
            ]  # fmt: skip
        set_panel(axes, name)
        _maybe_log(axes, [band[name][1] for band in found if name in band])
        axes.xaxis.set_major_formatter(lambda v, _: number(v))
        axes.set_xlabel("step")
    shown = [
        Line2D([], [], color=colour, linestyle=look, linewidth=1.8)
        for colour, look in zip(colours, dashes, strict=True)
    ]
    labels = [strength_words(cell) or cell.objective for cell in cells]
    below(figure, shown, labels, across=4, notes=notes(found))
    return DataFigure(figure, rows)


def _members(cell: Configuration) -> Iterator[tuple[str, int]]:
    """Where the weights of a cell's ended and healthy runs are."""
    lost = has_diverged(cell.runs)
    for i, status in enumerate(cell.runs["status"]):
        if status == "done" and not lost[i]:
            yield cell.runs["population"][i], cell.runs["member"][i]


def _curves(study: Study, population: str) -> Curves:
    """All members at once: reading a file again for each would take minutes of a large study."""
    return RunFolder(study.path / "populations" / population).curves()


def _terms(curves: Curves) -> tuple[list[int], dict[str, Float[np.ndarray, "s p"]]]:
    """The terms that have panels, of all members of a population: put together once for all."""
    names = [n for n in curve_names(curves) if "*" not in n and not n.endswith(".weight")]
    return curves.steps, {name: curves[name].numpy() for name in names}


def _together(
    lines: Sequence[tuple[list[int], np.ndarray]],
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s n"]]:
    """Seeds side by side at the steps that all have, thinned to what can be seen."""
    shared = min((steps for steps, _ in lines), key=len)
    kept = np.unique(np.linspace(0, len(shared) - 1, min(len(shared), POINTS)).round().astype(int))
    stacked = np.stack([values[: len(shared)][kept] for _, values in lines], axis=1)
    return np.array(shared, dtype=np.float64)[kept], stacked


def _ramp(n: int) -> list[str]:
    """Colours from strong to weak that keep their order in grey print."""
    return [to_hex(colormaps["viridis"](x)) for x in (np.linspace(0, 0.85, n) if n > 1 else [0.25])]


def _maybe_log(axes: Axes, values: Sequence[np.ndarray]) -> None:
    """A logarithmic axis for what falls tenfold, as nearly all losses do in the first steps."""
    seen = np.concatenate([v.ravel() for v in values])
    if seen.min() > 0 and seen.max() > TENFOLD * seen.min():
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(lambda *_: "")
        axes.yaxis.set_major_formatter(lambda v, _: number(v))
