"""Leaf losses: sum over pixels and latents, mean over the batch, one value per member."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from unknot.core.posterior import Posterior
from unknot.core.typed import typed
from unknot.losses.counts import count_loss
from unknot.losses.likelihood import Likelihood, activate, is_of_counts, pixel_likelihood
from unknot.losses.mapped import MappedLoss

__all__ = [
    "Likelihood",
    "bernoulli",
    "beta_of_means",
    "gaussian",
    "kl_normal",
    "reconstruction",
]


def reconstruction(
    likelihood: Likelihood, decoded: Float[Tensor, "*p b k h w"], x: Float[Tensor, "*p b c h w"]
) -> Float[Tensor, "*p"]:
    """The reconstruction loss of a likelihood, with that of blurred images or features if any."""
    if is_of_counts(likelihood):
        return count_loss(likelihood, decoded, x).mean(-1)
    if pixel_likelihood(likelihood) == "bernoulli":
        loss = bernoulli(decoded, x)
    else:
        loss = gaussian(activate(likelihood, decoded), x)
    if isinstance(likelihood, MappedLoss):
        apart = likelihood.mapped_error(x, activate(likelihood, decoded))
        loss = likelihood.pixel_weight * loss + apart.mean(-1)
    return loss


def bernoulli(
    logits: Float[Tensor, "*p b c h w"], x: Float[Tensor, "*p b c h w"]
) -> Float[Tensor, "*p"]:
    r"""Bernoulli cross-entropy, $-\sum_i x_i \ln p_i + (1 - x_i) \ln(1 - p_i)$, from logits.

    For images that are not binary its floor is not 0 but the entropy of the pixels.

    Example:
        >>> import math, torch
        >>> loss = bernoulli(torch.zeros(2, 1, 4, 4), torch.ones(2, 1, 4, 4))
        >>> round(loss.item() / math.log(2), 5)
        16.0
    """
    losses = F.binary_cross_entropy_with_logits(logits, x, reduction="none")
    return losses.sum((-3, -2, -1)).mean(-1)


def gaussian(
    means: Float[Tensor, "*p b c h w"], x: Float[Tensor, "*p b c h w"]
) -> Float[Tensor, "*p"]:
    r"""Squared error $\sum_i (x_i - m_i)^2$, twice the Gaussian loss of unit variance.

    No half and no division by the number of pixels. A paper that takes means instead (Michlo 2022,
    A.2.1, weight $\beta$) has ours times $1/N$, so its weight is $\beta N / D$ here.
    """
    return (x - means).square().sum((-3, -2, -1)).mean(-1)


def kl_normal(q: Posterior) -> Float[Tensor, "*p z"]:
    """Divergence of each latent from the prior, averaged over the batch.

    Example:
        >>> import torch
        >>> kl_normal(Posterior(torch.ones(5, 2), torch.zeros(5, 2))).tolist()
        [0.5, 0.5]
    """
    return q.kl().mean(-2)


@typed()
def beta_of_means(beta: float, *, pixels: int, latents: int) -> float:
    r"""The beta of sums, ours, for one of means over pixels and latents, $\beta N / D$.

    $N$ times $\frac1N \sum (x - m)^2 + \frac\beta D \sum \mathrm{KL} + \alpha T$ is
    $\sum (x - m)^2 + \frac{\beta N} D \sum \mathrm{KL} + \alpha N T$: the weight of a term $T$ that
    is no mean over either, such as a triplet loss, is $\alpha N$ here.

    Example:
        >>> beta_of_means(0.01, pixels=3 * 64 * 64, latents=25)
        4.9152
    """
    return beta * pixels / latents


def __dir__() -> list[str]:
    return __all__
