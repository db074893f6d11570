"""Labels of points, placed so that none lies on another or on a point."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from unknot.report.style import SMALL, arrange

POINT = 4.0
"""Points around a mark that stay free."""
THIN = 0.8
"""Points around a line that stay free."""
DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
DISTANCES = (6.0, 11.0, 17.0, 24.0)

Box = tuple[float, float, float, float]


def place_labels(
    figure: Figure,
    axes: Axes,
    points: Sequence[tuple[float, float]],
    labels: Sequence[str],
    colors: Sequence[str],
    *,
    paths: Sequence[Sequence[tuple[float, float]]] = (),
    texts: Sequence[Text] = (),
) -> list[int]:
    """Write labels next to points, the first points first; far ones get a thin line.

    Args:
        figure: Everything but the labels is drawn in it.
        axes: Where the points are.
        points: In units of the data.
        labels: One for each of the first points; they keep away from the others too.
        colors: One for each of these.
        paths: Lines that labels keep away from, as the points they join.
        texts: Text that is there already.

    Returns:
        The places of the points for which there was no room.
    """
    arrange(figure)
    scale = 72 / figure.dpi
    left, bottom, right, top = (v * scale for v in axes.bbox.extents)
    spots = _on_paper(axes, points, scale)
    boxes: list[Box] = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in spots.tolist()]
    boxes += [_extent(text, scale) for text in texts]
    for path in paths:
        boxes += _line_boxes(_on_paper(axes, path, scale))
    occupied = np.array(boxes)
    homeless = []
    for i, (label, color) in enumerate(zip(labels, colors, strict=True)):
        x, y = spots[i].tolist()
        others = np.delete(occupied, i, axis=0)
        for distance, dx, dy in ((d, *way) for d in DISTANCES for way in DIRECTIONS):
            box = _box(label, x + distance * dx, y + distance * dy, dx, dy)
            within = left < box[0] and box[2] < right and bottom < box[1] and box[3] < top
            if within and not _overlaps(box, others):
                break
        else:
            homeless.append(i)
            continue
        occupied = np.vstack([occupied, box])
        line = {"arrowstyle": "-", "color": color, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}
        note = axes.annotate(
            label, points[i], xytext=(distance * dx, distance * dy), textcoords="offset points",
            ha=("right", "center", "left")[dx + 1], va=("top", "center", "bottom")[dy + 1],
            fontsize=SMALL, color=color,
            arrowprops=line if distance > DISTANCES[0] else None,
        )  # fmt: skip
        note.set_in_layout(False)
    return homeless


def _on_paper(
    axes: Axes, points: Sequence[tuple[float, float]], scale: float
) -> Float[np.ndarray, "n 2"]:
    """Where points of the data lie, in points of the page."""
    pixels: np.ndarray = axes.transData.transform(np.array(points, dtype=float).reshape(-1, 2))
    return pixels * scale


def _extent(text: Text, scale: float) -> Box:
    left, bottom, right, top = (float(v) * scale for v in text.get_window_extent().extents)
    return left, bottom, right, top


def _line_boxes(spots: Float[np.ndarray, "n 2"]) -> list[Box]:
    """Small boxes along the line that joins points."""
    along = []
    for start, end in pairwise(spots):
        steps = max(int(np.hypot(*(end - start)) / 3), 1)
        for share in np.linspace(0, 1, steps + 1):
            x, y = (start + share * (end - start)).tolist()
            along.append((x - THIN, y - THIN, x + THIN, y + THIN))
    return along


def _box(label: str, x: float, y: float, dx: int, dy: int) -> Box:
    """About where a label lies that is anchored at a point."""
    wide, high = 0.62 * SMALL * len(label), SMALL
    left = x - wide * (0.5 - dx / 2)
    low = y - high * (0.5 - dy / 2)
    return left, low, left + wide, low + high


def _overlaps(box: Box, others: Float[np.ndarray, "n 4"]) -> bool:
    left, low, right, high = others.T
    meet = (box[0] < right) & (left < box[2]) & (box[1] < high) & (low < box[3])
    return bool(meet.any())
