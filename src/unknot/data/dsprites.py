"""dSprites, drawn from formulas."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.data.parts.cache import load_cached
from unknot.data.parts.images import Bits
from unknot.data.parts.sprites import ORIENTATIONS, PLACES, SCALES, SHAPES, SIDE, render

SPACE = FactorSpace(
    ("shape", "scale", "orientation", "pos_x", "pos_y"),
    (SHAPES, SCALES, ORIENTATIONS, PLACES, PLACES),
    ("nominal", "ordered", "cyclic", "ordered", "ordered"),
)
# Michlo 2022, table A.2.
MEAN, STD = (0.042494423521890,), (0.195166458806261,)
SHA256 = "3a228f4037ef3d42a42588e0e01f1078aa2df13cfa17584e88c95ed9fb5672da"


@dataclass(frozen=True)
class DSprites:
    """dSprites: a white square, ellipse or heart; 6 sizes, 40 orientations, 32 x 32 places.

    Drawn from formulas, with no download, in a few seconds at the first use and kept in the cache
    folder (``UNKNOT_CACHE``) from then on.

    Paper: Matthey et al. 2017, "dSprites: disentanglement testing sprites dataset".
    Differs: not the original archive bit for bit. Of 46,080 original images 6 differ, each by one
    pixel, which puts about 100 of the 737,280 at one pixel; the originals were rendered in float32
    and some ties fell the other way. ``dsprites_file`` loads the original archive.

    Args:
        standardize: Subtract the mean and divide by the deviation of Michlo 2022, table A.2.

    Example: `unknot.train(data.DSprites())`
    """

    space: ClassVar[FactorSpace] = SPACE
    shape: ClassVar[tuple[int, int, int]] = (1, SIDE, SIDE)

    standardize: bool = False

    def load(self) -> FactorDataset:
        """All images, one bit per pixel."""
        packed = load_cached(
            "dsprites", render, shape=(SPACE.size, SIDE * SIDE // 8), sha256=SHA256
        )
        images = Bits(torch.from_numpy(packed), (1, SIDE, SIDE))
        mean, std = (MEAN, STD) if self.standardize else ((), ())
        return FactorDataset("dsprites", SPACE, images, mean, std)
