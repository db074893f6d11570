"""Frames: pictures of every latent decoded beforehand, for models whose weights are not shared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8

from unknot.report.explorer.model import ExplorerModel
from unknot.report.explorer.sliders import Slider
from unknot.report.explorer.starts import webp
from unknot.report.html import data_uri
from unknot.report.model.traversals import decode
from unknot.report.sheet import pixels

STOPS = 11
REACH = 3.0
"""Standard deviations to either side of the mean, as in the browser."""
MOST_BYTES = 4_000_000
"""Beyond it sheets are compressed with a small loss."""


@dataclass(frozen=True, eq=False)
class FrameRow:
    """A row of each sheet: what a slider moves in one model."""

    slider: int
    latent: int
    sign: int
    origins: Float[np.ndarray, " n"]
    """Where the slider stands at each start."""


def frame_rows(
    models: Sequence[ExplorerModel],
    sliders: Sequence[Slider],
    codes: Sequence[Float[np.ndarray, "n z"]],
    m: int,
) -> list[FrameRow]:
    """Sliders that move something in a model.

    Args:
        models: All models of the page.
        sliders: All sliders.
        codes: Where each model starts.
        m: Which model.
    """
    rows = []
    for number, slider in enumerate(sliders):
        latent = slider.latents[m]
        if latent is not None and models[m].latents.used[latent]:
            # As in the browser, the first model that has the latent says where the slider stands.
            first, z = next((k, z) for k, z in enumerate(slider.latents) if z is not None)
            measured = models[first].latents
            origins = slider.signs[first] * (codes[first][:, z] - measured.mean[z]) / measured.sd[z]
            rows.append(FrameRow(number, latent, slider.signs[m], origins))
    return rows


def frame_sheets(
    model: ExplorerModel, rows: Sequence[FrameRow], codes: Float[np.ndarray, "n z"]
) -> dict[str, Any]:
    """A sheet of pictures for each start: its reconstruction, then a row for each slider."""
    sheets = [_sheet(model, rows, start, code) for start, code in enumerate(codes)]
    files = [webp(sheet, lossless=True) for sheet in sheets]
    if sum(map(len, files)) > MOST_BYTES:
        files = [webp(sheet) for sheet in sheets]
    height, width, _ = sheets[0].shape
    return {
        "sheets": [data_uri(file, "webp") for file in files],
        "sliders": [row.slider for row in rows],
        "stops": STOPS,
        "width": width // STOPS,
        "height": height // (len(rows) + 1),
    }


def _sheet(
    model: ExplorerModel, rows: Sequence[FrameRow], start: int, code: Float[np.ndarray, " z"]
) -> UInt8[np.ndarray, "height width 3"]:
    points = np.tile(code, (len(rows) + 1, STOPS, 1))
    places = np.linspace(-REACH, REACH, STOPS)
    for line, row in enumerate(rows, 1):
        moves = row.sign * (places - row.origins[start])
        points[line, :, row.latent] += moves * model.latents.sd[row.latent]
    z = torch.from_numpy(points.reshape(1, -1, len(code))).float()
    images = pixels(model.run.dataset, decode(model.run, z)[0])
    _, h, w, _ = images.shape
    table = images.reshape(len(rows) + 1, STOPS, h, w, 3).swapaxes(1, 2)
    return table.reshape((len(rows) + 1) * h, STOPS * w, 3)
