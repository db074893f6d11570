"""Penalties of sigma in the mdL-VAE, x² and ln(1 + x²), and the weights of its terms."""

import numpy as np
import torch
from torch import Tensor

from unknot.objectives.mdl_vae import PENALTIES, WEIGHTS, LatentPenalty
from unknot.report.study.style import DataFigure, Look, legend, looks, panels
from unknot.report.style import set_panel, styled, wrap

REACH = 3.0
POINTS = 121
SHOWN: dict[LatentPenalty, str] = {"square": "σ²", "log": "ln(1 + σ²)"}


@styled
def draw() -> DataFigure:
    """Penalties of one sigma, and the weight of its KL divergence, over sigma.

    Paper: Moğultay Özcan 2024, figure 7.1.
    """
    sigma = np.linspace(0.0, REACH, POINTS)
    square = torch.from_numpy(sigma).square()[:, None]
    penalties = {label: PENALTIES[name](square) for name, label in SHOWN.items()}
    weights: dict[str, Tensor] = {
        name: weight(square).squeeze(-1) for name, weight in WEIGHTS.items()
    }
    curves: dict[str, dict[str, Tensor]] = {"penalty": penalties, "weight of a term": weights}
    looked = looks([label for of_panel in curves.values() for label in of_panel])
    figure, all_axes = panels(
        2, size=(3.3, 2.5), head=1.1, title="Penalties and weights of the mdL-VAE"
    )
    rows = []
    for (title, of_panel), axes in zip(curves.items(), all_axes, strict=True):
        for label, values in of_panel.items():
            y = values.numpy()
            look = looked[label]
            axes.plot(sigma, y, color=look.color, linestyle=look.dash, linewidth=1.5)
            rows += [
                {"panel": title, "curve": label, "sigma": float(s), "value": float(v)}
                for s, v in zip(sigma, y, strict=True)
            ]
        set_panel(axes, title)
        axes.set_xlabel("σ")
    all_axes[1].set_ylim(0, 2)
    note = (
        "The logarithm grows slowly, so a large σ costs little. Weights: bounded is "
        "1 / (1 + ln(1 + σ²)), rational 1 / (1 + σ²), reciprocal 1 / σ², which has no bound at 0."
    )
    lines = {name: Look(look.color, "", look.dash) for name, look in looked.items()}
    legend(figure, lines, across=5, notes=(wrap(note, figure),))
    return DataFigure(figure, rows)
