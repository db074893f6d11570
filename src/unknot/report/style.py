"""How all figures look: the style sheet, its colours, and what panels have in common.

Every function that draws a figure is `styled`. Pages turn dark by CSS.
"""

import functools
import io
import warnings
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from textwrap import fill
from typing import ParamSpec, TypeVar, cast

import matplotlib
import numpy as np
from jaxtyping import UInt8
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator
from PIL import Image, ImageFont

from unknot.core.text import number, shorten

P = ParamSpec("P")
R = TypeVar("R")

with resources.as_file(resources.files("unknot.report") / "unknot.mplstyle") as _path:
    STYLE = matplotlib.rc_params_from_file(_path, use_default_template=False)
PAPER = to_hex(STYLE["figure.facecolor"])
INK = to_hex(STYLE["text.color"])
MUTED = to_hex(STYLE["axes.labelcolor"])
RULE = to_hex(STYLE["axes.edgecolor"])
CYCLE: tuple[str, ...] = tuple(to_hex(c) for c in STYLE["axes.prop_cycle"].by_key()["color"])
ACCENT, ALARM, *_ = CYCLE
MISSING = (213, 94, 0)
"""The colour of pixels that are not numbers."""
SMALL = 7.0
"""Points of the letters of remarks inside a panel."""
SHARES = LinearSegmentedColormap.from_list("shares", (PAPER, ACCENT))
DEPTHS = LinearSegmentedColormap.from_list("depths", (PAPER, ACCENT, INK))
SIGNS = LinearSegmentedColormap.from_list("signs", (ALARM, PAPER, ACCENT))
EDGE = 0.12
"""Inches that stay free at the right: lines that end with the picture look cut."""
LETTERS = 10
"""Of a title that go into an inch."""
NOTE_LETTERS = 16
"""Of a note that go into an inch."""
FOOTNOTE_LETTERS = 17
"""At most, of a line below all panels."""
TITLE_LINE, NOTE_LINE = 0.2, 0.16
"""Inches that one more line takes."""
LONGEST_LABEL = 48
"""Characters of a tick or of an entry of a legend."""
LONGEST_ENTRY = 64
"""Letters of an entry of a legend, which has a row of its own where it is long."""
LABEL_LETTERS = 7
"""Of a tick at most, for each inch of the figure."""
LEGEND_LETTERS, HANDLE = 13, 6
"""Letters of a legend that go into an inch, and how many a sample of a line takes."""


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Draw under the style sheet; for functions that return a figure, or what holds one."""

    @functools.wraps(draw)
    def draw_styled(*args: P.args, **kwargs: P.kwargs) -> R:
        with matplotlib.rc_context(STYLE):
            result = draw(*args, **kwargs)
            figure = cast("Figure", getattr(result, "figure", result))
            for axes in figure.axes:
                for axis in (axes.xaxis, axes.yaxis):
                    # Matplotlib makes ticks when it draws, when the style sheet is gone; later
                    # ones look like the first.
                    axis.get_major_ticks(1)
                    axis.get_minor_ticks(1)
        return result

    return draw_styled


def new_figure(size: tuple[float, float], title: str = "") -> Figure:
    """An empty figure of a size in inches, its title at the left; long ones make it taller."""
    title = _fill(title, LETTERS * size[0])
    size = (size[0], size[1] + TITLE_LINE * title.count("\n"))
    layout = ConstrainedLayoutEngine(rect=(0, 0, 1 - EDGE / size[0], 1))
    figure = Figure(figsize=size, layout=layout)
    if title:
        set_title(figure, title)
    return figure


def set_title(figure: Figure, title: str) -> None:
    """A title above all panels, at the left."""
    figure.suptitle(title, x=0.1 / float(figure.get_size_inches()[0]), ha="left")


def footnote(figure: Figure, lines: Sequence[str]) -> None:
    """Lines below all panels, broken where they are wider; none when there is nothing to say."""
    width, height = (float(side) for side in figure.get_size_inches())
    given = "\n".join(line for line in lines if line)
    if text := _fill(given, FOOTNOTE_LETTERS * width):
        more = text.count("\n") - given.count("\n")
        figure.set_size_inches(width, height + NOTE_LINE * more)
        figure.supxlabel(text, x=0.1 / float(figure.get_size_inches()[0]), ha="left", color=MUTED)


def _fill(text: str, letters: float) -> str:
    """Lines of at most so many letters."""
    return "\n".join(fill(line, int(letters)) for line in text.split("\n"))


def wrap(text: str, figure: Figure) -> str:
    """A note in lines that a figure has room for below its panels."""
    return fill(text, int(NOTE_LETTERS * float(figure.get_size_inches()[0])))


def set_panel(axes: Axes, title: str, *, grid: str = "y", ticks: int = 4) -> None:
    """A panel's title, and a grid along ``x``, ``y`` or ``both`` with numbers at its lines."""
    axes.set_title(title)
    for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        if grid in (name, "both"):
            number_ticks(axis, ticks)
            axis.grid(visible=True)
    axes.spines["left"].set_visible(grid == "both")


