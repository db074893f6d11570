"""Falcor3D from its authors' archive."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.factors import FactorSpace
from unknot.core.places import Place
from unknot.data.parts.published import Published
from unknot.data.parts.renders import RESIZE, Renders, Side
from unknot.data.parts.sources import drive_source

SPACE = FactorSpace(
    (
        "lighting_intensity", "lighting_x", "lighting_y", "lighting_z",
        "camera_x", "camera_y", "camera_z",
    ),
    (5, 6, 6, 6, 6, 6, 6),
    ("ordered",) * 7,
)  # fmt: skip
FILE = drive_source(
    "Falcor3D_down128.zip", "1XAQfFK1x6cpN1eiovbP0hVfLTm5SsSoJ", about=3_700_000_000
)


@dataclass(frozen=True)
class Falcor3D(Renders):
    """Falcor3D: a living room under moving light and camera, in colour (download: 3.7 GB).

    Paper: Nie et al. 2020, "Semi-supervised StyleGAN for disentanglement learning".
    Differs: Hsu et al. 2023 resize to 64 x 64 by the same filter but keep fractions of a level.

    Args:
        path: The zip file, or the folder ``Falcor3D_down128`` with ``images`` and
            ``train-rec.labels``; where `unknot data get` put it unless set.
        side: 64 or 128 pixels.

    Example: `unknot.train(data.Falcor3D(side=64))`
    """

    path: Place = None
    side: Side = 64

    table: ClassVar[str] = "train-rec.labels"
    published: ClassVar[Published] = Published(
        "falcor3d", (FILE,), "CC BY 4.0", (3, 64, 64), ("zip", "folder"), SPACE, resize=RESIZE
    )
