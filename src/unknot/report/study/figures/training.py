"""Figure of a study: training curves of each term, a line for each configuration."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.ticker import LogLocator

from unknot.analysis.configurations import Configuration, has_diverged
from unknot.core.errors import DamageError
from unknot.core.text import number
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.style import DASHES, DataFigure, Look, legend, panels, swept_text
from unknot.report.style import set_panel, styled
from unknot.studies.study import Study

MOST_LINES = 12
"""Configurations of an objective whose curves are drawn, at most: the legend names each."""
POINTS = 200
"""Log steps of a line, at most."""
MOST_TERMS = 9
TENFOLD = 10.0
FIRST = ("loss", "recon", "kl")
"""Terms whose panels come first."""

Terms = dict[str, Float[np.ndarray, "s p"]]
"""For each term its values at each step, of all models of a population."""
Band = dict[str, tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s n"]]]
"""For each term the steps, and the values of the seeds at each."""


def bands(study: Study, configurations: Sequence[Configuration]) -> list[Band]:
    """What the runs of each configuration logged, those that diverged left out."""
    logs: dict[str, tuple[list[int], Terms]] = {}
    result = []
    for configuration in configurations:
        lines: dict[str, list[tuple[list[int], np.ndarray]]] = {}
        for i, diverged in enumerate(has_diverged(configuration.runs)):
            if diverged or configuration.runs["status"][i] != "done":
                continue
            population = configuration.runs["population"][i]
            if population not in logs:
                try:
                    logs[population] = _terms(study, population)
                except DamageError:  # the page says so
                    logs[population] = [], {}
            steps, terms = logs[population]
            for name, values in terms.items():
                lines.setdefault(name, []).append(
                    (steps, values[:, configuration.runs["member"][i]])
                )
        result.append({name: _together(of_term) for name, of_term in lines.items()})
    return result


@dataclass(frozen=True, eq=False)
class Log:
    """What the runs of an objective logged."""

    configurations: list[Configuration]
    """Those whose curves are drawn."""
    bands: list[Band]
    """Of each of them."""
    count: int
    """Configurations that the objective has in all."""


def applies(part: Part) -> Iterator[Figure]:
    """For each objective of a study of which a run has ended; two of them in sight."""
    for i, (name, log) in enumerate(logs(part).items()):
        show = partial(draw, log.configurations, log.bands, log.count)
        summary = "The other objectives" if i > 1 else ""
        yield Figure("training", f"training-{name}", show, summary)


@lru_cache(maxsize=1)
def logs(part: Part) -> dict[str, Log]:
    """For each objective of a study what its runs logged, where they logged anything.

    Figures of the same part share it, since reading the curves of many runs takes long.
    """
    if part.study is None:
        return {}
    groups: dict[str, list[Configuration]] = {}
    for configuration in part.results.configurations:
        if "done" in configuration.runs["status"]:
            groups.setdefault(configuration.objective, []).append(configuration)
    choices = {name: _choose(group) for name, group in groups.items()}
    logged = {
        name: Log(choice, bands(part.study, choice), len(groups[name]))
        for name, choice in choices.items()
    }
    return {name: log for name, log in logged.items() if any(log.bands)}


def _choose(group: Sequence[Configuration]) -> list[Configuration]:
    """Some of many configurations, evenly spread over their order."""
    places = np.linspace(0, len(group) - 1, min(len(group), MOST_LINES))
    return [group[place] for place in places.round().astype(int)]


@styled
def draw(configurations: Sequence[Configuration], bands: Sequence[Band], count: int) -> DataFigure:
    """Terms of the loss over steps: medians over seeds, and bands from the lowest to the highest.

    Args:
        configurations: Those of one objective.
        bands: What the function of that name gave for them.
        count: How many configurations the objective has in all.
    """
    all_names = dict.fromkeys(name for band in bands for name in band)
    names = sorted(all_names, key=lambda n: FIRST.index(n) if n in FIRST else len(FIRST))[
        :MOST_TERMS
    ]
    colors = ramp(len(configurations))
    looked = [Look(color, "", DASHES[i % len(DASHES)]) for i, color in enumerate(colors)]
    figure, all_axes = panels(
        len(names), most=3, size=(2.9, 2.0), head=0.9,
        title=f"Training of {configurations[0].objective}",
    )  # fmt: skip
    rows = []
    for name, axes in zip(names, all_axes, strict=True):
        for configuration, band, look in zip(configurations, bands, looked, strict=True):
            if name not in band:
                continue
            rows += draw_band(axes, configuration, name, band, look)
        set_panel(axes, name)
        log_if_tenfold(
            axes, np.concatenate([band[name][1].ravel() for band in bands if name in band])
        )
        axes.xaxis.set_major_formatter(lambda v, _: number(v))
        axes.set_xlabel("step")
    several = max(values.shape[1] for band in bands for _, values in band.values()) > 1
    note = "Line: median over seeds; band: from the lowest to the highest." if several else ""
    if count > len(configurations):
        note = f"{len(configurations)} of {count} configurations. {note}"
    labels = [swept_text(c) or c.objective for c in configurations]
    legend(figure, dict(zip(labels, looked, strict=True)), across=4, notes=(note,))
    return DataFigure(figure, rows)


def _terms(study: Study, population: str) -> tuple[list[int], Terms]:
    """The terms that have panels, of all members: reading a file again for each takes minutes."""
    from unknot.report.model.figures import curve_names
    from unknot.runs.folder import RunFolder

    curves = RunFolder(study.store.place(population)).curves()
    names = [n for n in curve_names(curves) if "*" not in n and not n.endswith(".weight")]
    return curves.steps, {name: curves[name].numpy() for name in names}


def _together(
    lines: Sequence[tuple[list[int], np.ndarray]],
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s n"]]:
    """Seeds side by side at the steps that all have, thinned to what can be seen."""
    shared = min((steps for steps, _ in lines), key=len)
    places = np.linspace(0, len(shared) - 1, min(len(shared), POINTS)).round().astype(int)
    thin = np.unique(places)
    stacked = np.stack([values[: len(shared)][thin] for _, values in lines], axis=1)
    return np.array(shared, dtype=np.float64)[thin], stacked


def ramp(n: int) -> list[str]:
    """Colours from strong to weak that keep their order in grey print."""
    return [to_hex(colormaps["viridis"](x)) for x in (np.linspace(0, 0.85, n) if n > 1 else [0.25])]


def draw_band(
    axes: Axes, configuration: Configuration, name: str, band: Mapping[str, Any], look: Look
) -> list[dict[str, Any]]:
    """The median over seeds of a logged value and the band of all seeds; its rows."""
    steps, values = band[name]
    low, middle, high = np.quantile(values, (0, 0.5, 1), axis=1)
    axes.plot(steps, middle, color=look.color, linestyle=look.dash, linewidth=1.4)
    if values.shape[1] > 1:
        axes.fill_between(steps, low, high, color=look.color, alpha=0.2, linewidth=0)
    return [
        {"objective": configuration.objective, "swept_value": configuration.swept_value,
         "term": name, "step": int(step), "seeds": values.shape[1], "median": float(m),
         "low": float(a), "high": float(b)}
        for step, m, a, b in zip(steps, middle, low, high, strict=True)
    ]  # fmt: skip


def log_if_tenfold(axes: Axes, values: np.ndarray) -> None:
    """A logarithmic axis for what falls tenfold, as nearly all losses do in the first steps."""
    if values.min() > 0 and values.max() > TENFOLD * values.min():
        axes.set_yscale("log")
        if values.max() < TENFOLD**3 * values.min():  # else powers of ten are ticks enough
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_formatter(lambda *_: "")
        axes.yaxis.set_major_formatter(lambda v, _: number(v))
