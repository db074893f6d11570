"""Draws: which rows of a dataset come next."""

from jaxtyping import Int
from torch import Tensor

from unknot.core import noise
from unknot.core.noise import Count


def singles(seed: Count, t: Count, batch: int, *, size: int) -> Int[Tensor, "*p batch"]:
    """Row numbers of the batch at step ``t``: independent, uniform, with replacement.

    Args:
        seed: The seed of the order, or one per member.
        t: The step.
        batch: How many rows.
        size: How many rows the dataset has.

    Example:
        >>> singles(0, 7, 4, size=100).shape
        torch.Size([4])
    """
    return noise.integers(seed, "order", t, batch, high=size)