def nested_width(place: int, count: int, *, thinnest: float = 1.2) -> float:
    """Width of one of several lines that may coincide: the first is the widest, so that all show.

    Example:
        >>> [round(nested_width(place, 4), 2) for place in range(4)]
        [2.7, 2.2, 1.7, 1.2]
    """
    return thinnest + 2.0 * (1 - (place + 1) / count)


def number_ticks(axis: Axis, most: int | None = None, **options: bool) -> None:
    """Numbers for people at the ticks of an axis, at most so many where given."""
    if most is not None:
        axis.set_major_locator(MaxNLocator(most, **options))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def show_frame(axes: Axes, *sides: str) -> None:
    """Show these sides of a panel's frame and no others; all four for ``frame``."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in sides or "frame" in sides)


def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which comes with matplotlib, so that every machine draws the same letters."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name, size)


def png(picture: Figure | UInt8[np.ndarray, "h w c"]) -> bytes:
    """A picture or figure as the bytes of a PNG file, the same at every call.

    Figures have 256 colours: a third of the size, and no eye sees it where there are so few.
    """
    data = io.BytesIO()
    if isinstance(picture, Figure):
        # Of Pillow's ways the one that keeps paper white, and misses no colour by much.
        few = Image.Quantize.MAXCOVERAGE
        image = Image.fromarray(_rendered(picture))
        image.quantize(256, method=few, dither=Image.Dither.NONE).save(data, format="png")
    else:
        Image.fromarray(picture).save(data, format="png", optimize=True)
    return data.getvalue()


def svg(figure: Figure) -> bytes:
    """A figure as the bytes of an SVG file, the same at every call."""
    data = io.BytesIO()
    arrange(figure)
    with matplotlib.rc_context(STYLE):
        figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
    return data.getvalue()


def pdf(figure: Figure) -> bytes:
    """A figure as the bytes of a PDF file with its letters as letters, the same at every call."""
    data = io.BytesIO()
    arrange(figure)
    with matplotlib.rc_context(STYLE):
        figure.savefig(data, format="pdf", metadata={"CreationDate": None, "Creator": None})
    return data.getvalue()


def _rendered(figure: Figure) -> UInt8[np.ndarray, "h w 3"]:
    """The pixels of a figure."""
    arrange(figure)
    before, figure.dpi = figure.dpi, STYLE["savefig.dpi"]
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    figure.dpi = before
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]


def shorten_labels(figure: Figure) -> None:
    """Leave room for the panels: names in tables of others may be longer than a page is wide."""
    width = float(figure.get_size_inches()[0])
    longest = min(LONGEST_LABEL, int(LABEL_LETTERS * width))
    boxes = [axes.get_legend() for axes in figure.axes] + figure.legends
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            formatter = axis.get_major_formatter()
            if isinstance(formatter, FixedFormatter):
                formatter.seq = [shorten(text, longest) for text in formatter.seq]
            elif isinstance(func := getattr(formatter, "func", None), functools.partial):
                for names in func.args:  # of set_ticks: the name of each place
                    names.update({place: shorten(text, longest) for place, text in names.items()})
            axis.label.set_text(shorten(axis.label.get_text(), longest))
        for text in axes.texts:
            text.set_text(_shorten_lines(text.get_text(), longest))
        for title in _titles(axes):
            title.set_text(_shorten_lines(title.get_text(), 2 * LONGEST_LABEL))
    for box in filter(None, boxes):
        column = int(LEGEND_LETTERS * width / getattr(box, "_ncols", 1)) - HANDLE
        for label in box.get_texts():
            label.set_text(shorten(label.get_text(), min(LONGEST_ENTRY, max(column, 12))))


def _titles(axes: Axes) -> tuple[Text, ...]:
    """Those in the middle and at the left, which matplotlib gives as words alone."""
    return axes.title, cast("Text", getattr(axes, "_left_title"))  # noqa: B009


def _shorten_lines(text: str, most: int) -> str:
    return "\n".join(shorten(line, most) for line in text.split("\n"))


def fit_titles(figure: Figure) -> None:
    """Shorten titles of panels that would reach into the next one."""
    canvas = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    titles = [title for axes in figure.axes for title in _titles(axes) if title.get_text()]
    boxes = [title.get_window_extent(renderer) for title in titles]
    for title, box in zip(titles, boxes, strict=True):
        gap = 0.4 * box.height
        ahead = [b.x0 - gap for b in boxes if b.x0 > box.x0 and b.y0 < box.y1 and b.y1 > box.y0]
        room = min([*ahead, figure.bbox.x1]) - box.x0
        if box.width > room:
            lines = title.get_text().split("\n")
            longest = int(max(map(len, lines)) * room / box.width) - 1
            title.set_text(_shorten_lines(title.get_text(), max(longest, 4)))


def thin_ticks(figure: Figure) -> None:
    """Leave out ticks whose numbers would cover others or leave the figure."""
    canvas = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    page = figure.bbox
    for axes in figure.axes:
        for axis, side in ((axes.xaxis, 0), (axes.yaxis, 1)):
            # Ticks that someone set, such as names, stay.
            if not axes.axison or isinstance(axis.get_major_locator(), FixedLocator):
                continue
            low, high = sorted(axis.get_view_interval())
            places, ends, fits = [], -np.inf, True
            ticks = axis.get_major_ticks()
            for tick in reversed(ticks) if axis.get_inverted() else ticks:
                place, label = float(tick.get_loc()), tick.label1
                if not low <= place <= high or not label.get_visible() or not label.get_text():
                    continue
                box = label.get_window_extent(renderer)
                start, end = (box.x0, box.x1) if side == 0 else (box.y0, box.y1)
                limit = page.x1 if side == 0 else page.y1
                if start > ends and end <= limit:
                    places.append(place)
                    ends = end
                else:
                    fits = False
            if not fits:
                axis.set_major_locator(FixedLocator(places))


def arrange(figure: Figure) -> None:
    """Put the panels in their places for good: matplotlib would do it twice for every file."""
    engine = figure.get_layout_engine()
    if engine is not None:
        shorten_labels(figure)
        before, figure.dpi = figure.dpi, STYLE["savefig.dpi"]
        with warnings.catch_warnings():
            # Where there is no room, panels stay where they are.
            warnings.filterwarnings("ignore", "constrained_layout not applied", UserWarning)
            engine.execute(figure)
        fit_titles(figure)
        thin_ticks(figure)
        figure.dpi = before
        figure.set_layout_engine(None)
