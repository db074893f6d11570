"""Falcor3D from its authors' archive."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace, Kind
from unknot.core.places import Place
from unknot.data.parts.download import Source, drive_address, drive_page
from unknot.data.parts.published import Published, locate_tree
from unknot.data.parts.renders import RESIZE, Side, map_renders

NAMES = (
    "lighting_intensity", "lighting_x", "lighting_y", "lighting_z",
    "camera_x", "camera_y", "camera_z",
)  # fmt: skip
SIZES = (5, 6, 6, 6, 6, 6, 6)
KINDS: tuple[Kind, ...] = ("ordered",) * 7
LABELS = "train-rec.labels"
DRIVE = "1XAQfFK1x6cpN1eiovbP0hVfLTm5SsSoJ"
FILE = Source(
    "Falcor3D_down128.zip",
    (drive_address(DRIVE),),
    about=3_700_000_000,
    page=drive_page(DRIVE),
)


@dataclass(frozen=True)
class Falcor3D:
    """Falcor3D: a living room under moving light and camera, in colour (download: 3.7 GB).

    Paper: Nie et al. 2020, "Semi-supervised StyleGAN for disentanglement learning".
    Differs: Hsu et al. 2023 resize to 64 x 64 by the same filter but keep fractions of a level.

    Args:
        path: The zip file, or the folder ``Falcor3D_down128`` with ``images`` and
            ``train-rec.labels``; where `unknot data get` put it unless set.
        side: 64 or 128 pixels.
    """

    path: Place = None
    side: Side = 64

    published: ClassVar[Published] = Published(
        "falcor3d",
        (FILE,),
        "CC BY 4.0",
        233_280,
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
        images = map_renders("falcor3d", locate_tree(self), LABELS, space, self.side)
        return FactorDataset("falcor3d", space, images)
