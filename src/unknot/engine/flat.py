"""All weights that one optimiser moves, of all members, side by side in one buffer.

Networks see views of it, one for each weight. Adam then moves all of them in one pass: as one
Triton kernel, or by the formulas of `engine/updates.py` on two long vectors, that of the numbers
that decay and that of the others. Neither compiles a kernel for each weight.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unknot.core.hyper import hyper_fields, replace_fields
from unknot.core.optim import Adam, AdamW
from unknot.engine.context import State
from unknot.engine.updates import clip_gradients, clips, moments_of

BLOCK = 1024
"""Numbers that a program of the kernel moves; each weight begins at a multiple of it."""


@dataclass(eq=False, frozen=True)
class Flat:
    """The weights of one optimiser, in a buffer for each precision that networks use them in."""

    buffers: tuple["Buffer", ...]
    kernel: bool
    """Whether Adam is the Triton kernel."""

    @classmethod
    def from_weights(
        cls,
        weights: State,
        used: State,
        decayed: Mapping[str, bool],
        *,
        kernel: bool,
    ) -> "Flat":
        """Copy weights ``[p, ...]`` into buffers.

        Args:
            weights: By name.
            used: What networks multiply with, in any precision.
            decayed: Whether weight decay is for a weight.
            kernel: Whether Adam is the Triton kernel.
        """
        groups: dict[torch.dtype, list[str]] = {}
        for name in sorted(weights, key=lambda n: not decayed[n]):
            groups.setdefault(used[name].dtype, []).append(name)
        return cls(
            tuple(
                Buffer.from_weights({n: weights[n] for n in names}, dtype, decayed)
                for dtype, names in groups.items()
            ),
            kernel,
        )

    def views(self) -> tuple[State, State, State]:
        """Weights, what networks use, and moments by prefix and name: views of the buffers."""
        weights: State = {}
        used: State = {}
        moments: State = {}
        for buffer in self.buffers:
            mine = buffer.views(buffer.weights)
            weights |= mine
            used |= mine if buffer.used is buffer.weights else buffer.views(buffer.used)
            for prefix, moment in zip(moments_of(Adam()), buffer.moments, strict=True):
                moments |= {prefix + n: view for n, view in buffer.views(moment).items()}
        return weights, used, moments

    @torch.no_grad()
    def update(
        self, gradients: State, settings: Adam | AdamW, t: Tensor, call: Callable[..., None]
    ) -> None:
        """One step of the optimiser.

        Args:
            gradients: Of each weight.
            settings: With ``lr`` a number of each member.
            t: Steps done before this one.
            call: `update` of `engine/updates.py`, as it is or compiled.
        """
        if clips(settings):
            names = [*gradients]
            full = [g.to(self.buffers[0].weights.dtype) for g in gradients.values()]
            gradients = dict(zip(names, clip_gradients(full, settings), strict=True))
            settings = replace(settings, clip_norm=None, clip_value=None)
        for buffer in self.buffers:
            mine = [gradients[name] for name in buffer.shapes]
            if self.kernel:
                from unknot.engine.kernels.adam_step import run_adam

                run_adam(buffer, mine, settings, t)
            else:
                buffer.move(mine, settings, t, call)


@dataclass(eq=False, frozen=True)
class Buffer:
    """Weights that networks use in one precision: first those that decay, padded with zeros."""

    shapes: Mapping[str, tuple[int, ...]]
    begins: Mapping[str, int]
    """Where each weight begins."""
    weights: Tensor
    used: Tensor
    """Copies in the precision of the products, or the weights themselves."""
    moments: tuple[Tensor, Tensor]
    places: Tensor
    """Of each block: where in its weight it begins, a member's numbers there, whether it decays,
    and which weight that is."""
    decaying: int
    """How many numbers decay."""
    members: int
    owners: Tensor
    """The member that each number belongs to, for the way without the kernel."""

    @classmethod
    def from_weights(
        cls, named: State, dtype: torch.dtype, decayed: Mapping[str, bool]
    ) -> "Buffer":
        """Copy weights, those that decay first."""
        begins: dict[str, int] = {}
        places: list[tuple[int, int, int, int]] = []
        for number, (name, w) in enumerate(named.items()):
            begins[name] = len(places) * BLOCK
            each = max(1, w.numel() // len(w))
            places += [(k, each, decayed[name], number) for k in range(0, w.numel(), BLOCK)]
        first = next(iter(named.values()))
        table = torch.tensor(places, dtype=torch.int32, device=first.device)
        within = table[:, :1] + torch.arange(BLOCK, dtype=torch.int32, device=first.device)
        # What fills up a weight's last block belongs to the last member.
        owners = (within // table[:, 1:2]).clamp(max=len(first) - 1).flatten()
        weights, *moments = (first.new_zeros(len(places) * BLOCK) for _ in range(3))
        used = weights if dtype == weights.dtype else weights.to(dtype)
        buffer = cls(
            {name: tuple(w.shape) for name, w in named.items()},
            begins,
            weights,
            used,
            (moments[0], moments[1]),
            table,
            sum(decay for *_, decay, _ in places) * BLOCK,
            len(first),
            owners,
        )
        for target in {weights, used}:
            for name, view in buffer.views(target).items():
                view.copy_(named[name])
        return buffer

    def views(self, flat: Tensor) -> State:
        """Each weight's part of a buffer, in its shape."""
        return {
            name: flat[begin : begin + torch.Size(self.shapes[name]).numel()].view(
                self.shapes[name]
            )
            for name, begin in self.begins.items()
        }

    def move(
        self,
        gradients: list[Tensor],
        settings: Adam | AdamW,
        t: Tensor,
        call: Callable[..., None],
    ) -> None:
        """One step of the optimiser without the kernel."""
        joined = gradients[0].new_zeros(len(self.weights))
        torch._foreach_copy_([*self.views(joined).values()], gradients)
        for part, decay in ((slice(self.decaying), True), (slice(self.decaying, None), False)):
            if not len(self.weights[part]):
                continue
            copy = self.used[part] if self.used is not self.weights else None
            weights = self.weights[part]
            call(
                [weights],
                [[moment[part] for moment in self.moments]],
                [joined[part]],
                spread(settings, self.owners[part]),
                t,
                [decay],
                [weights if copy is None else copy],
            )


def spread(settings: Adam | AdamW, owners: Tensor) -> Adam | AdamW:
    """Settings of members as settings of their numbers."""
    named = {name: getattr(settings, name) for name in hyper_fields(settings)}
    return replace_fields(settings, {n: torch.as_tensor(v)[owners] for n, v in named.items()})
