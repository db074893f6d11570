"""Rows for the scores that look at codes alone."""

from dataclasses import replace

import torch

from unknot.core.representation import Representation
from unknot.metrics.inputs import Codes, Rows, take


def take_codes(codes: Codes, *, samples: int | None, seed: int) -> Rows:
    """The rows that other scores see under the same seed, without factors.

    Arguments and errors are those of `unknot.metrics.inputs.take`.
    """
    # The number of a row stands in for its factors, so that codes are checked in one place.
    n = 0 if isinstance(codes, Representation) or codes.ndim == 0 else len(codes)
    stand_in = None if isinstance(codes, Representation) else torch.arange(n)[:, None]
    rows = take(codes, stand_in, samples=samples, seed=seed)
    nothing = rows.values[:, :0]
    return replace(rows, values=nothing, levels=nothing, names=(), kinds=(), remarks=())
