"""Linearity and axis alignment of Gaussian clouds of several widths, turned by some degrees."""

import numpy as np
import torch
from jaxtyping import Float

from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.report.data.clouds import Cloud, cloud_figure, factor_clouds
from unknot.report.study.style import DataFigure

TURNS = (0, 15, 30, 45)
"""Degrees."""
WIDTHS = (0.05, 0.35, 0.7)
"""Of the narrow direction; the wide one has a deviation of 1."""
POINTS = 400


def codes(turn: float, width: float) -> Float[np.ndarray, "n 2"]:
    """A cloud whose deviations are exactly 1 and its width, turned, its points in order."""
    points = np.random.default_rng(0).standard_normal((POINTS, 2))
    points -= points.mean(0)
    points @= np.linalg.inv(np.linalg.cholesky(points.T @ points / POINTS)).T
    points = points[points[:, 0].argsort()]
    cos, sin = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    return points * [1, width] @ [[cos, sin], [-sin, cos]]


def cloud(turn: float, width: float) -> Cloud:
    """What a model would show whose codes move so along a factor."""
    space = FactorSpace((f"{turn}°, width {width:g}",), (POINTS,), ("ordered",))
    representation = Representation.whole(space, torch.from_numpy(codes(turn, width)))
    (one,) = factor_clouds(representation)
    return one


def draw() -> DataFigure:
    """Clouds of three widths, each turned four times, with their ratios.

    Paper: Michlo 2022, figure 4.3.
    """
    clouds = {(turn, width): cloud(turn, width) for width in WIDTHS for turn in TURNS}
    figure = cloud_figure(
        [[clouds[turn, width] for turn in TURNS] for width in WIDTHS],
        title="Codes along one factor: linear, and along an axis",
        note="A narrow cloud is linear however it is turned; it is aligned if the line is an axis. "
        "Of a width w turned by t, linearity is (1 – w²)/(1 + w²). Orientation is alignment over "
        "linearity, |cos 2t|.",
    )
    rows = [
        {
            "turn": turn,
            "width": width,
            "linearity": one.linearity,
            "axis_alignment": one.axis_alignment,
            "orientation": one.orientation,
        }
        for (turn, width), one in clouds.items()
    ]
    return DataFigure(figure, rows)
