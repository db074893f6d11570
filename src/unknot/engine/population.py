"""Population: models that train side by side; a lone run is a population of one.

Two backends do the same work. `Looped` holds ordinary modules and trains one member after the
other: the fastest way on a CPU. `Stacked` holds one tensor per weight with a leading member axis
and trains all members in one pass: the fastest way on a GPU. Which of them runs is decided here and
known nowhere else; their states are interchangeable.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.architecture import Premade
from unknot.core.errors import ConfigError
from unknot.core.hyper import endless, shape_key
from unknot.core.objective import (
    Adversarial,
    Batchwise,
    Carry,
    Differencing,
    Net,
    Note,
    Objective,
    Recoding,
    Term,
    Terms,
    total,
)
from unknot.core.optim import Optimizer
from unknot.core.posterior import Posterior
from unknot.engine.context import Context, State


@dataclass(frozen=True)
class Member:
    """What may differ between the models of one population."""

    seed: int
    objective: Objective
    optim: Optimizer
    order_seed: int | None = None
    """Which images come when; the member's own seed when None."""

    @property
    def optims(self) -> dict[str, Optimizer]:
        """The optimiser of each set of weights that it trains."""
        if isinstance(self.objective, Adversarial):
            return {"net": self.optim, "critic": self.objective.critic_optim}
        return {"net": self.optim}

    @property
    def group(self) -> tuple[object, ...]:
        """Members whose groups are equal can train in one population."""
        return shape_key(self.objective), shape_key(self.optim)


@runtime_checkable
class Population(Protocol):
    """Models that train side by side."""

    @property
    def members(self) -> int:
        """How many they are."""
        ...

    @property
    def pace(self) -> int:
        """Steps to take at a time: few enough that a request to stop is soon heard."""
        ...

    def advance(self, start: int, steps: int) -> Mapping[str, Float[Tensor, " p"]]:
        """Train from step ``start`` for some steps; the loss and its terms at the last of them."""
        ...

    def encode(self, x: Float[Tensor, "n c h w"]) -> Posterior:
        """Posteriors ``[p, n, z]`` of the same images for every member."""
        ...

    def decode(self, z: Float[Tensor, "p n z"]) -> Float[Tensor, "p n c h w"]:
        """Logits or means for each member's own codes."""
        ...

    def validate(self, rows: Int[Tensor, "batches n"], t: int) -> Mapping[str, Float[Tensor, " p"]]:
        """The loss and its terms on the same rows for every member, without training on them.

        Noise is that of step ``t``, with another seed for each batch.
        """
        ...

    def freeze(self, members: Collection[int]) -> None:
        """Let these members stay as they are, whatever the others do."""
        ...

    def state(self) -> State:
        """Everything training changes, on the CPU."""
        ...

    def load(self, state: State) -> None:
        """Continue from a state."""
        ...


def carried(losses: Mapping[str, Terms], before: State) -> State:
    """What a step hands to the next."""
    after = {}
    for name, term in (pair for terms in losses.values() for pair in terms.items()):
        if isinstance(term, Carry):
            if name not in before or before[name].shape != term.value.shape:
                raise ConfigError(
                    f"Carry '{name}' of shape {tuple(term.value.shape)} is not among what "
                    f"`extra_state` gives: { ({n: tuple(v.shape) for n, v in before.items()}) }."
                )
            after[name] = term.value.detach().to(before[name].dtype)
    return after


def recode(objective: Objective, net: Net, q: Posterior) -> Posterior:
    """The posterior that scores and pictures take."""
    return objective.recode(net, q) if isinstance(objective, Recoding) else q


def log_of(losses: Mapping[str, Terms]) -> dict[str, Tensor]:
    """What is written down of a step: each loss, each term raw and its weight, and each note.

    Names of the critic's terms carry the prefix ``critic.``.
    """
    log = {}
    for name, terms in losses.items():
        prefix = "" if name == "net" else f"{name}."
        log[f"{prefix}loss"] = total(terms).detach()
        for key, term in terms.items():
            if isinstance(term, Term | Note):
                log[prefix + key] = term.value.detach()
            if not isinstance(term, Term):
                continue
            weight: Any = term.weight
            if not isinstance(weight, Tensor):
                weight = torch.full_like(term.value, weight)
            log[f"{prefix}{key}.weight"] = weight.detach().expand_as(term.value)
    return log


def loss_of(name: str) -> str:
    """Which loss moves a weight: that of the ``net``, or of the ``critic``."""
    return "critic" if name.startswith("critic.") else "net"


def mean_logs(logs: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of what several batches log."""
    return {name: torch.stack([log[name].double() for log in logs]).mean(0) for name in logs[0]}


def groups(members: Sequence[Member]) -> list[list[Member]]:
    """Members split into those that can train together, in the order of their first ones."""
    by_group: dict[tuple[object, ...], list[Member]] = {}
    for member in members:
        by_group.setdefault(member.group, []).append(member)
    return list(by_group.values())


def _check(context: Context, objective: Objective) -> None:
    if isinstance(objective, Batchwise):
        objective.check_batch(context.batch, context.n_data)
    if isinstance(objective, Differencing):
        objective.check_precision(context.runtime.precision)
    if names := endless(objective):
        raise ConfigError(
            f"{type(objective).__name__}.{names[0]} lasts the whole run, and how long that is has "
            "to be said: give the schedule its steps, or fill them in with `over_run`."
        )


def populate(context: Context, members: Sequence[Member]) -> Population:
    """A fresh population on the backend that suits the device."""
    for member in members:
        _check(context, member.objective)
    if len(groups(members)) > 1:
        raise ConfigError(
            "Members of a population may differ in seed, learning rate and Hyper fields only; "
            "put the others in a population of their own, as `groups` does."
        )
    from unknot.engine.looped import Looped
    from unknot.engine.stacked import Stacked

    if context.runtime.device.type == "cpu" or _train_in_turn(context, members):
        return Looped.fresh(context, members)
    return Stacked.fresh(context, members)


def _train_in_turn(context: Context, members: Sequence[Member]) -> bool:
    """Whether modules that a user gave cannot be stacked; where that is slower, it says why."""
    if not isinstance(context.net, Premade):
        return False
    from unknot.engine.kernels import slower
    from unknot.engine.modules import why_not_stacked

    net, image = context.net, context.dataset.shape
    reason = why_not_stacked(net.encoder(image), net.decoder(image), image, net.latents)
    if reason and len(members) > 1 and not context.blank:
        slower(f"Models train one after the other, because {reason}.")
    return reason is not None
