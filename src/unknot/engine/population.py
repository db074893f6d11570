"""Population: models that train side by side; a lone run is a population of one.

Two backends do the same work. `Looped` holds ordinary modules and trains one member after the
other: the fastest way on a CPU. `Stacked` holds one tensor per weight with a leading member axis
and trains all members in one pass: the fastest way on a GPU. Which of them runs is decided here and
known nowhere else; their states are interchangeable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from unknot.core.architecture import Architecture
from unknot.core.errors import ConfigError
from unknot.core.hyper import shape_key
from unknot.core.objective import Adam, Objective
from unknot.core.posterior import Posterior
from unknot.data.dataset import FactorDataset
from unknot.engine.device import Runtime

State: TypeAlias = dict[str, Tensor]
"""Weights and optimiser moments by name, in PyTorch's own layouts, members first."""


@dataclass(frozen=True)
class Member:
    """What may differ between the models of one population."""

    seed: int
    objective: Objective
    optim: Adam
    order_seed: int | None = None
    """Which images come when; the member's own seed when None."""

    def __post_init__(self) -> None:
        if (views := self.objective.views) != 1:
            name = type(self.objective).__name__
            raise ConfigError(
                f"{name} wants {views} views of a sample; only single images come yet."
            )

    @property
    def group(self) -> tuple[object, ...]:
        """Members whose groups are equal can train in one population."""
        return shape_key(self.objective), shape_key(self.optim)


@dataclass(frozen=True)
class Setting:
    """What all models of a population share."""

    dataset: FactorDataset
    net: Architecture
    batch: int
    runtime: Runtime


@runtime_checkable
class Population(Protocol):
    """Models that train side by side."""

    def advance(self, start: int, steps: int) -> Mapping[str, Float[Tensor, " p"]]:
        """Train from step ``start`` for some steps; the loss and its terms at the last of them."""
        ...

    def encode(self, x: Float[Tensor, "n c h w"]) -> Posterior:
        """Posteriors ``[p, n, z]`` of the same images for every member."""
        ...

    def decode(self, z: Float[Tensor, "p n z"]) -> Float[Tensor, "p n c h w"]:
        """Logits or means for each member's own codes."""
        ...

    def state(self) -> State:
        """Everything training changes, on the CPU."""
        ...

    def load(self, state: State) -> None:
        """Continue from a state."""
        ...


def populate(setting: Setting, members: Sequence[Member]) -> Population:
    """A fresh population on the backend that suits the device."""
    from unknot.engine.looped import Looped
    from unknot.engine.stacked import Stacked

    backend = Looped if setting.runtime.device.type == "cpu" else Stacked
    return backend.fresh(setting, members)
