"""Context: what all models of a population share, and what they begin with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import torch
from jaxtyping import Int
from torch import Tensor, nn

from unknot.core import noise
from unknot.core.architecture import Architecture, Premade
from unknot.core.dataset import FactorDataset, NuisanceVariants
from unknot.core.errors import ConfigError
from unknot.core.hyper import at
from unknot.core.objective import (
    Adversarial,
    ExtraState,
    Labelled,
    Objective,
    Stateful,
    views_of,
)
from unknot.engine.device import Runtime
from unknot.engine.labels import Labels, label_source
from unknot.losses.likelihood import likelihood_of
from unknot.nets.parts.dispersion import with_dispersion
from unknot.nets.parts.given_modules import named_tensors
from unknot.nets.parts.weights import initialize
from unknot.samplers.parts.sampler import PartlyLabelled, Sampler, inside_part, sampler_for
from unknot.samplers.parts.split import Part, Split, rows_in_part

State: TypeAlias = dict[str, Tensor]
"""Weights and optimiser moments by name, in PyTorch's own layouts, members first."""
Rows: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Order seeds and steps to the row numbers of a batch, all views of it, with their variants."""


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

    @property
    def rows_device(self) -> torch.device:
        """Where rows are drawn: beside the images."""
        return torch.device("cpu") if self.dataset.streamed else self.runtime.device

    def rows(self, objective: Objective, part: Part = "train") -> Rows:
        """Which images come next; of rows that have nuisance variants, one drawn for each image."""
        sampler = self._sampler(objective, part)
        bound = sampler.bind(self.dataset, self.rows_device)
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

    def _sampler(self, objective: Objective, part: Part) -> Sampler:
        sampler = sampler_for(objective, self.sampler)
        return sampler if self.split is None else inside_part(sampler, self.split, part)

    def labels(self, objective: Objective) -> Labels:
        """Rows to the factors that an objective is told of them, beside the images; else None."""
        if not isinstance(objective, Labelled):
            return lambda _: None
        self.dataset.require_factors("Objectives that are told labels")
        parts: tuple[Part, ...] = ("train",) if self.split is None else ("train", "validation")
        samplers = [self._sampler(objective, part) for part in parts]
        told = [s.labelled_rows(self.dataset) for s in samplers if isinstance(s, PartlyLabelled)]
        rows = torch.cat(told) if told else None
        return label_source(self.dataset.space, rows, self.runtime.device, self.runtime.dtype)

    def validation_rows(self, objective: Objective, most: int) -> Int[Tensor, "batches n"]:
        """Fixed rows of the validation part in batches, the same for all members and runs."""
        if self.split is None or sampler_for(objective, self.sampler).views > 1:
            return self._validation_views(objective, most)
        if views_of(objective) > 1:
            return self._validation_views(objective, most)
        rows = rows_in_part(self.split, self.dataset.space, "validation")
        rows = rows[noise.permutation(0, "validation", 0, len(rows), 1)[:most, 0]]
        batch = min(self.batch, len(rows))
        return rows[: len(rows) // batch * batch].reshape(-1, batch).to(self.rows_device)

    def _validation_views(self, objective: Objective, most: int) -> Int[Tensor, "batches n"]:
        rows, device = self.rows(objective, "validation"), self.rows_device
        batches = torch.arange(max(1, most // self.batch), device=device)
        return rows(torch.zeros((), dtype=torch.int64, device=device), batches)

    def modules(self, objective: Objective) -> dict[str, nn.Module]:
        """Encoder, decoder and, where the objective has one, critic: shapes without memory."""
        image = self.dataset.shape
        with torch.device("meta"):
            modules = self._parts(objective, self.net.encoder(image), self.net.decoder(image))
            if isinstance(objective, Adversarial):
                modules["critic"] = objective.critic(image, self.net.latents)
        return {name: module.to("meta") for name, module in modules.items()}

    def _parts(
        self, objective: Objective, encoder: nn.Module, decoder: nn.Module
    ) -> dict[str, nn.Module]:
        if likelihood_of(objective) == "negative_binomial":
            decoder = with_dispersion(decoder, self.dataset.shape)
        return {"encoder": encoder, "decoder": decoder}

    def weights(
        self, objective: Objective, modules: Mapping[str, nn.Module], seeds: Int[Tensor, " p"]
    ) -> State:
        """Initial weights of the seeds and, where modules have them, buffers, by name."""
        dtype = self.runtime.dtype
        if self.blank:
            return {
                f"{part}.{name}": torch.zeros(
                    len(seeds),
                    *tensor.shape,
                    dtype=dtype if tensor.is_floating_point() else tensor.dtype,
                    device=seeds.device,
                )
                for part, module in modules.items()
                for name, tensor in named_tensors(module).items()
            }
        weights: State = {}
        if isinstance(self.net, Premade):
            weights = self._premade_weights(self.net, objective, seeds)
            modules = {part: module for part, module in modules.items() if part == "critic"}
        for part, module in modules.items():
            head = self.net.latents if part == "encoder" else None
            weights |= initialize(module, part, self.net.init, seeds, head=head, dtype=dtype)
        return weights

    def _premade_weights(self, net: Premade, objective: Objective, seeds: Tensor) -> State:
        states = []
        for seed in seeds.tolist():
            parts = self._parts(objective, *net.start(seed))
            modules = nn.ModuleDict(parts).to(self.runtime.dtype)
            states.append({n: t.detach() for n, t in named_tensors(modules).items()})
        return {name: torch.stack([s[name] for s in states]).to(seeds.device) for name in states[0]}

    def extra_state(self, objective: Objective, seeds: Int[Tensor, "*p"]) -> ExtraState:
        """The objective's extra state before the first step, in the precision of the weights."""
        start = torch.zeros((), dtype=torch.int64, device=seeds.device)
        z, now = self.net.latents, at(objective, start, self.runtime.dtype)
        extra = now.extra_state(z, seeds) if isinstance(now, Stateful) else ExtraState()
        if isinstance(now, Labelled):
            learnt = now.label_state(z, len(self.dataset.space), seeds)
            extra = ExtraState({**extra.learnt, **learnt}, extra.carried)
        names = [*extra.learnt, *extra.carried]
        if len({*names}) < len(names) or any("." in name for name in names):
            raise ConfigError(f"{type(objective).__name__} must name its tensors apart: {names}.")
        to = self.runtime.device, self.runtime.dtype
        return ExtraState(
            {name: value.to(*to) for name, value in extra.learnt.items()},
            {name: value.to(*to) for name, value in extra.carried.items()},
        )
