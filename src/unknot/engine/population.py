"""Population: models that train side by side; a lone run is a population of one.

Two backends do the same work. `Looped` holds ordinary modules and trains one member after the
other: the fastest way on a CPU. `Stacked` holds one tensor per weight with a leading member axis
and trains all members in one pass: the fastest way on a GPU. Which of them runs is decided here and
known nowhere else; their states are interchangeable.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from unknot.core import noise
from unknot.core.architecture import Architecture
from unknot.core.dataset import FactorDataset, NuisanceVariants
from unknot.core.errors import ConfigError
from unknot.core.hyper import at, endless, shape_key
from unknot.core.objective import (
    Adversarial,
    Batchwise,
    Carry,
    ExtraState,
    Net,
    Note,
    Objective,
    Recoding,
    Stateful,
    Term,
    Terms,
    total,
    views_of,
)
from unknot.core.optim import Optimizer
from unknot.core.posterior import Posterior
from unknot.engine.device import Runtime
from unknot.losses.likelihood import likelihood_of
from unknot.nets.parts.dispersion import with_dispersion
from unknot.nets.parts.weights import initialize
from unknot.samplers.parts.sampler import Sampler, inside_part, sampler_for
from unknot.samplers.parts.split import Part, Split, rows_in_part

State: TypeAlias = dict[str, Tensor]
"""Weights and optimiser moments by name, in PyTorch's own layouts, members first."""
Rows: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Order seeds and steps to the row numbers of a batch, all views of it, with their variants."""


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


@dataclass(frozen=True)
class Context:
    """The training context: what all models of a population share."""

    dataset: FactorDataset
    net: Architecture
    batch: int
    runtime: Runtime
    sampler: Sampler | None = None
    """Which images form a pair or triplet; what the objective names when None."""
    ema: float | None = None
    """The share that stays of the moving average of weights at each step; None keeps no average.
    With one, codes and images are those of the averaged weights."""
    split: Split | None = None
    """Which rows are held out; training sees the others alone."""
    blank: bool = False
    """Whether weights are zeros until others are given; to draw them takes long."""

    @cached_property
    def n_data(self) -> int:
        """How many rows there are to train on."""
        if self.split is None:
            return len(self.dataset)
        return len(rows_in_part(self.split, self.dataset.space, "train"))

    def rows(self, objective: Objective, part: Part = "train") -> Rows:
        """Which images come next; of rows that have nuisance variants, one drawn for each image."""
        sampler = sampler_for(objective, self.sampler)
        if self.split is not None:
            sampler = inside_part(sampler, self.split, part)
        bound = sampler.bind(self.dataset, self.runtime.device)
        samples = self.batch * views_of(objective) // sampler.views
        images, size = self.dataset.images, len(self.dataset)
        if not isinstance(images, NuisanceVariants):
            return lambda order, t: bound(order, t, samples)
        variants = images.variants

        def fresh(order: Tensor, t: Tensor) -> Tensor:
            # At the end: samplers compare factors, which a variant has not.
            row = bound(order, t, samples)
            return row + size * noise.integers(order, "nuisance", t, row.shape[-1], high=variants)

        return fresh

    def validation_rows(self, objective: Objective, most: int) -> Int[Tensor, "batches n"]:
        """Fixed rows of the validation part in batches, the same for all members and runs."""
        if self.split is None or sampler_for(objective, self.sampler).views > 1:
            return self._validation_views(objective, most)
        if views_of(objective) > 1:
            return self._validation_views(objective, most)
        rows = rows_in_part(self.split, self.dataset.space, "validation")
        rows = rows[noise.permutation(0, "validation", 0, len(rows), 1)[:most, 0]]
        batch = min(self.batch, len(rows))
        return rows[: len(rows) // batch * batch].reshape(-1, batch).to(self.runtime.device)

    def _validation_views(self, objective: Objective, most: int) -> Int[Tensor, "batches n"]:
        rows, device = self.rows(objective, "validation"), self.runtime.device
        batches = torch.arange(max(1, most // self.batch), device=device)
        return rows(torch.zeros((), dtype=torch.int64, device=device), batches)

    def modules(self, objective: Objective) -> dict[str, nn.Module]:
        """Encoder, decoder and, where the objective has one, critic: shapes without memory."""
        image = self.dataset.shape
        with torch.device("meta"):
            modules = {"encoder": self.net.encoder(image), "decoder": self.net.decoder(image)}
            if likelihood_of(objective) == "negative_binomial":
                modules["decoder"] = with_dispersion(modules["decoder"], image)
            if isinstance(objective, Adversarial):
                modules["critic"] = objective.critic(image, self.net.latents)
        return modules

    def weights(self, modules: Mapping[str, nn.Module], seeds: Int[Tensor, " p"]) -> State:
        """Initial weights of the seeds, by name."""
        dtype = self.runtime.dtype
        if self.blank:
            return {
                f"{part}.{name}": seeds.new_zeros(len(seeds), *weight.shape, dtype=dtype)
                for part, module in modules.items()
                for name, weight in module.named_parameters()
            }
        weights: State = {}
        for part, module in modules.items():
            head = self.net.latents if part == "encoder" else None
            weights |= initialize(module, part, self.net.init, seeds, head=head, dtype=dtype)
        return weights

    def extra_state(self, objective: Objective, seeds: Int[Tensor, "*p"]) -> ExtraState:
        """The objective's extra state before the first step, in the precision of the weights."""
        if not isinstance(objective, Stateful):
            return ExtraState()
        start = torch.zeros((), dtype=torch.int64, device=seeds.device)
        extra = at(objective, start, self.runtime.dtype).extra_state(self.net.latents, seeds)
        names = [*extra.learnt, *extra.carried]
        if len({*names}) < len(names) or any("." in name for name in names):
            raise ConfigError(f"{type(objective).__name__} must name its tensors apart: {names}.")
        to = self.runtime.device, self.runtime.dtype
        return ExtraState(
            {name: value.to(*to) for name, value in extra.learnt.items()},
            {name: value.to(*to) for name, value in extra.carried.items()},
        )


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

    backend = Looped if context.runtime.device.type == "cpu" else Stacked
    return backend.fresh(context, members)
