"""Single images."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from unknot.core.dataset import FactorDataset
from unknot.samplers.parts.sampler import Rows, independent_rows
from unknot.samplers.parts.weights import Weight


@dataclass(frozen=True)
class Singles:
    """Single images, sampled independently with replacement; uniform unless weights are given.

    Args:
        weights: What makes some rows likelier than others, as in ``samplers/parts/weights.py``.

    Example: `unknot.train("dsprites", sampler=samplers.Singles())`
    """

    weights: tuple[Weight, ...] = ()
    views: ClassVar[int] = 1

    def bind(self, dataset: FactorDataset, device: torch.device) -> Rows:
        """The rows of a dataset."""
        rows = independent_rows(dataset, self.weights, device)
        return lambda seed, t, batch: rows(seed, "order", t, batch)
