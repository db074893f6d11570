"""Small drawings of what is no image: signals as lines, rows of a table as bars or tiles."""

import math

import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.colors import to_rgb
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.report.style import ACCENT, CYCLE, DEPTHS, MISSING, PAPER, SIGNS

WIDTH, HEIGHT = 96, 64
MOST_CHANNELS = 6
"""Channels of a signal that are drawn, one below the other."""
REACH = 3.0
"""Standard deviations from the middle of a drawing to its edge."""


def draw(
    dataset: FactorDataset, x: Float[Tensor, "*n c h w"]
) -> UInt8[np.ndarray, "*n height width 3"]:
    """Signals as lines, and rows as bars, or as tiles where there are many columns.

    Numbers are standardised, from 3 standard deviations below the mean at the bottom to 3 above it
    at the top; of counts the drawing is of log1p, from 0. What is not finite becomes orange.

    Args:
        dataset: A table, or signals.
        x: As `dataset.batch` gives them.
    """
    values = x.double().cpu().numpy().reshape(-1, *x.shape[-3:])
    shares = _shares(dataset, values)
    if not dataset.columns:
        drawings = _lines(shares[:, :MOST_CHANNELS, 0])
    elif shares.shape[1] <= WIDTH:
        drawings = _bars(shares[:, :, 0, 0], from_middle=dataset.row_total is None)
    else:
        drawings = _tiles(shares[:, :, 0, 0], signs=dataset.row_total is None)
    drawings[~np.isfinite(values).all((1, 2, 3))] = MISSING
    return drawings.reshape(*x.shape[:-3], *drawings.shape[1:])


def _shares(dataset: FactorDataset, values: Float[np.ndarray, "n c h w"]) -> np.ndarray:
    """Where between bottom (0) and top (1) each number stands."""
    values = np.nan_to_num(values)
    if dataset.row_total is not None:
        return (values / math.log1p(dataset.row_total)).clip(0, 1)
    plain = not any(dataset.mean) and {*dataset.std} == {1.0}
    reach = max(float(np.abs(values).max()), 1e-12) if plain else REACH
    return (0.5 + values / (2 * reach)).clip(0, 1)


def _lines(shares: Float[np.ndarray, "n c t"]) -> UInt8[np.ndarray, "n h w 3"]:
    """One band for each channel."""
    _, channels, length = shares.shape
    height = max(24, HEIGHT // channels)
    places = np.linspace(0, length - 1, WIDTH + 1)
    left = np.floor(places).astype(int).clip(max=max(length - 2, 0))
    part = places - left
    right = np.minimum(left + 1, length - 1)
    smooth = shares[..., left] * (1 - part) + shares[..., right] * part
    rows = np.rint((1 - smooth) * (height - 3)).astype(int) + 1
    ends = np.sort(np.stack([rows[..., :-1], rows[..., 1:]]), axis=0)
    place = np.arange(height)[:, None]
    bands = []
    for c in range(channels):
        inside = (place >= ends[0, :, c, None]) & (place <= ends[1, :, c, None])
        ink, paper = _color(CYCLE[c % len(CYCLE)]), _color(PAPER)
        bands.append(np.where(inside[..., None], ink, paper))
    return np.concatenate(bands, axis=1).astype(np.uint8)


def _bars(shares: Float[np.ndarray, "n d"], *, from_middle: bool) -> UInt8[np.ndarray, "n h w 3"]:
    width = max(1, WIDTH // shares.shape[1])
    rows = np.rint((1 - shares) * (HEIGHT - 1))
    start = (HEIGHT - 1) // 2 if from_middle else HEIGHT - 1
    low, high = np.minimum(rows, start), np.maximum(rows, start)
    place = np.arange(HEIGHT)[:, None]
    inside = (place >= low[:, None]) & (place <= high[:, None])
    inside = inside.repeat(width, axis=2)
    if width > 2:  # a line between two bars
        inside[:, :, width - 1 :: width] = False
    return np.where(inside[..., None], _color(ACCENT), _color(PAPER)).astype(np.uint8)


def _tiles(shares: Float[np.ndarray, "n d"], *, signs: bool) -> UInt8[np.ndarray, "n h w 3"]:
    """A square of one pixel for each column, row after row."""
    side = math.ceil(math.sqrt(shares.shape[1]))
    full = np.full((len(shares), side * side), 0.5 if signs else 0.0)
    full[:, : shares.shape[1]] = shares
    colors = np.asarray((SIGNS if signs else DEPTHS)(full))[..., :3]
    tiles: np.ndarray = np.rint(255 * colors).astype(np.uint8)
    return tiles.reshape(-1, side, side, 3)


def _color(name: str) -> UInt8[np.ndarray, " 3"]:
    return np.array([round(255 * part) for part in to_rgb(name)], np.uint8)
