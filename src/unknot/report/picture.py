"""A picture that shows itself in a notebook."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from matplotlib.figure import Figure

from unknot.core.border import as_path
from unknot.core.errors import ConfigError
from unknot.core.files import write_whole
from unknot.core.text import shown
from unknot.report.style import png, svg


@dataclass(frozen=True, eq=False, repr=False)
class Picture:
    """Pixels, or a figure of matplotlib."""

    content: "Figure | UInt8[np.ndarray, 'h w c']"

    @property
    def figure(self) -> Figure:
        """As a figure of matplotlib, to be changed or put beside others."""
        if isinstance(self.content, Figure):
            return self.content
        height, width = self.content.shape[:2]
        figure = Figure(figsize=(width / 100, height / 100), dpi=100)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.imshow(self.content)
        axes.set_axis_off()
        return figure

    def save(self, path: str | Path) -> Path:
        """Write it as a PNG file; figures also as SVG, if the name ends so.

        Raises:
            ConfigError: The name ends otherwise.
        """
        path = as_path("path", path)
        vector = path.suffix == ".svg" and isinstance(self.content, Figure)
        if path.suffix not in ("", ".png") and not vector:
            also = " or .svg" if isinstance(self.content, Figure) else ""
            raise ConfigError(f"The name of a picture ends in .png{also}; got {shown(str(path))}.")
        write_whole(path, svg(self.figure) if vector else png(self.content))
        return path

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Its pixels."""
        del copy
        if isinstance(self.content, Figure):
            import io

            from PIL import Image

            return np.asarray(Image.open(io.BytesIO(png(self.content))).convert("RGB"), dtype)
        return np.asarray(self.content, dtype)

    def _repr_png_(self) -> bytes:
        return png(self.content)

    def __repr__(self) -> str:
        if isinstance(self.content, Figure):
            return "Picture(a figure; .save(path) writes it)"
        height, width = self.content.shape[:2]
        return f"Picture({width} x {height} pixels; .save(path) writes it)"
