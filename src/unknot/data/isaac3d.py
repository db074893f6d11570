"""Isaac3D from its authors' archive."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.factors import FactorSpace
from unknot.core.places import Place
from unknot.data.parts.published import Published
from unknot.data.parts.renders import RESIZE, Renders, Side
from unknot.data.parts.sources import drive_source

# The formula in the authors' README names the factors in another order; its own multipliers and
# their program have this one.
SPACE = FactorSpace(
    (
        "object_shape", "robot_x", "robot_y", "camera_height", "object_scale",
        "lighting_intensity", "lighting_y", "object_colour", "wall_colour",
    ),
    (3, 8, 5, 4, 4, 4, 6, 4, 4),
    ("nominal", *("ordered",) * 6, "nominal", "nominal"),
)  # fmt: skip
FILE = drive_source(
    "Isaac3D_down128.zip", "1OmQ1G2wnm6eTsSFGTKFZZAh5D3nQTW1B", about=13_000_000_000
)


@dataclass(frozen=True)
class Isaac3D(Renders):
    """Isaac3D: a robot's arm with an object in a kitchen, in colour (download: 13 GB).

    Paper: Nie et al. 2020, "Semi-supervised StyleGAN for disentanglement learning".
    Differs: Hsu et al. 2023 resize to 64 x 64 by the same filter but keep fractions of a level.

    Args:
        path: The zip file, or the folder ``Isaac3D_down128`` with ``images`` and ``labels.npy``;
            where `unknot data get` put it unless set.
        side: 64 or 128 pixels.

    Example: `unknot.train(data.Isaac3D(side=64))`
    """

    path: Place = None
    side: Side = 64

    table: ClassVar[str] = "labels.npy"
    published: ClassVar[Published] = Published(
        "isaac3d", (FILE,), "CC BY 4.0", (3, 64, 64), ("zip", "folder"), SPACE, resize=RESIZE
    )
