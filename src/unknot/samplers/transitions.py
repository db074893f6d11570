"""Pairs of rows that are a small step apart, as two frames of a film."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from jaxtyping import Bool, Float64, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.core.hyper import at_least
from unknot.core.noise import Count
from unknot.samplers.parts.blocks import LEAST, PARTS
from unknot.samplers.parts.sampler import Rows, independent_rows
from unknot.samplers.parts.weights import Weight, table

Shares: TypeAlias = Callable[[Int[Tensor, "*p b"]], Float64[Tensor, "*p b v"]]
"""Rows to how likely each value of a factor comes next, up to a constant."""


@dataclass(frozen=True)
class Transitions:
    r"""Transitions: the second row is a step away from the first, most factors a little.

    The first row is uniform. With ``laplace``, each factor of $n$ values takes a new value by
    $$p(v' \mid v) \propto \exp(-\lambda\, |v' - v| / \ln n),$$
    under the condition that one factor at least changes; nominal factors stay. With ``uniform``,
    $k$ is uniform on $1 .. F - 1$, and $k$ of the $F$ factors get another value, all others being
    equally likely.

    Paper: Klindt et al. 2021, "Towards nonlinear disentanglement in natural data with temporal
    sparse coding": LAP and UNI.
    Differs: a step of a cyclic factor takes the shorter way around. Factors of one value count
    nothing. With weights the first row is drawn by weight, and a new value by the weights of the
    rows that it leads to as well, one factor after the other in the order of the data; a row that
    has none to go to stays.

    Args:
        steps: ``laplace`` or ``uniform``.
        rate: $\lambda$; at larger ones fewer factors change, and by less.
        weights: What makes some rows likelier than others, as in ``samplers/parts/weights.py``.

    Example: `unknot.train("dsprites", "slow_vae", sampler=samplers.Transitions(rate=2.0))`
    """

    steps: Literal["laplace", "uniform"] = "laplace"
    rate: float = 1.0
    weights: tuple[Weight, ...] = ()
    views: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_choices(self, "steps")
        at_least(self, 0, "rate")

    def bind(self, dataset: FactorDataset, device: torch.device) -> Rows:
        """The transitions of a dataset."""
        dataset.require_factors("Transitions")
        space = dataset.space.require_grid("Transitions")
        laplace = self.steps == "laplace"
        still = [k == "nominal" and laplace for k in space.kinds]
        axes = [i for i, size in enumerate(space.sizes) if size > 1 and not still[i]]
        if not axes:
            raise ConfigError(
                "Transitions need a factor with several values to step along"
                f"{', one that is not nominal' if laplace else ''}; {dataset.name} has none."
            )
        weight = table(space, self.weights).to(device) if self.weights else None
        first_rows = independent_rows(dataset, self.weights, device)
        shares = [_shares(space, i, self._kernel(space, i).to(device), weight) for i in axes]
        place = [(space.strides[i], space.sizes[i]) for i in axes]

        def rows(seed: Count, t: Count, batch: int) -> Tensor:
            first = row = first_rows(seed, "order", t, batch)
            spots = noise.integers(seed, "order/values", t, len(axes), batch, high=2**62)
            if laplace:
                u = noise.integers(seed, "order/moves", t, len(axes), batch, high=2**53)
                moves = _some_move([f(first) for f in shares], first, place, u.double() * 2.0**-53)
            else:
                most = max(len(axes) - 1, 1)
                count = 1 + noise.integers(seed, "order/changed", t, 1, batch, high=most)
                moves = noise.permutation(seed, "order/factors", t, len(axes), batch) < count
            for i, (stride, size) in enumerate(place):
                old = row // stride % size
                new = _another(shares[i](row), old, spots[..., i, :])
                row = torch.where(moves[..., i, :], row + (new - old) * stride, row)
            return torch.cat([first, row], dim=-1)

        return rows

    def _kernel(self, space: FactorSpace, axis: int) -> Float64[Tensor, "v v"]:
        """How likely each value of a factor follows each, up to a constant."""
        size = space.sizes[axis]
        value = torch.arange(size, dtype=torch.float64)
        apart = (value - value.unsqueeze(-1)).abs()
        if space.kinds[axis] == "cyclic":
            apart = torch.minimum(apart, size - apart)
        scale = math.log(size) / self.rate if self.steps == "laplace" and self.rate else math.inf
        return (-apart / scale).exp()


def _shares(
    space: FactorSpace,
    axis: int,
    kernel: Float64[Tensor, "v v"],
    weight: Float64[Tensor, " size"] | None,
) -> Shares:
    stride, size = space.strides[axis], space.sizes[axis]
    offsets = torch.arange(size, device=kernel.device) * stride

    def shares(row: Tensor) -> Tensor:
        old = row // stride % size
        if weight is None:
            return kernel[old]
        return kernel[old] * weight[(row - old * stride).unsqueeze(-1) + offsets]

    return shares


def _some_move(
    shares: list[Tensor],
    row: Int[Tensor, "*p b"],
    place: list[tuple[int, int]],
    u: Float64[Tensor, "*p f b"],
) -> Tensor:
    """Which factors change, given that one does, as if drawn until one did.

    As long as none has changed, factor i does with probability c_i / a_i: c_i is its own, and a_i
    that of any change from factor i on, a_i = c_i + (1 - c_i) a_(i + 1).
    """
    alone = []
    for share, (stride, size) in zip(shares, place, strict=True):
        new = share.masked_fill(_is(row // stride % size, size), 0.0).sum(-1)
        stays = share.gather(-1, (row // stride % size).unsqueeze(-1)).squeeze(-1)
        alone.append(new / (new + stays))  # no difference, which would round a small one away
    later = torch.zeros_like(alone[0])
    any_change: list[Tensor] = []
    for chance in reversed(alone):
        later = chance + (1 - chance) * later
        any_change.insert(0, later)
    moved, moves = torch.zeros_like(row, dtype=torch.bool), list[Tensor]()
    for i, chance in enumerate(alone):
        # Without rounding: the last that may change is sure to, u being below 1.
        move = u[..., i, :] * torch.where(moved, 1.0, any_change[i]) < chance
        moved = moved | move
        moves.append(move)
    return torch.stack(moves, dim=-2)


def _another(
    share: Float64[Tensor, "*p b v"], old: Int[Tensor, "*p b"], spot: Int[Tensor, "*p b"]
) -> Int[Tensor, "*p b"]:
    """Another value by its share; the old one where there is no other."""
    share = share.masked_fill(_is(old, share.shape[-1]), 0.0)
    # Whole numbers add up to the same on every device; any share is 1 or more.
    most = share.amax(-1, keepdim=True)
    bounds = (share / most.clamp(min=LEAST) * PARTS).ceil().long().cumsum(-1)
    total = bounds[..., -1]
    new = (bounds <= (spot % total.clamp(min=1)).unsqueeze(-1)).sum(-1)
    return torch.where(total > 0, new, old)


def _is(value: Int[Tensor, "*p b"], size: int) -> Bool[Tensor, "*p b v"]:
    """The place of a value among all."""
    return torch.arange(size, device=value.device) == value.unsqueeze(-1)
