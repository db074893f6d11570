"""MNIST from its original files."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import UInt8

from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset
from unknot.core.places import Place
from unknot.data.parts.digits import RESIZE, Part, Side, digit_sources, load_digits
from unknot.data.parts.download import Source
from unknot.data.parts.idx import read_idx
from unknot.data.parts.published import Published, locate

SIZES = (60_000,)
TEST_SIZES = (10_000,)
HOSTS = ("https://storage.googleapis.com/cvdf-datasets/mnist/",)
FACTS = (
    (9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    (28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    (1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    (4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)
FILES = digit_sources(HOSTS, FACTS)


@dataclass(frozen=True)
class MNIST:
    """MNIST: handwritten digits, 28 x 28 in gray, no factors (download: 12 MB).

    `labels` gives the digit of each image.

    Paper: LeCun et al. 1998, "Gradient-based learning applied to document recognition".

    Args:
        path: A folder with the four files, packed (``.gz``) or not; where `unknot data get` put
            them unless set.
        part: ``train`` (60,000 images) or ``test`` (10,000).
        side: 28, 32 (with two black pixels on each side) or 64 (those doubled) pixels.
    """

    path: Place = None
    part: Part = "train"
    side: Side = 28

    published: ClassVar[Published] = Published(
        "mnist",
        (*FILES["train"], *FILES["test"]),
        "none stated",
        60_000,
        (1, 28, 28),
        None,
        resize=RESIZE,
    )

    def __post_init__(self) -> None:
        check_choices(self, "part", "side")

    def sources(self) -> tuple[Source, ...]:
        """Images and labels of the part."""
        return FILES[self.part]

    def load(self) -> FactorDataset:
        """All images of the part, in the order of the file.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        images, _ = locate(self)
        self.labels()  # refused now if they are not those of the images
        return load_digits("mnist", images, self._rows, self.side)

    def labels(self) -> UInt8[np.ndarray, " n"]:
        """One number from 0 to 9 for each image.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        _, labels = locate(self)
        return read_idx(labels, (self._rows,))

    @property
    def _rows(self) -> int:
        return SIZES[0] if self.part == "train" else TEST_SIZES[0]
