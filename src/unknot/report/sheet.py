"""Sheets: rows of small images with text on their left."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ShapeError
from unknot.report.drawings import draw
from unknot.report.style import INK, MISSING, MUTED, PAPER, RULE, font

SIDE = 128
"""Small images are enlarged by a whole factor to about this many pixels."""
MARGIN = 24
GAP = 2
APART = 14


@dataclass(frozen=True)
class Row:
    """Images side by side, and the lines of text on their left: a name and what to know of it."""

    lines: tuple[str, ...]
    images: UInt8[np.ndarray, "k h w 3"]
    faded: bool = False
    apart: bool = False
    """Whether some room divides it from the row above."""


def pixels(
    dataset: FactorDataset, x: Float[Tensor, "*n c h w"]
) -> UInt8[np.ndarray, "*n height width 3"]:
    """Images as they look: standardisation undone, clipped to [0, 1], grey as three channels.

    Tables and signals are drawn as bars and lines (`draw`). Of other numbers of channels each is
    shown as grey, one above the other. Pixels that are not numbers become orange: a broken model
    must not pass for a black image.
    """
    if dataset.noun != "images":
        return draw(dataset, x)
    unit = dataset.unit(x).double().cpu()
    if unit.shape[-3] not in (1, 3):
        unit = unit.flatten(-3, -2).unsqueeze(-3)
    unit = unit.expand(*unit.shape[:-3], 3, *unit.shape[-2:]).movedim(-3, -1)
    colors = (unit.nan_to_num(0.0).clamp(0, 1) * 255).round().byte().numpy()
    colors[unit.isnan().any(-1).numpy()] = MISSING
    return colors


def check_pictures(dataset: FactorDataset) -> None:
    """Refuse a table or signals, which have no pixels."""
    if dataset.noun != "images":
        raise ShapeError(
            f"{dataset.name} has {dataset.noun} and no images to explore; see its page instead: "
            "unknot show."
        )


def enlargement(images: UInt8[np.ndarray, "*n h w 3"]) -> int:
    """The whole factor that brings the shorter side of small images to a readable size."""
    side: int = min(images.shape[-3:-1])
    return max(1, round(SIDE / side))


def tiles(
    images: UInt8[np.ndarray, "r k h w 3"], *, scale: int = 1, gap: int = GAP
) -> UInt8[np.ndarray, "height width 4"]:
    """Images as a table with transparent lines between and around them, no pixel blurred."""
    r, k, h, w, _ = images.shape
    h, w = h * scale, w * scale
    table = np.zeros((r * (h + gap) + gap, k * (w + gap) + gap, 4), np.uint8)
    for i in range(r):
        for j in range(k):
            top, left = gap + i * (h + gap), gap + j * (w + gap)
            cell = table[top : top + h, left : left + w]
            cell[..., :3] = images[i, j].repeat(scale, 0).repeat(scale, 1)
            cell[..., 3] = 255
    return table


def sheet(
    rows: Sequence[Row], *, title: str, columns: Sequence[str] = (), note: str = ""
) -> UInt8[np.ndarray, "height width 3"]:
    """Rows of images with their text on the left, a title above and an explanation below.

    Args:
        rows: Rows of equally large images.
        title: What this is, in a few words.
        columns: Text above each column, if any.
        note: How to read it; broken into lines that fit.
    """
    scale = enlargement(rows[0].images)
    tables = [tiles(row.images[None], scale=scale) for row in rows]
    height, width = tables[0].shape[0], max(table.shape[1] for table in tables)
    bold, plain, small = font(17, bold=True), font(15), font(14)
    names = max(
        (
            (bold if i == 0 else plain).getlength(line)
            for row in rows
            for i, line in enumerate(row.lines)
        ),
        default=0.0,
    )
    left = MARGIN + (int(names) + 18 if names else 0)
    room = left + width - MARGIN
    head, foot = wrap(title, font(20, bold=True), room), wrap(note, small, room)
    top = MARGIN + 28 * len(head) + 12 + (24 if columns else 0)
    tops = top + np.cumsum(
        [(height - GAP) * (i > 0) + APART * row.apart for i, row in enumerate(rows)]
    )
    bottom = int(tops[-1]) + height
    end = bottom + (18 + 21 * len(foot) if foot else 0) + MARGIN
    page = Image.new("RGB", (left + width + MARGIN, end), PAPER)
    pen = ImageDraw.Draw(page)
    for i, line in enumerate(head):
        pen.text((MARGIN, MARGIN + 28 * i), line, INK, font(20, bold=True))
    step = scale * rows[0].images.shape[2] + GAP
    for j, name in enumerate(columns):
        pen.text((left + GAP + step * (j + 0.5), top - 8), name, MUTED, small, anchor="ms")
    for y, row, table in zip(tops.tolist(), rows, tables, strict=True):
        pen.rectangle((left, y, left + table.shape[1] - 1, y + height - 1), RULE)
        page.paste(Image.fromarray(table[..., :3]), (left, y), Image.fromarray(table[..., 3]))
        for n, line in enumerate(row.lines):
            place = (MARGIN, y + height / 2 + 22 * n - 11 * (len(row.lines) - 1))
            ink = MUTED if n or row.faded else INK
            pen.text(place, line, ink, plain if n else bold, anchor="lm")
    for i, line in enumerate(foot):
        pen.text((MARGIN, bottom + 18 + 21 * i), line, MUTED, small)
    return np.array(page)


def wrap(text: str, letters: ImageFont.FreeTypeFont, width: int) -> list[str]:
    """Lines of whole words that fit a width; a longer word has a line of its own."""
    lines: list[str] = []
    for word in text.split():
        if lines and letters.getlength(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
