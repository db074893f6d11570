"""Leaf losses: sum over pixels and latents, mean over the batch, one value per member."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from unknot.core.likelihood import Likelihood, activated
from unknot.core.posterior import Posterior

__all__ = ["Likelihood", "bernoulli", "gaussian", "kl_normal", "reconstruction"]


def reconstruction(
    likelihood: Likelihood, decoded: Float[Tensor, "*p b c h w"], x: Float[Tensor, "*p b c h w"]
) -> Float[Tensor, "*p"]:
    """The reconstruction loss of a likelihood."""
    if likelihood == "bernoulli":
        return bernoulli(decoded, x)
    return gaussian(activated(likelihood, decoded), x)


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
    r"""Divergence of each latent from the prior, $\frac12 (\mu^2 + \sigma^2 - 1 - \ln \sigma^2)$.

    Example:
        >>> import torch
        >>> kl_normal(Posterior(torch.ones(5, 2), torch.zeros(5, 2))).tolist()
        [0.5, 0.5]
    """
    return 0.5 * (q.mean.square() + q.logvar.exp() - 1 - q.logvar).mean(-2)
