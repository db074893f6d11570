"""What an objective sees and returns: Net, Step, Term, and what it may ask for beyond that.

Event dimensions are counted from the right (``[..., b, z]``, ``[..., b, c, h, w]``); whatever
stands to the left, ``*p``, is members of a population. A formula written by this rule serves one
model and sixty alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from unknot.core import noise
from unknot.core.architecture import Shape
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper, at_least
from unknot.core.posterior import Posterior


def no_critic(z: Tensor) -> Tensor:
    """Stands in for the critic of an objective that has none."""
    raise ConfigError(
        f"net.critic was called with codes of shape {tuple(z.shape)}, but this objective has no "
        "critic: add a method `critic(self, image, z) -> nn.Module` to it."
    )


@dataclass(frozen=True, slots=True)
class Net:
    """Networks with their weights bound; one model or many, the caller cannot tell."""

    encode: Callable[[Tensor], Posterior]
    """Images ``[*p, n, c, h, w]`` to the posterior ``[*p, n, z]``."""
    decode: Callable[[Tensor], Tensor]
    """Codes ``[*p, n, z]`` to logits or means ``[*p, n, c, h, w]``, never activated."""
    critic: Callable[[Tensor], Tensor] = no_critic
    """Codes ``[*p, n, z]``, or what else the critic reads, to whatever it returns."""
    own: Mapping[str, Tensor] = field(default_factory=dict)
    """The objective's own tensors ``[*p, ...]``: learnt so far, or carried from the last step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One training step's inputs: images, who draws noise, and when."""

    x: Float[Tensor, "*p n c h w"]
    """Views one after the other, so ``n`` is views times batch."""
    seed: Int[Tensor, "*p"]
    t: Int[Tensor, ""]
    n_data: int

    def normal(self, stream: str, *shape: int) -> Float[Tensor, "..."]:
        """Standard normal noise ``[*p, *shape]`` of this step."""
        return noise.normal(self.seed, stream, self.t, *shape, dtype=self.x.dtype)

    def permutation(self, stream: str, n: int, columns: int) -> Int[Tensor, "*p n columns"]:
        """Independent permutations of ``0 .. n - 1``, one per column, of this step."""
        return noise.permutation(self.seed, stream, self.t, n, columns)


@dataclass(frozen=True, slots=True)
class Term:
    """One named part of a loss; the loss is the sum of ``weight * value`` and nothing else."""

    value: Float[Tensor, "*p"]
    weight: Hyper = 1.0


@dataclass(frozen=True, slots=True)
class Note:
    """A number to log that is no part of the loss."""

    value: Float[Tensor, "*p"]


@dataclass(frozen=True, slots=True)
class Carry:
    """What the next step finds in ``net.own`` under this name; no gradient goes through it."""

    value: Float[Tensor, "..."]


Terms: TypeAlias = Mapping[str, Term | Note | Carry]


def total(terms: Terms) -> Float[Tensor, "*p"]:
    """The loss: the weighted sum of its terms.

    Example:
        >>> total({"recon": Term(torch.tensor(3.0)), "kl": Term(torch.tensor(2.0), 4.0)}).item()
        11.0
    """
    weighted = [t.weight * t.value for t in terms.values() if isinstance(t, Term)]  # type: ignore[operator]
    return torch.stack(weighted).sum(0)


@dataclass(frozen=True)
class Adam:
    """Settings of the Adam optimiser (Kingma and Ba 2015); ``lr`` may differ between members."""

    lr: Hyper = 1e-4
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8

    def __post_init__(self) -> None:
        if isinstance(self.lr, int | float) and not self.lr > 0:
            raise ConfigError(f"optim.lr must be above 0; got {self.lr}.")
        at_least(self, 0, "lr")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"optim.{name} must lie in [0, 1); got {getattr(self, name)}.")
        if not self.eps > 0:
            raise ConfigError(f"optim.eps must be above 0; got {self.eps}.")


@runtime_checkable
class Objective(Protocol):
    """A frozen dataclass of hyper-parameters with one pure method.

    What some objectives need beyond it stands in the protocols below: their methods are found by
    name, any of them, in any combination.
    """

    @property
    def views(self) -> int:
        """How many images make up one sample of the batch; a class attribute will do."""
        ...

    def terms(self, net: Net, step: Step) -> Terms:
        """The named terms of the loss to minimise, each ``[*p]``."""
        ...


@runtime_checkable
class Adversarial(Protocol):
    """An objective with a second network, trained beside the first on its own loss.

    The engine takes the gradient of ``terms`` for encoder and decoder only, and that of
    ``critic_terms`` for the critic only, both at the weights before the step.
    """

    @property
    def critic_optim(self) -> Adam:
        """The critic's own optimiser."""
        ...

    def critic(self, image: Shape, z: int) -> nn.Module:
        """The critic of images and codes of these sizes; its weights come from the run's seed."""
        ...

    def critic_terms(self, net: Net, step: Step) -> Terms:
        """The loss of the critic."""
        ...


@dataclass(frozen=True, slots=True)
class Own:
    """Tensors ``[*p, ...]`` of an objective by name, as they are before the first step."""

    learnt: Mapping[str, Tensor] = field(default_factory=dict)
    """Weights beside those of the net, moved by the same optimiser."""
    carried: Mapping[str, Tensor] = field(default_factory=dict)
    """State that each step hands to the next, as the ``Carry`` of that name."""


@runtime_checkable
class Stateful(Protocol):
    """An objective with tensors of its own: learnt weights, a controller's memory, running sums.

    The engine keeps them by member, in checkpoints too, and shows them as ``net.own``.
    """

    def own(self, z: int, seed: Int[Tensor, "*p"]) -> Own:
        """The tensors at the start, for ``z`` latents; random ones by ``core.noise``."""
        ...


@runtime_checkable
class Calibrated(Protocol):
    """An objective whose Gaussian decoder has a variance of its own."""

    def variance(self, own: Mapping[str, Tensor], error: Tensor, count: int) -> Tensor:
        """Of each member, from what it has learnt and its squared error over so many pixels."""
        ...


@runtime_checkable
class Recoding(Protocol):
    """An objective whose code of an image is not the encoder's output itself."""

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """What scores and pictures take as the posterior, from the encoder's."""
        ...


@runtime_checkable
class Batchwise(Protocol):
    """An objective that compares the images of a batch, and so needs several."""

    @property
    def least_batch(self) -> int:
        """The smallest batch that it makes sense for; a class attribute will do."""
        ...


@runtime_checkable
class Choosy(Protocol):
    """An objective that makes sense for some batches of some datasets only."""

    def check_batch(self, batch: int, n_data: int) -> None:
        """Raise a ConfigError for a batch of a dataset of ``n_data`` images that it cannot take."""
        ...


@runtime_checkable
class Drawing(Protocol):
    """An objective whose views belong together: pairs that share factors, ordered triplets."""

    @property
    def draw(self) -> str:
        """The draw that it takes where a run names none; a class attribute will do."""
        ...
