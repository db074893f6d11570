"""Images of which a few have labels, beside images of all."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.hyper import at_least
from unknot.core.noise import Count
from unknot.samplers.parts.sampler import PartlyLabelled, Rows, independent_rows
from unknot.samplers.parts.weights import Weight, table


@dataclass(frozen=True)
class Labelled(PartlyLabelled):
    """Few labels: beside each image of any row one of the few rows whose factors are known.

    The first image of a pair is any row, the second one of the labelled rows; nothing else connects
    them. Objectives are told the factors of labelled rows alone.

    Paper: Locatello et al. 2020, "Disentangling factors of variation using few labels": 100 or
    1,000 labels.
    Differs: Labelled rows are drawn with replacement, where their code goes through them in an
    order. With weights, the labelled rows are drawn by weight too.

    Args:
        labels: How many rows have labels; all of them if there are no more.
        seed: Which ones: the same for all runs, whatever seeds they have.
        weights: What makes some rows likelier than others, as in ``samplers/parts/weights.py``.

    Example: `unknot.train("dsprites", "s2_vae", sampler=samplers.Labelled(labels=100))`
    """

    labels: int = 1000
    seed: int = 0
    weights: tuple[Weight, ...] = ()
    views: ClassVar[int] = 2

    def __post_init__(self) -> None:
        at_least(self, 1, "labels")
        at_least(self, 0, "seed")

    def labelled_rows(self, dataset: FactorDataset) -> Int[Tensor, " n"]:
        """The rows whose factors are known: without replacement, those of weight 0 never."""
        dataset.require_factors("Labels")
        size = len(dataset)
        u = noise.uniform(self.seed, "labels", 0, size, dtype=torch.float64)
        if not self.weights:
            return u.argsort(stable=True)[: self.labels]
        # The first of independent waiting times are a draw without replacement.
        weight = table(dataset.space, self.weights)
        order = (-u.log() / weight).argsort(stable=True)
        return order[: min(self.labels, int((weight > 0).sum()))]

    def bind(self, dataset: FactorDataset, device: torch.device) -> Rows:
        """The rows of a dataset."""
        labelled = self.labelled_rows(dataset).to(device)
        first_rows = independent_rows(dataset, self.weights, device)

        def rows(seed: Count, t: Count, batch: int) -> Tensor:
            first = first_rows(seed, "order", t, batch)
            place = noise.integers(seed, "order/labelled", t, batch, high=len(labelled))
            return torch.cat([first, labelled[place]], dim=-1)

        return rows
