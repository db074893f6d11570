"""Rows for the scores that look at codes alone."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.representation import Representation
from unknot.metrics.parts.inputs import Codes, Rows, take, take_of_grid
from unknot.metrics.parts.tables import midranks


def take_codes(codes: Codes, *, samples: int | None, seed: int) -> Rows:
    """The rows that other scores see under the same seed, without factors.

    Arguments and errors are those of `unknot.metrics.parts.inputs.take`.
    """
    if isinstance(codes, Representation):
        rows = take_of_grid(codes, samples=samples, seed=seed)
    else:
        # The number of a row stands in for its factors, so that codes are checked in one place.
        stand_in = torch.arange(len(codes) if codes.ndim else 0)[:, None]
        rows = take(codes, stand_in, samples=samples, seed=seed)
    nothing = rows.values[:, :0]
    return replace(rows, values=nothing, levels=nothing, names=(), kinds=(), remarks=())


def normal_scores(codes: Float[Tensor, "n z"]) -> Float[Tensor, "n z"]:
    """Each code replaced by the normal quantiles of its ranks; a constant code becomes 0.

    Example:
        >>> normal_scores(torch.tensor([[5.0], [70.0], [6.0]]).double()).round(decimals=2).tolist()
        [[-0.97], [0.97], [0.0]]
    """
    quantiles: Tensor = torch.special.ndtri((midranks(codes) + 0.5) / len(codes))
    return quantiles
