"""MNIST from its original files."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.places import Place
from unknot.data.parts.digits import RESIZE, SPACE, Digits, Part, Side, digit_sources
from unknot.data.parts.published import Published

FILES = digit_sources(
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    (
        (9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
        (28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        (1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        (4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    ),
)


@dataclass(frozen=True)
class MNIST(Digits):
    """MNIST: handwritten digits, 28 x 28 in gray, labelled (download: 12 MB).

    The one label is the ``digit``.

    Paper: LeCun et al. 1998, "Gradient-based learning applied to document recognition".

    Args:
        path: A folder with the four files, packed (``.gz``) or not; where `unknot data get` put
            them unless set.
        part: ``train`` (60,000 images), ``test`` (10,000) or ``all``, which
            ``split = {kind = "published"}`` divides again.
        side: 28, 32 (with two black pixels on each side) or 64 (those doubled) pixels.

    Example: `unknot.train(data.MNIST(part="test"))`
    """

    path: Place = None
    part: Part = "train"
    side: Side = 28

    label: ClassVar[str] = "digit"
    classes: ClassVar[tuple[str, ...]] = tuple("0123456789")
    published: ClassVar[Published] = Published(
        "mnist",
        FILES,
        "none stated",
        (1, 28, 28),
        ("gz", "unpacked"),
        SPACE,
        labels="digit 10",
        resize=RESIZE,
    )
