"""The importance weighted autoencoder."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from unknot.core.hyper import at_least
from unknot.core.objective import Net, Note, Step, Term, Terms
from unknot.losses.counts import count_loss
from unknot.losses.likelihood import Likelihood, activate, is_of_counts, pixel_likelihood
from unknot.losses.mapped import MappedLoss
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class IWAE:
    r"""IWAE: likelihood bound from several samples per image; one sample gives the VAE.

    $$\mathcal L = -\mathbb E\Big[\ln \frac1L \sum_{l=1}^L w_l\Big], \qquad
    w_l = \frac{p(x|z_l)\, p(z_l)}{q(z_l|x)}, \qquad z_l \sim q(z|x)$$

    Paper: Burda, Grosse and Salakhutdinov 2016, "Importance weighted autoencoders".
    Equation: 8.

    Differs: Weights need a density, so the Gaussian likelihood has variance 1/2 and its constant:
    the squared error of the other objectives plus $\frac D2 \ln \pi$ for $D$ pixels. With one
    sample the divergence is that of the sample, not its closed form, so this is the VAE in
    expectation only. One layer of latents.

    The loss bounds $-\ln p(x)$ from above, tighter with more `samples` ($L$), at the price of a
    decoder pass for each. Of the samples one by one, `recon` and `kl` are logged, whose sum is the
    usual loss, and how many of them the weights are worth, `effective`.

    Example: `unknot.train("dsprites", objectives.IWAE(samples=10))`
    """

    samples: int = 5
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "inference"

    def __post_init__(self) -> None:
        at_least(self, 1, "samples")

    def terms(self, net: Net, step: Step) -> Terms:
        """The bound."""
        q = net.encode(step.x)
        eps = step.normal("z", self.samples, *q.mean.shape[-2:])
        mean, logvar = q.mean.unsqueeze(-3), q.logvar.unsqueeze(-3)
        z = mean + (0.5 * logvar).exp() * eps
        decoded = net.decode(z.flatten(-3, -2)).unflatten(-4, z.shape[-3:-1])
        recon = log_loss(self.likelihood, decoded, step.x)
        kl = 0.5 * (z.square() - eps.square() - logvar).sum(-1)
        weights = -(recon + kl)
        sums = weights.logsumexp(-2)
        effective = (2 * sums - (2 * weights).logsumexp(-2)).exp()
        return {
            "bound": Term((math.log(self.samples) - sums).mean(-1)),
            "recon": Note(recon.mean((-2, -1))),
            "kl": Note(kl.mean((-2, -1))),
            "effective": Note(effective.mean(-1)),
        }


def log_loss(
    likelihood: Likelihood,
    decoded: Float[Tensor, "*p l b k h w"],
    x: Float[Tensor, "*p b c h w"],
) -> Float[Tensor, "*p l b"]:
    r"""$-\ln p(x|z)$ of each sample of each image, constants included; a Gaussian has variance 1/2.

    Example:
        >>> import torch
        >>> log_loss("gaussian", torch.zeros(3, 2, 1, 4, 4), torch.zeros(2, 1, 4, 4))[0, 0].item()
        9.1578...
    """
    once = x.unsqueeze(-5)
    x = once.expand(*decoded.shape[:-3], *x.shape[-3:])
    if is_of_counts(likelihood):
        return count_loss(likelihood, decoded, x)
    if pixel_likelihood(likelihood) == "bernoulli":
        losses = F.binary_cross_entropy_with_logits(decoded, x, reduction="none")
    else:
        losses = (x - activate(likelihood, decoded)).square() + 0.5 * math.log(math.pi)
    loss = losses.sum((-3, -2, -1))
    if isinstance(likelihood, MappedLoss):  # its own constant, the same for all, moves no weight
        apart = likelihood.mapped_error(once, activate(likelihood, decoded))
        return likelihood.pixel_weight * loss + apart
    return loss


PRESETS = {"burda50": IWAE(samples=50)}
