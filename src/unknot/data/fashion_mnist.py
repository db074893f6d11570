"""Fashion-MNIST from its original files."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.places import Place
from unknot.data.parts.digits import RESIZE, SPACE, Digits, Part, Side, digit_sources
from unknot.data.parts.published import Published

FILES = digit_sources(
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    (
        (26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
        (29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        (4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
        (5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
    ),
)


@dataclass(frozen=True)
class FashionMNIST(Digits):
    """Fashion-MNIST: clothes and shoes, 28 x 28 in gray, labelled (download: 31 MB).

    The one label is the kind of clothing, ``class``.

    Paper: Xiao et al. 2017, "Fashion-MNIST: a novel image dataset for benchmarking machine learning
    algorithms".

    Args:
        path: A folder with the four files, packed (``.gz``) or not; where `unknot data get` put
            them unless set.
        part: ``train`` (60,000 images), ``test`` (10,000) or ``all``, which
            ``split = {kind = "published"}`` divides again.
        side: 28, 32 (with two black pixels on each side) or 64 (those doubled) pixels.

    Example: `unknot.train(data.FashionMNIST(part="test"))`
    """

    path: Place = None
    part: Part = "train"
    side: Side = 28

    label: ClassVar[str] = "class"
    classes: ClassVar[tuple[str, ...]] = (
        "T-shirt", "trouser", "pullover", "dress", "coat",
        "sandal", "shirt", "sneaker", "bag", "ankle boot",
    )  # fmt: skip
    published: ClassVar[Published] = Published(
        "fashion_mnist",
        FILES,
        "MIT",
        (1, 28, 28),
        ("gz", "unpacked"),
        SPACE,
        labels="class 10",
        resize=RESIZE,
    )
