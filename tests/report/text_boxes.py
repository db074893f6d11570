"""Where the letters of a figure stand: texts that cover one another, and texts that are cut off."""

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from unknot.report.style import STYLE, arrange

WIDTH = 1280
"""Pixels of the screen; a figure that is wider is shown smaller."""
TOUCH = 1.0
"""Pixels by which two boxes may share an edge: a box is a little larger than its letters."""


def text_faults(figure: Figure) -> list[str]:
    """Pairs of texts that overlap, and texts that leave the figure, a sentence each.

    Boxes are those of the figure as it is written, in pixels of a screen of 1280. Texts that
    stand upright or lie flat are compared; of slanted ones boxes overlap where letters do not.
    """
    dpi = min(100.0, WIDTH / figure.get_size_inches()[0])
    before, STYLE["savefig.dpi"] = STYLE["savefig.dpi"], dpi
    arrange(figure)
    STYLE["savefig.dpi"], figure.dpi = before, dpi
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    page = Bbox.from_bounds(0, 0, *canvas.get_width_height())
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in _texts(figure)]
    faults = [f"{_short(name)} leaves the figure" for name, box in boxes if _leaves(box, page)]
    for i, (name, box) in enumerate(boxes):
        for other, second in boxes[i + 1 :]:
            shared = Bbox.intersection(box, second)
            if shared is not None and min(shared.width, shared.height) > TOUCH:
                faults.append(f"{_short(name)} overlaps {_short(other)}")
    return faults


def _leaves(box: Bbox, page: Bbox) -> bool:
    # Letters of a screen are a little wider than those of the file that the layout is for.
    room = max(TOUCH, 0.01 * box.width)
    sides = (page.x0 - box.x0, box.x1 - page.x1, page.y0 - box.y0, box.y1 - page.y1)
    return max(sides) > room


def _texts(figure: Figure) -> Iterator[Text]:
    """Visible texts, with letters, that are not slanted; of ticks those inside of their axis."""
    for text in figure.findobj(Text):
        flat = text.get_rotation() % 90 == 0
        if text.get_text().strip() and flat and _is_drawn(text, figure):
            yield text


def _is_drawn(text: Text, figure: Figure) -> bool:
    if not text.get_visible() or not (text.get_alpha() is None or text.get_alpha() > 0):
        return False
    # Scales of colours are panels inside of a panel, which are not among ``figure.axes``.
    for axes in figure.findobj(Axes):
        if text in (axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text()):
            return bool(axes.axison)
        for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            used = (*axis.get_major_ticks(), *axis.get_minor_ticks())
            for tick in (*axis.majorTicks, *axis.minorTicks):  # matplotlib keeps unused ones
                if text in (tick.label1, tick.label2):
                    if tick not in used:
                        return False
                    # On a logarithmic axis in powers.
                    place, *around = axis.get_transform().transform([tick.get_loc(), *ends])
                    rounding = 1e-9 * abs(around[1] - around[0])
                    inside = min(around) - rounding <= place <= max(around) + rounding
                    return axes.axison and axis.get_visible() and tick.get_visible() and inside
        if text.axes is axes and not axes.axison and text.get_clip_on():
            return False
    return True


def _short(text: str) -> str:
    return repr(text if len(text) < 50 else text[:47] + "...")
