"""What an objective sees and returns: Net, Step, Term, and the hooks that it may declare.

Event dimensions are counted from the right (``[..., b, z]``, ``[..., b, c, h, w]``); whatever
stands to the left, ``*p``, is members of a population. A formula written by this rule serves one
model and sixty alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from unknot.core import noise
from unknot.core.architecture import Shape
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper
from unknot.core.optim import Optimizer
from unknot.core.posterior import Posterior


def no_critic(z: Tensor) -> Tensor:
    """Stands in for the critic of an objective that has none."""
    raise ConfigError(
        f"net.critic was called with codes of shape {tuple(z.shape)}, but this objective has no "
        "critic: declare it `Adversarial`, with a method `critic(self, image, z) -> nn.Module`."
    )


def no_features(z: Tensor) -> tuple[Tensor, ...]:
    """Stands in for the activations of networks that are bound without them."""
    raise ConfigError(
        f"net.features was called with codes of shape {tuple(z.shape)}, but this net was bound "
        "without it: give `Net` a function `features`, from codes to a decoder's activations."
    )


@dataclass(frozen=True, slots=True)
class Net:
    """Networks with their weights bound; one model or many, the caller cannot tell.

    Example: `logits = net.decode(net.encode(step.x).mean)`
    """

    encode: Callable[[Tensor], Posterior]
    """Images ``[*p, n, c, h, w]`` to the posterior ``[*p, n, z]``."""
    decode: Callable[[Tensor], Tensor]
    """Codes ``[*p, n, z]`` to logits or means ``[*p, n, c, h, w]``, never activated."""
    critic: Callable[[Tensor], Tensor] = no_critic
    """Codes ``[*p, n, z]``, or what else the critic reads, to whatever it returns."""
    extra: Mapping[str, Tensor] = field(default_factory=dict)
    """The extra state ``[*p, ...]`` by name: learnt so far, or carried from the last step."""
    features: Callable[[Tensor], tuple[Tensor, ...]] = no_features
    """Codes ``[*p, n, z]`` to what the decoder computes on the way, ``[*p, n, ...]`` each: the
    outputs of its activation functions, layer by layer; none of a linear decoder."""


@dataclass(frozen=True, slots=True)
class Step:
    """One training step's inputs: images, who draws noise, and when.

    Example: `z = step.sample(net.encode(step.x))`
    """

    x: Float[Tensor, "*p n c h w"]
    """Views one after the other, so ``n`` is views times batch."""
    seed: Int[Tensor, "*p"]
    t: Int[Tensor, ""]
    n_data: int
    factors: Float[Tensor, "*p n f"] | None = None
    """What a `Labelled` objective is told of each image: its factors, each scaled to 0 .. 1, and
    NaN where it is not told. None for all other objectives."""

    def normal(self, stream: str, *shape: int) -> Float[Tensor, "..."]:
        """Standard normal noise ``[*p, *shape]`` of this step."""
        return noise.normal(self.seed, stream, self.t, *shape, dtype=self.x.dtype)

    def sample(self, q: Posterior, stream: str = "z") -> Float[Tensor, "*p b z"]:
        """Reparametrised samples of posteriors, with the noise of this step."""
        return q.sample(self.normal(stream, *q.mean.shape[-2:]))

    def permutation(self, stream: str, n: int, columns: int) -> Int[Tensor, "*p n columns"]:
        """Independent permutations of ``0 .. n - 1``, one per column, of this step."""
        return noise.permutation(self.seed, stream, self.t, n, columns)


@dataclass(frozen=True, slots=True)
class Term:
    """One named part of a loss; the loss is the sum of ``weight * value`` and nothing else.

    Example: `return {"recon": Term(error), "kl": Term(divergence, self.beta)}`
    """

    value: Float[Tensor, "*p"]
    weight: Hyper = 1.0


@dataclass(frozen=True, slots=True)
class Note:
    """A number to log that is no part of the loss.

    Example: `return {"recon": Term(error), "accuracy": Note(accuracy)}`
    """

    value: Float[Tensor, "*p"]


@dataclass(frozen=True, slots=True)
class Carry:
    """What the next step finds in ``net.extra`` under this name; no gradient goes through it.

    Example: `return {"recon": Term(error), "mean": Carry(0.9 * net.extra["mean"] + 0.1 * value)}`
    """

    value: Float[Tensor, "..."]


Terms: TypeAlias = Mapping[str, Term | Note | Carry]


def total(terms: Terms) -> Float[Tensor, "*p"]:
    """The loss: the weighted sum of its terms.

    Example:
        >>> total({"recon": Term(torch.tensor(3.0)), "kl": Term(torch.tensor(2.0), 4.0)}).item()
        11.0
    """
    weighted = [t.weight * t.value for t in terms.values() if isinstance(t, Term)]
    return torch.stack(weighted).sum(0)


@runtime_checkable
class Objective(Protocol):
    """A frozen dataclass of hyper-parameters with one pure method.

    What some objectives need beyond it are hooks, the abstract classes below. An objective declares
    a hook by naming it as a base, ``class FlowVAE(Stateful, Recoding)``, in any combination; a
    method that only happens to have a hook's name is the objective's own affair.
    """

    def terms(self, net: Net, step: Step) -> Terms:
        """The named terms of the loss to minimise, each ``[*p]``."""
        ...


class MultiView(ABC):
    """Hook of an objective that takes several images for each sample of the batch."""

    sampler: ClassVar[str] = "singles"
    """Which images form a pair or triplet where a run names no sampler; singles are independent."""

    @property
    @abstractmethod
    def views(self) -> int:
        """How many images make up one sample; a class attribute will do."""


class Batchwise:
    """Hook of an objective that compares the images of a batch, so that not every batch will do."""

    least_batch: ClassVar[int] = 2
    """How many images it needs."""

    def check_batch(self, batch: int, n_data: int) -> None:  # noqa: ARG002 - of an objective's own
        """Raise a ConfigError for a batch of a dataset of ``n_data`` images that it cannot take."""
        if batch < self.least_batch:
            raise ConfigError(
                f"{type(self).__name__} compares the images of a batch and needs "
                f"{self.least_batch} or more; got a batch of {batch}."
            )


class Differencing:
    """Hook of an objective that takes differences of what a decoder gives for codes close together.

    Shorter numbers round such differences away: what is left is rounding, which looks like a value.
    """

    def check_precision(self, precision: str) -> None:
        """Raise a ConfigError for a precision in which differences are rounding."""
        if precision in ("tf32", "bf16"):
            raise ConfigError(
                f"{type(self).__name__} takes differences of decoded images, which {precision} "
                "rounds away; train it in precision float32."
            )


class Labelled:
    """Hook of an objective that is told factors of its images: it finds them in ``step.factors``.

    Which images have labels is the sampler's affair: `labelled` gives them to a few rows of the
    data, all others to all rows.
    """

    def label_state(
        self,
        z: int,  # noqa: ARG002 - of an objective's own
        factors: int,  # noqa: ARG002
        seed: Int[Tensor, "*p"],  # noqa: ARG002
    ) -> Mapping[str, Tensor]:
        """Learnt tensors ``[*p, ...]`` whose shapes depend on the number of factors.

        They join those of `Stateful`. Raise a ConfigError here for a number of factors that does
        not suit the ``z`` latents.
        """
        return {}


class Adversarial(ABC):
    """Hook of an objective with a second network, trained beside the first on its own loss.

    The engine takes the gradient of ``terms`` for encoder and decoder only, and that of
    ``critic_terms`` for the critic only, both at the weights before the step.
    """

    @property
    @abstractmethod
    def critic_optim(self) -> Optimizer:
        """The critic's own optimiser."""

    @abstractmethod
    def critic(self, image: Shape, z: int) -> nn.Module:
        """The critic of images and codes of these sizes; its weights come from the run's seed."""

    @abstractmethod
    def critic_terms(self, net: Net, step: Step) -> Terms:
        """The loss of the critic."""

    @property
    def steps_per_update(self) -> int:
        """Steps that one update of all weights counts for."""
        return 1


