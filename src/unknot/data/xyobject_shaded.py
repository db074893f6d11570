"""XYObject with its colour split into intensity and hue."""

from dataclasses import dataclass, replace

from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.data.xyobject import HUES, LEVELS, PLACES, SIZES, XYObject

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
        standardize: Subtract the mean and divide by the deviation of the paper's table A.2.

    Example: `unknot.train(data.XYObjectShaded())`
    """

    standardize: bool = False

    def load(self) -> FactorDataset:
        """The formula and its factor grid."""
        images = XYObject(standardize=self.standardize).load()
        return replace(images, name="xyobject_shaded", space=SPACE)
