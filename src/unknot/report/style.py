"""How all figures look: the style sheet, its colours, and what panels have in common.

Every function that draws a figure is `styled`. Pages turn dark by CSS.
"""

import functools
import io
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
from matplotlib.ticker import FixedFormatter, FuncFormatter, MaxNLocator
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
LONGEST_LABEL = 48
"""Characters of a tick or of an entry of a legend."""
LONGEST_ENTRY = 64
"""Letters of an entry of a legend, which has a row of its own where it is long."""


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
    """An empty figure of a size in inches, its title at the left."""
    layout = ConstrainedLayoutEngine(rect=(0, 0, 1 - EDGE / size[0], 1))
    figure = Figure(figsize=size, layout=layout)
    if title:
        set_title(figure, title)
    return figure


def set_title(figure: Figure, title: str) -> None:
    """A title above all panels, at the left."""
    figure.suptitle(title, x=0.1 / float(figure.get_size_inches()[0]), ha="left")


def footnote(figure: Figure, lines: Sequence[str]) -> None:
    """Lines below all panels; none when there is nothing to say."""
    if text := "\n".join(line for line in lines if line):
        figure.supxlabel(text, x=0.1 / float(figure.get_size_inches()[0]), ha="left", color=MUTED)


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
    boxes = [axes.get_legend() for axes in figure.axes] + figure.legends
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            formatter = axis.get_major_formatter()
            if isinstance(formatter, FixedFormatter):
                formatter.seq = [shorten(text, LONGEST_LABEL) for text in formatter.seq]
    for box in filter(None, boxes):
        for label in box.get_texts():
            label.set_text(shorten(label.get_text(), LONGEST_ENTRY))


def arrange(figure: Figure) -> None:
    """Put the panels in their places for good: matplotlib would do it twice for every file."""
    engine = figure.get_layout_engine()
    if engine is not None:
        shorten_labels(figure)
        before, figure.dpi = figure.dpi, STYLE["savefig.dpi"]
        engine.execute(figure)
        figure.dpi = before
        figure.set_layout_engine(None)
