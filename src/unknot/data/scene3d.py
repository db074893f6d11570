"""A room like that of 3D Shapes, cast by rays."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int, Int16, Int32
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.data.parts.cache import load_cached
from unknot.data.parts.images import unit_interval
from unknot.data.parts.room import (
    BITS,
    BUFFERS,
    ORIENTATIONS,
    PLANES,
    SCALES,
    SHADE_OF_SHADOW,
    SHAPES,
    SIDE,
    UNIT,
    render,
)

SKY_COLOR = (153, 226, 249)
# Ten hues a tenth of a turn apart, as HSV has them at full saturation and value.
HUES = (
    (255, 0, 0),
    (255, 153, 0),
    (204, 255, 0),
    (51, 255, 0),
    (0, 255, 102),
    (0, 255, 255),
    (0, 102, 255),
    (51, 0, 255),
    (204, 0, 255),
    (255, 0, 153),
)
SPACE = FactorSpace(
    ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"),
    (len(HUES), len(HUES), len(HUES), SCALES, SHAPES, ORIENTATIONS),
    ("cyclic", "cyclic", "cyclic", "ordered", "nominal", "ordered"),
)
SHA256 = "6a1ca1f202da5abbd829c4f8225eb9f22819038e84affd1a9b6c49b8fbb3c8a5"


@dataclass(frozen=True)
class Scene3D:
    """A look-alike of 3D Shapes: a solid in a room, 480,000 images, 64 x 64 in colour.

    The factors are those of 3D Shapes: 10 hues each of floor, wall and object, 8 scales, 4 shapes
    (cube, cylinder, sphere, capsule) and 15 orientations of the camera. Nothing is downloaded:
    480 views without colour are cast by rays at the first use and kept in the cache folder
    (``UNKNOT_CACHE``), and a batch is painted from them in whole numbers, with the same bits on
    every device.

    Paper: Burgess and Kim 2018, "3D Shapes Dataset".
    Differs: not 3D Shapes, and scores on it are not scores on 3D Shapes; ``shapes3d`` loads the
    original. Beside 50 original pictures outlines agree within a pixel and the sky exactly, floor
    and walls within one level in the median and objects within two. Floor and walls have no
    texture here (3 and 2 levels on average), solids are smooth and not of facets, and the edge of
    their gloss is sharp. Which end of ``orientation`` comes first is a guess.

    Example: `unknot.train(data.Scene3D())`
    """

    space: ClassVar[FactorSpace] = SPACE
    shape: ClassVar[tuple[int, int, int]] = (3, SIDE, SIDE)

    def load(self) -> FactorDataset:
        """Views without colour, and the hues to paint them with."""
        shape = (BUFFERS, PLANES * SIDE * SIDE * 2)
        stored = load_cached("scene3d", render, shape=shape, sha256=SHA256)
        views = stored.view("<i2").astype(np.int16, copy=False)
        buffers = torch.from_numpy(views.reshape(BUFFERS, PLANES, SIDE, SIDE))
        hues = torch.tensor(HUES, dtype=torch.int32)
        sky = torch.tensor(SKY_COLOR, dtype=torch.int32)
        return FactorDataset("scene3d", SPACE, PaintedViews(buffers, hues, sky))


@dataclass(frozen=True)
class PaintedViews:
    """Images of a row: the view that its last three factors name, in the hues of the first three.

    A pixel is the sum of the colours in it, times their weights: of sky, wall, floor, floor in
    shadow, and object. A color is hue times shade and stops at 255.
    """

    buffers: Int16[Tensor, "buffers planes h w"]
    hues: Int32[Tensor, "hues 3"]
    sky: Int32[Tensor, "3"]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return 3, SIDE, SIDE

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows, painted."""
        # Row numbers are not checked: that would make a GPU wait at every batch.
        index = index.to(self.buffers.device)
        planes = self.buffers[index % BUFFERS].int().unsqueeze(-3).unbind(-4)
        wall, floor, shadow, solid, wall_shade, floor_shade, solid_shade, gloss = planes
        rest, hues = index // BUFFERS, []
        for _ in range(3):
            hues.append(self.hues[rest % len(self.hues), :, None, None])
            rest = rest // len(self.hues)
        solid_hue, wall_hue, floor_hue = hues
        dark = torch.full_like(floor_shade[..., :1, :1], round(UNIT * SHADE_OF_SHADOW))
        total = (
            (UNIT - wall - floor - shadow - solid) * self.sky[:, None, None]
            + wall * _color(wall_hue, wall_shade)
            + floor * _color(floor_hue, floor_shade)
            + shadow * _color(floor_hue, dark)
            + solid * _color(solid_hue, solid_shade, gloss)
        )
        return unit_interval(_levels(total).clamp(0, 255).float())

    def to(self, device: torch.device) -> "PaintedViews":
        """The same views on another device."""
        return PaintedViews(self.buffers.to(device), self.hues.to(device), self.sky.to(device))


def _color(
    hue: Int32[Tensor, "*n 3 1 1"], shade: Int32[Tensor, "*n 1 h w"], gloss: Tensor | int = 0
) -> Int32[Tensor, "*n 3 h w"]:
    """Levels from 0 to 255: a hue as brightly as the light falls on it, and white gloss."""
    return _levels(hue * shade + 255 * gloss).clamp(max=255)


def _levels(values: Int32[Tensor, "*n"]) -> Int32[Tensor, "*n"]:
    """The nearest whole number of ``UNIT``, by a shift: a division takes several times as long."""
    return (values + UNIT // 2) >> BITS
