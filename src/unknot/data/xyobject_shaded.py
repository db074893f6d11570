"""XYObject with its colour split into intensity and hue."""

from dataclasses import dataclass

import torch

from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.data.xyobject import HUES, LEVELS, MEAN, PLACES, SIZES, STD, ColouredSquare

SPACE = FactorSpace(
    ("x", "y", "scale", "intensity", "hue"),
    (PLACES, PLACES, SIZES, LEVELS, HUES),
    ("ordered", "ordered", "ordered", "ordered", "cyclic"),
)


@dataclass(frozen=True)
class XYObjectShaded:
    """XYObject shaded: the images of XYObject; intensity and hue are two factors.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data", section 7.2; see ``xyobject`` for what it leaves open.

    Args:
        standardise: Subtract the mean and divide by the deviation of the paper's table A.2.
    """

    standardise: bool = False

    def load(self) -> FactorDataset:
        """The formula and its factor grid."""
        mean, std = (MEAN, STD) if self.standardise else ((), ())
        images = ColouredSquare(torch.device("cpu"))
        return FactorDataset("xyobject_shaded", SPACE, images, mean, std)