@dataclass(frozen=True, slots=True)
class ExtraState:
    """Tensors ``[*p, ...]`` that an objective keeps beside the net, as before the first step.

    Example: `return ExtraState(learnt={"log_sigma": torch.zeros_like(seed, dtype=torch.float32)})`
    """

    learnt: Mapping[str, Tensor] = field(default_factory=dict)
    """Weights in addition to those of the net, moved by the same optimiser."""
    carried: Mapping[str, Tensor] = field(default_factory=dict)
    """What each step hands to the next, as the ``Carry`` of that name."""

    def __post_init__(self) -> None:
        if taken := sorted({*self.learnt} & _own_names()):
            raise ConfigError(
                f"A learnt tensor cannot be called '{taken[0]}', which PyTorch's ParameterDict "
                "calls something of its own; choose another name."
            )


@cache
def _own_names() -> frozenset[str]:
    return frozenset(dir(nn.ParameterDict()))


class Stateful(ABC):
    """Hook of an objective with extra state: learnt weights, a controller's memory, running sums.

    The engine keeps it by member, in checkpoints too, and shows it as ``net.extra``.
    """

    @abstractmethod
    def extra_state(self, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
        """The tensors at the start, for ``z`` latents; random ones by ``core.noise``."""


class Calibrated(ABC):
    """Hook of an objective whose Gaussian decoder has a variance of its own."""

    @abstractmethod
    def decoder_variance(self, extra: Mapping[str, Tensor], error: Tensor, count: int) -> Tensor:
        """Of each member, from its extra state and its squared error over so many pixels."""


class Recoding(ABC):
    """Hook of an objective whose code of an image is not the encoder's output itself."""

    @abstractmethod
    def recode(self, net: Net, q: Posterior) -> Posterior:
        """What scores and pictures take as the posterior, from the encoder's."""


HOOKS: tuple[type, ...] = (
    MultiView,
    Batchwise,
    Differencing,
    Labelled,
    Adversarial,
    Stateful,
    Calibrated,
    Recoding,
)


def views_of(objective: Objective) -> int:
    """How many images make up one sample of the batch: 1 unless the objective declares more."""
    return objective.views if isinstance(objective, MultiView) else 1


def sampler_of(objective: Objective) -> str:
    """The sampler that an objective takes where a run names none."""
    return objective.sampler if isinstance(objective, MultiView) else "singles"


def updates_of(objective: Objective, steps: int) -> int:
    """How often weights move in so many steps; fewer where an update counts as several."""
    return -(-steps // (objective.steps_per_update if isinstance(objective, Adversarial) else 1))
