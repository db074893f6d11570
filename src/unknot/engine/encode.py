"""Codes of many images for every member, in one pass over the data."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.posterior import Posterior
from unknot.data.dataset import FactorDataset
from unknot.engine.population import Population

IMAGES = 8_192
"""Images in flight at a time, all members counted: what bounds the memory of the pass."""


def encode(
    population: Population,
    dataset: FactorDataset,
    index: Int[Tensor, " n"],
    *,
    on_rows: Callable[[int], None] = lambda _: None,
) -> Posterior:
    """Posteriors ``[p, n, z]`` of the given rows, gathered on the CPU.

    Args:
        population: The models.
        dataset: Where the images come from.
        index: Rows of the dataset.
        on_rows: Called with the number of rows done so far.
    """
    means: list[Float[Tensor, "p b z"]] = []
    logvars: list[Float[Tensor, "p b z"]] = []
    done = 0
    for rows in index.split(min(512, max(1, IMAGES // population.members))):
        q = population.encode(dataset.batch(rows))
        means.append(q.mean.float().cpu())
        logvars.append(q.logvar.float().cpu())
        done += len(rows)
        on_rows(done)
    return Posterior(torch.cat(means, dim=1), torch.cat(logvars, dim=1))
