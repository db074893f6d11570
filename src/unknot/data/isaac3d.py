"""Isaac3D from its authors' archive."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace, Kind
from unknot.core.places import Place
from unknot.data.parts.download import Source, drive_address, drive_page
from unknot.data.parts.published import Published, locate_tree
from unknot.data.parts.renders import RESIZE, Side, map_renders

# The formula in the authors' README names the factors in another order; its own multipliers and
# their program have this one.
NAMES = (
    "object_shape", "robot_x", "robot_y", "camera_height", "object_scale",
    "lighting_intensity", "lighting_y", "object_colour", "wall_colour",
)  # fmt: skip
SIZES = (3, 8, 5, 4, 4, 4, 6, 4, 4)
KINDS: tuple[Kind, ...] = (
    "nominal", "ordered", "ordered", "ordered", "ordered",
    "ordered", "ordered", "nominal", "nominal",
)  # fmt: skip
LABELS = "labels.npy"
DRIVE = "1OmQ1G2wnm6eTsSFGTKFZZAh5D3nQTW1B"
FILE = Source(
    "Isaac3D_down128.zip",
    (drive_address(DRIVE),),
    about=13_000_000_000,
    page=drive_page(DRIVE),
)


@dataclass(frozen=True)
class Isaac3D:
    """Isaac3D: a robot's arm with an object in a kitchen, in colour (download: 13 GB).

    Paper: Nie et al. 2020, "Semi-supervised StyleGAN for disentanglement learning".
    Differs: Hsu et al. 2023 resize to 64 x 64 by the same filter but keep fractions of a level.

    Args:
        path: The zip file, or the folder ``Isaac3D_down128`` with ``images`` and ``labels.npy``;
            where `unknot data get` put it unless set.
        side: 64 or 128 pixels.
    """

    path: Place = None
    side: Side = 64

    published: ClassVar[Published] = Published(
        "isaac3d",
        (FILE,),
        "CC BY 4.0",
        737_280,
        (3, 64, 64),
        FactorSpace(NAMES, SIZES, KINDS),
        resize=RESIZE,
    )

    def __post_init__(self) -> None:
        check_choices(self, "side")

    def sources(self) -> tuple[Source, ...]:
        """The one archive."""
        return (FILE,)

    def load(self) -> FactorDataset:
        """All images, as a memory map.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        space = FactorSpace(NAMES, SIZES, KINDS)
        images = map_renders("isaac3d", locate_tree(self), LABELS, space, self.side)
        return FactorDataset("isaac3d", space, images)
