"""Information of continuous codes about factors, estimated from nearest neighbours."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.metrics.parts.columns import to_unit_range

ROUNDING = 1e-10
"""Distances closer than this, in units of a code's range, are taken to be equal."""


def neighbor_information(
    codes: Float[Tensor, "n z"], levels: Int[Tensor, "n f"], neighbors: int
) -> Float[Tensor, "z f"]:
    r"""Mutual information in nats of each continuous code and each factor with levels.

    $$I = \psi(N) - \langle\psi(N_i)\rangle + \langle\psi(k_i)\rangle - \langle\psi(m_i)\rangle$$
    For row $i$, with $N_i$ rows of its level and a radius just short of its k-th neighbour among
    them, $k_i$ rows of its level and $m_i$ rows of any level lie inside, itself included. At least
    0. A row whose level is its own alone has no neighbours and is left out.

    Paper: Ross 2014, "Mutual information between discrete and continuous data sets".
    Differs: $k_i$ is counted, not taken to be $k$: with repeated values it is larger, and a code
    that repeats its factor gets the factor's entropy (Gao et al. 2017). scikit-learn adds noise
    instead; without repeated values the two agree.

    Example:
        >>> levels = torch.arange(400)[:, None] % 4
        >>> round(neighbor_information(levels.double(), levels, 3).exp().item(), 2)
        4.02
    """
    if neighbors < 1:
        raise ConfigError(f"Expected 1 or more nearest neighbours, such as 10; got {neighbors}.")
    x = to_unit_range(codes).T.contiguous()
    return torch.stack([_with_factor(x, level, neighbors) for level in levels.T], dim=1)


def _with_factor(
    x: Float[Tensor, "z n"], level: Int[Tensor, " n"], neighbors: int
) -> Float[Tensor, " z"]:
    sizes = torch.bincount(level)
    shared = sizes[level] > 1
    x, level = x[:, shared], level[shared]
    if x.shape[1] == 0:
        return x.new_zeros(len(x))
    # By level and then by value, so that the neighbours of a level stand beside each other.
    order = x.argsort(dim=1)
    order = order.gather(1, level[order].argsort(dim=1, stable=True))
    x = x.gather(1, order)
    level = level.sort().values
    sizes = torch.bincount(level)
    size, last = sizes[level], (sizes.cumsum(0) - 1)[level]
    first, k = last - size + 1, (size - 1).clamp(max=neighbors)
    place = torch.arange(len(level), device=x.device)
    radius = torch.full_like(x, torch.inf)
    for before in range(int(k.max()) + 1):
        low, high = place - before, place - before + k
        inside = (before <= k) & (low >= first) & (high <= last)
        low, high = low.clamp_min(0), high.clamp(max=len(level) - 1)
        reach = torch.maximum(x - x[:, low], x[:, high] - x)
        radius = torch.where(inside, torch.minimum(radius, reach), radius)
    radius = (radius - ROUNDING).clamp_min(ROUNDING)
    same = _within(x + 2 * level, radius)
    total = _within(x, radius)
    n = torch.tensor(float(len(level)), dtype=x.dtype, device=x.device)
    within = torch.digamma(size.to(x.dtype)).mean()
    inner = torch.digamma(same) - torch.digamma(total)
    return (torch.digamma(n) - within + inner.mean(1)).clamp_min(0)


def _within(x: Float[Tensor, "z n"], radius: Float[Tensor, "z n"]) -> Float[Tensor, "z n"]:
    """How many values of the same row of the table lie within a radius of each."""
    ordered = x.sort(dim=1).values
    above = torch.searchsorted(ordered, x + radius, right=True)
    return (above - torch.searchsorted(ordered, x - radius)).to(x.dtype)
