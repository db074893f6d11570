"""Colours, fonts and files: what all pictures and figures share."""

import io
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from jaxtyping import UInt8
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image, ImageFont


@dataclass(frozen=True)
class Theme:
    """Colours by what they are for; blue and orange of Okabe and Ito, told apart by all eyes."""

    paper: str
    ink: str
    muted: str
    rule: str
    accent: str
    alarm: str


LIGHT = Theme("#ffffff", "#1d2025", "#686e78", "#c8ccd2", "#0072b2", "#d55e00")
DARK = Theme("#15171b", "#e6e8eb", "#9aa0aa", "#3d424a", "#56b4e9", "#e69f00")
MISSING = (213, 94, 0)
"""The colour of pixels that are not numbers."""
DPI = 200
"""Pixels to the inch of a figure."""


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
        drawn = Image.fromarray(_drawn(picture))
        drawn.quantize(256, method=few, dither=Image.Dither.NONE).save(data, format="png")
    else:
        Image.fromarray(picture).save(data, format="png", optimize=True)
    return data.getvalue()


def _drawn(figure: Figure) -> UInt8[np.ndarray, "h w 3"]:
    """The pixels of a figure."""
    arrange(figure)
    before, figure.dpi = figure.dpi, DPI
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    figure.dpi = before
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]


def arrange(figure: Figure) -> None:
    """Put the panels in their places for good: matplotlib would do it twice for every file."""
    engine = figure.get_layout_engine()
    if engine is not None:
        before, figure.dpi = figure.dpi, DPI
        engine.execute(figure)
        figure.dpi = before
        figure.set_layout_engine(None)


def number(value: float) -> str:
    """A number for people: four figures, thousands apart.

    Example:
        >>> [number(v) for v in (0.123456, 12.0, 3.14159, 12345.6, float("nan"))]
        ['0.1235', '12', '3.142', '12,346', 'not a number']
    """
    if not np.isfinite(value):
        return "not a number" if np.isnan(value) else ("∞" if value > 0 else "−∞")
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace("-", "−") if "e" not in text else text
