"""Latents that two images seem to share: how far apart, below which threshold, at what weight."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.hyper import Number, at_least, extremes, lift
from unknot.core.objective import Net, Note, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import kl_normal, reconstruction

Delta: TypeAlias = Literal["absolute", "kl", "symmetric_kl"]


def check_unit(thing: Any, *names: str) -> None:
    """Check that numbers and schedules never leave [0, 1]; for ``__post_init__``."""
    at_least(thing, 0, *names)
    for name in names:
        for value in extremes(getattr(thing, name)):
            if value > 1:
                raise ConfigError(f"{type(thing).__name__}.{name} must be 1 or less; got {value}.")


def deltas(a: Posterior, b: Posterior, delta: Delta) -> Float64[Tensor, "*p b z"]:
    r"""How far apart the posteriors of two images are, latent by latent.

    - `absolute`: $|\mu_a - \mu_b|$
    - `kl`: $\mathrm{KL}(q_a \| q_b)$, `Posterior.kl_to`
    - `symmetric_kl`, the mean of both directions: `Posterior.symmetric_kl`

    In float64 whatever the training's precision, since what they decide is yes or no, and without
    a gradient. The forms above do not cancel where the posteriors are nearly equal.

    Example:
        >>> a = Posterior(torch.tensor([[3.0, 1.0]]), torch.zeros(1, 2))
        >>> deltas(a, Posterior(torch.zeros(1, 2), torch.zeros(1, 2)), "kl").tolist()
        [[4.5, 0.5]]
    """
    a, b = (Posterior(q.mean.detach().double(), q.logvar.detach().double()) for q in (a, b))
    if delta == "symmetric_kl":
        return a.symmetric_kl(b)
    return a.kl_to(b) if delta == "kl" else (a.mean - b.mean).abs()


def shared_latents(deltas: Float64[Tensor, "*p b z"], eta: Number) -> Bool[Tensor, "*p b z"]:
    r"""The latents below the threshold, $\delta_i < (1 - \eta) \min \delta + \eta \max \delta$.

    The largest is never among them, whatever the rounding, and so of equal ones none is.

    Example:
        >>> shared_latents(torch.tensor([[0.0, 1.0, 2.0, 4.0]]).double(), 0.5).tolist()
        [[True, True, False, False]]
    """
    low, high = deltas.amin(-1, keepdim=True), deltas.amax(-1, keepdim=True)
    return (deltas < low + lift(eta, 2) * (high - low)) & (deltas < high)


def share(
    shared: Bool[Tensor, "*p b z"],
    average: Float[Tensor, "*p b z"],
    a: Float[Tensor, "*p b z"],
    b: Float[Tensor, "*p b z"],
) -> Float[Tensor, "*p two_b z"]:
    """Both views one after the other, with the average in place of what they share.

    Example:
        >>> a, b = torch.tensor([[1.0, 5.0]]), torch.tensor([[2.0, 9.0]])
        >>> share(torch.tensor([[True, False]]), (a + b) / 2, a, b).tolist()
        [[1.5, 5.0], [1.5, 9.0]]
    """
    return torch.cat([torch.where(shared, average, view) for view in (a, b)], dim=-2)


def pair_terms(
    objective: Any,
    net: Net,
    step: Step,
    average: Callable[[Posterior, Posterior], Posterior],
) -> Terms:
    """The beta-VAE of pairs, whose posteriors are the average of both where they are close."""
    a, b = net.encode(step.x).views(2)
    shared = shared_latents(deltas(a, b, objective.delta), objective.eta)
    return averaged_terms(objective, net, step, (a, b), average(a, b), shared)


def averaged_terms(
    objective: Any,
    net: Net,
    step: Step,
    pair: tuple[Posterior, Posterior],
    both: Posterior,
    shared: Bool[Tensor, "*p b z"],
) -> Terms:
    """The beta-VAE of pairs, with one posterior for both in the latents that they share."""
    a, b = pair
    q = Posterior(
        share(shared, both.mean, a.mean, b.mean),
        share(shared, both.logvar, a.logvar, b.logvar),
    )
    z = step.sample(q)
    return {
        "recon": Term(reconstruction(objective.likelihood, net.decode(z), step.x)),
        "kl": Term(kl_normal(q).sum(-1), objective.beta),
        "shared": Note(count(shared, z)),
    }


def weigh_shared(
    difference: Float[Tensor, "*p b z"], shared: Bool[Tensor, "*p b z"], omega: Number
) -> Float[Tensor, "*p b z"]:
    """A difference of codes, times omega where the latent is shared."""
    return torch.where(shared, lift(omega, 2) * difference, difference)


def count(shared: Bool[Tensor, "*p b z"], like: Tensor) -> Float[Tensor, "*p"]:
    """How many latents are shared, on average over the batch."""
    return shared.to(like.dtype).sum(-1).mean(-1)
