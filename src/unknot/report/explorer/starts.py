"""Starts: codes from which people move on, of images of the data or drawn at random."""

import io
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from PIL import Image
from torch import Tensor

from unknot.core import noise
from unknot.report.explorer.sliders import Slider
from unknot.report.html import data_uri
from unknot.report.model.latents import Latents, sample_rows
from unknot.report.model.traversals import middle_row
from unknot.report.sheet import pixels
from unknot.report.style import png
from unknot.runs.run import Run

COUNT = 24
SHARP = 64
"""Pixels of the longer side up to which images are stored without loss."""
QUALITY = 90


def start_rows(run: Run) -> Int[Tensor, " n"]:
    """Rows of the data: the middle of the grid, and others at random."""
    others = sample_rows(run, COUNT - 1)[: COUNT - 1]
    middle = middle_row(run.dataset.space)
    return torch.tensor([middle, *(row for row in others.tolist() if row != middle)])


def image_codes(run: Run, rows: Int[Tensor, " n"]) -> Float[np.ndarray, "n z"]:
    """Codes of images of the data."""
    codes: np.ndarray = run.encode(run.dataset.batch(rows)).double().cpu().numpy()
    return codes


def random_codes(
    sliders: Sequence[Slider], latents: Sequence[Latents]
) -> list[Float[np.ndarray, "n z"]]:
    """The mean code, and others at random, where all models have their sliders alike."""
    draws = noise.normal(0, "explorer", 0, COUNT, len(sliders)).double().numpy()
    draws[0] = 0
    codes = [np.tile(measured.mean, (COUNT, 1)) for measured in latents]
    for i, slider in enumerate(sliders):
        for m, (z, sign) in enumerate(zip(slider.latents, slider.signs, strict=True)):
            if z is not None:
                codes[m][:, z] += sign * latents[m].sd[z] * draws[:, i]
    return codes


def pictures(run: Run, rows: Int[Tensor, " n"]) -> list[str]:
    """Images of the data as addresses that hold them."""
    return [image_uri(image) for image in pixels(run.dataset, run.dataset.batch(rows))]


def image_uri(image: UInt8[np.ndarray, "h w 3"]) -> str:
    """A small image without loss, a large one as WebP."""
    if max(image.shape[:2]) <= SHARP:
        return data_uri(png(image))
    return data_uri(webp(image), "webp")


def webp(image: UInt8[np.ndarray, "h w 3"], *, lossless: bool = False) -> bytes:
    """An image as the bytes of a WebP file; with loss, no eye tells it from the image."""
    data = io.BytesIO()
    Image.fromarray(image).save(data, format="webp", quality=QUALITY, lossless=lossless)
    return data.getvalue()
