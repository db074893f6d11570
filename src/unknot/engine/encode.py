"""Codes of many images for every member, in one pass over the data."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.posterior import Posterior
from unknot.engine.population import Population

IMAGES = 8_192
"""Images in flight at a time, all members counted: what bounds the memory of the pass."""
BLOCK = 16
"""Passes whose codes wait on the device, so that it need not wait for the host after each."""


def encode(
    population: Population,
    dataset: FactorDataset,
    index: Int[Tensor, " n"],
    *,
    on_rows: Callable[[int], None] = lambda _: None,
) -> Posterior:
    """Posteriors ``[p, n, z]`` of the given rows, gathered on the CPU.

    All passes have the same number of images, the last one some of them twice: how a product is
    rounded depends on its size, and a code must not depend on what else is asked for.

    Args:
        population: The models.
        dataset: Where the images come from.
        index: Rows of the dataset.
        on_rows: Called with the number of rows done so far.
    """
    n, rows = len(index), min(512, max(1, IMAGES // population.members), len(dataset))
    means: list[Float[Tensor, "p b z"]] = []
    logvars: list[Float[Tensor, "p b z"]] = []
    gathered: list[Tensor] = []
    done, device = 0, index.device
    padded = torch.cat([index, index[-1:].expand(-n % rows)])
    for block in padded.split(rows * BLOCK):
        start = done
        for some in block.split(rows):
            x = dataset.at(some.to(device, non_blocking=True))
            if not dataset.streamed:
                device = x.device  # where images are looked up, rows are no reason to wait
            q = population.encode(x)
            means.append(q.mean.float())
            logvars.append(q.logvar.float())
            done = min(done + rows, n)
            on_rows(done)
        if not gathered:
            p, _, z = means[0].shape
            gathered = [torch.empty(p, n, z) for _ in range(2)]
        for out, parts in zip(gathered, (means, logvars), strict=True):
            out[:, start:done] = torch.cat(parts, dim=1)[:, : done - start]
            parts.clear()
    return Posterior(*gathered)
