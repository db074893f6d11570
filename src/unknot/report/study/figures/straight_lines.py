"""Figure of a study: straight lines through the runs over a swept number."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from unknot.analysis import Results
from unknot.analysis.intervals import Bounds
from unknot.analysis.lines import Line
from unknot.core.errors import DataError
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.figures.swept_value import last_name, line_looks, ordered_lines
from unknot.report.study.style import DataFigure, Look, legend, maybe_log, panels
from unknot.report.style import number_ticks, set_panel, styled, wrap

FEWEST = 3
"""Values of the number from which on a straight line says more than its two ends."""
DECADE = 10.0
"""Times the smallest value from which on the logarithm is the axis."""
MOST_ACROSS = 3


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares: ``y = at_mean + slope * (x - mean)``."""

    x: Float[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]
    level: float

    @property
    def slope(self) -> float:
        """Change of y for each 1 of x."""
        dx = self.x - self.x.mean()
        return float((dx * self.y).sum() / (dx * dx).sum())

    def line(self, x: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        """The line at some places."""
        y: np.ndarray = self.y.mean() + self.slope * (x - self.x.mean())
        return y

    def half_width(self, x: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        """Half of the interval of the line at some places, by Student; runs are independent."""
        n, dx = len(self.x), self.x - self.x.mean()
        scale = np.sqrt(1 / n + (x - self.x.mean()) ** 2 / (dx * dx).sum())
        half: np.ndarray = self._quantile * self._error * scale
        return half

    @property
    def slope_half_width(self) -> float:
        """Half of the interval of the slope."""
        dx = self.x - self.x.mean()
        return float(self._quantile * self._error / np.sqrt((dx * dx).sum()))

    @property
    def _error(self) -> float:
        """Standard deviation of what is left."""
        left = self.y - self.line(self.x)
        return float(np.sqrt((left * left).sum() / (len(self.x) - 2)))

    @property
    def _quantile(self) -> float:
        from scipy.stats import t

        return float(t.ppf(0.5 + self.level / 2, len(self.x) - 2))


def applies(part: Part) -> Iterator[Figure]:
    """Where all lines go over the same number, which has three values or more."""
    if _lines(part.results):
        summary = "Straight lines through the runs"
        yield Figure("swept-value", "straight-lines", partial(draw, part.results), summary)


def _lines(results: Results) -> list[Line]:
    lines = ordered_lines(results)
    same_axis = len({line.axis for line in lines}) == 1
    enough = all(len(set(line.values)) >= FEWEST for line in lines)
    return lines if same_axis and enough and lines[0].axis else []


@styled
def draw(results: Results, scores: Sequence[str] | None = None) -> DataFigure:
    """Each run over a number, and the line of least squares through the runs of each line.

    Bands are intervals of the line, if runs are independent and scatter alike, cut off at the
    bounds of the score. Where the number
    spans a factor of ten, the line is straight over its logarithm.

    Args:
        results: Of one dataset.
        scores: A panel each; all there are unless given.
    """
    names, lines = results.choose(scores), _lines(results)
    if not lines:
        raise DataError("Straight lines go over one number of three values or more.")
    axis = last_name(lines[0].axis)
    all_values = np.array([value for line in lines for value in line.values], dtype=np.float64)
    logarithm = bool(all_values.min() > 0 and all_values.max() >= DECADE * all_values.min())
    looked = line_looks(lines)
    figure, all_axes = panels(
        len(names), most=MOST_ACROSS, size=(2.9, 2.2), head=1.1, title=f"Straight lines over {axis}"
    )
    rows = []
    for score, axes in zip(names, all_axes, strict=True):
        for (label, look), line in zip(looked.items(), lines, strict=True):
            x, y = _points(line, score)
            axes.plot(x, y, look.marker, color=look.color, markersize=3, alpha=0.5,
                      markeredgewidth=0)  # fmt: skip
            row = {"line": label, "score": score, "axis": line.axis, "n": len(x)}
            rows.append(
                row
                | _draw_fit(
                    axes, x, y, look, results.level, results.bounds(score), logarithm=logarithm
                )
            )
        set_panel(axes, score)
        number_ticks(axes.xaxis, 5)
        if logarithm:
            maybe_log(axes, "x", all_values)
        axes.set_xlabel(axis)
    note = (
        f"Dots: runs. Line: least squares{' over the logarithm' if logarithm else ''}; band: "
        f"{results.level:.0%} interval of the line, if runs are independent."
    )
    legend(figure, looked, across=2, notes=(wrap(note, figure),))
    return DataFigure(figure, rows)


def _points(line: Line, score: str) -> tuple[np.ndarray, np.ndarray]:
    samples = [c.sample(score).values for c in line.configurations]
    x = np.repeat(np.array(line.values, dtype=np.float64), [len(values) for values in samples])
    return x, np.concatenate(samples)


def _draw_fit(
    axes: Axes,
    x: np.ndarray,
    y: np.ndarray,
    look: Look,
    level: float,
    bounds: Bounds,
    *,
    logarithm: bool,
) -> dict[str, Any]:
    """The line and its band; nothing for fewer than three values."""
    if len(np.unique(x)) < FEWEST:
        return {"slope": np.nan, "slope_low": np.nan, "slope_high": np.nan}
    ends = np.geomspace(x.min(), x.max(), 60) if logarithm else np.linspace(x.min(), x.max(), 60)
    fit = Fit(np.log10(x) if logarithm else x, y, level)
    places = np.log10(ends) if logarithm else ends
    middle, half = fit.line(places), fit.half_width(places)
    axes.plot(ends, middle, color=look.color, linestyle=look.dash, linewidth=1.5)
    least, most = (np.nan if end is None else end for end in bounds)
    low, high = np.fmax(middle - half, least), np.fmin(middle + half, most)
    axes.fill_between(ends, low, np.fmax(low, high), color=look.color, alpha=0.15, linewidth=0)
    half_slope = fit.slope_half_width
    return {
        "slope": fit.slope, "slope_low": fit.slope - half_slope,
        "slope_high": fit.slope + half_slope,
    }  # fmt: skip
