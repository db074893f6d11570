"""Figure of a study: reconstruction loss and KL divergence over training, in one panel."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
from matplotlib.lines import Line2D

from unknot.core.text import number
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.figures.training import Log, draw_band, log_if_tenfold, logs, ramp
from unknot.report.study.style import DataFigure, Look, legend, panels, swept_text
from unknot.report.style import INK, set_panel, styled

TERMS = ("recon", "kl")
"""On the left axis, and on the right."""
DASHES: tuple[Literal["-", "--"], ...] = ("-", "--")


def applies(part: Part) -> Iterator[Figure]:
    """For each objective of a study of which a run logged both."""
    for name, log in logs(part).items():
        if any(set(TERMS) <= band.keys() for band in log.bands):
            summary = "Reconstruction and KL divergence in one panel"
            yield Figure("training", f"training-recon-kl-{name}", partial(draw, log), summary)


@styled
def draw(log: Log) -> DataFigure:
    """Reconstruction loss on the left axis and KL divergence on the right, over steps.

    A colour for each configuration. Lines are medians over seeds, bands go from the lowest to the
    highest.

    Args:
        log: Of the configurations of one objective.
    """
    title = f"Reconstruction and KL divergence of {log.configurations[0].objective}"
    figure, (left,) = panels(1, size=(6.6, 3.6), head=0.8, title=title)
    set_panel(left, "")
    right = left.twinx()
    colors = ramp(len(log.configurations))
    looked: dict[str, Look | Line2D] = {}
    rows: list[dict[str, Any]] = []
    for axes, name, dash in zip((left, right), TERMS, DASHES, strict=True):
        seen = [np.empty(0)]
        for configuration, band, color in zip(log.configurations, log.bands, colors, strict=True):
            if not set(TERMS) <= band.keys():
                continue
            rows += draw_band(axes, configuration, name, band, Look(color, "", dash))
            looked[swept_text(configuration) or configuration.objective] = Look(color, "", "-")
            seen.append(band[name][1].ravel())
        if name == "recon":
            log_if_tenfold(axes, np.concatenate(seen))
    left.set_ylabel("reconstruction loss (solid)")
    right.set_ylabel("KL divergence (dashed)")
    right.spines["right"].set_visible(True)
    left.xaxis.set_major_formatter(lambda v, _: number(v))
    left.set_xlabel("step")
    for dash, name in zip(DASHES, TERMS, strict=True):
        looked[name] = Line2D([], [], color=INK, linestyle=dash, linewidth=1.4)
    several = max(row["seeds"] for row in rows) > 1
    note = "Line: median over seeds; band: from the lowest to the highest." if several else ""
    if log.count > len(log.configurations):
        note = f"{len(log.configurations)} of {log.count} configurations. {note}"
    legend(figure, looked, across=4, notes=(note,))
    return DataFigure(figure, rows)
