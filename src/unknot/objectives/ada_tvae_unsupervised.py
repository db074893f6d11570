"""The adaptive triplet VAE whose triplets are ordered by the images themselves."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Batchwise, Net, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, beta_of_means, kl_normal, reconstruction
from unknot.losses.mapped import MappedLoss
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.sharing import Delta, check_unit
from unknot.objectives.parts.triplets import Margin, Norm, adaptive_triplet_terms
from unknot.schedules import linear

TIE = 1e-11
"""Relative to the images' squares: far above rounding, far below any difference of images."""


@dataclass(frozen=True)
class AdaTVAEUnsupervised(Batchwise):
    r"""Unsupervised Ada-TVAE: Ada-TVAE on triplets from the batch, ordered by squared error.

    $$\mathcal L = \mathcal L_{\beta\text{-VAE}}(x) + \alpha \max(0, \psi + \|\mu_a - \mu_p\|
    - \|w \odot (\mu_a - \mu_n)\|), \qquad \|x_a - x_p\|^2 \le \|x_a - x_n\|^2$$

    with the weights $w$ of the Ada-TVAE. It sees single images and nothing of their factors. It
    can be as good as distances between images are to distances between factors.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data".
    Equation: 5.23 and 5.24, with 5.22.
    Differs: beta and alpha are those of sums, as in the TVAE. Triplets are not drawn one by one:
    in each of `rounds` the batch is shuffled and each image is the anchor of the next two, so no
    image meets itself; 512 and 1024 triplets of 256 images are 2 and 4 rounds. The order is that of
    squared errors whatever the likelihood of the pixels, with those of blurred images where it is
    an overlap loss, as the paper has for XYSquares, or of features. Images equally far away stay
    as drawn.

    Example: `unknot.train("dsprites", objectives.AdaTVAEUnsupervised(beta=0.5))`
    """

    beta: Hyper = 1.0
    alpha: Hyper = 4096.0
    psi: Hyper = 10.0
    margin: Margin = "hard"
    norm: Norm = "l1"
    delta: Delta = "absolute"
    eta: Hyper = 0.5
    omega: Hyper = linear(1.0, 0.5)
    rounds: int = 2
    likelihood: Likelihood = "bernoulli"
    least_batch: ClassVar[int] = 3
    family: ClassVar[Family] = "distances"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta", "alpha", "psi")
        at_least(self, 1, "rounds")
        check_unit(self, "eta", "omega")
        check_choices(self, "margin", "norm", "delta")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and divergence, and the adaptive triplet loss of means in the batch."""
        q = net.encode(step.x)
        z = step.sample(q)
        order = step.permutation("triplets", z.shape[-2], self.rounds)
        a, p, n = order_triplets(q, order, swaps(features(step.x, self.likelihood), order))
        triplets = adaptive_triplet_terms(self, a, p, n, delta=self.delta)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
            **triplets,
        }


def features(
    x: Float[Tensor, "*p b c h w"], likelihood: Likelihood
) -> Float64[Tensor, "*p b features"]:
    """What images are compared by: the pixels, and what a loss maps them to."""
    x = x.detach().double()
    if not isinstance(likelihood, MappedLoss):
        return x.flatten(-3)
    pixels = math.sqrt(likelihood.pixel_weight) * x.flatten(-3)
    return torch.cat([pixels, likelihood.embed(x)], dim=-1)


def swaps(
    features: Float64[Tensor, "*p b features"], order: Int[Tensor, "*p b rounds"]
) -> Bool[Tensor, "*p rounds_b"]:
    """Whether the next image but one is nearer to an image than the next is, round by round.

    In float64, with ties decided by no rounding error, since this is a yes or no.

    Example:
        >>> order = torch.tensor([[0], [1], [2]])
        >>> swaps(torch.tensor([[0.0], [3.0], [1.0]]).double(), order).tolist()
        [True, False, False]
    """
    squares = features.square().sum(-1)
    apart = squares.unsqueeze(-1) + squares.unsqueeze(-2) - 2 * features @ features.mT
    order = order.mT
    first, second = (
        apart.flatten(-2).gather(-1, (order * order.shape[-1] + order.roll(-ahead, -1)).flatten(-2))
        for ahead in (1, 2)
    )
    return first - second > TIE * squares.mean(-1, keepdim=True)


def order_triplets(
    q: Posterior, order: Int[Tensor, "*p b rounds"], swap: Bool[Tensor, "*p rounds_b"]
) -> tuple[Posterior, Posterior, Posterior]:
    """Anchors, positives and negatives ``[*p, rounds * b, z]`` of each round."""
    rounds = order.mT.unsqueeze(-1)
    swap = swap.unsqueeze(-1)

    def split(codes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        # Each round takes each row once, so gradients are added in a fixed order on any device.
        codes = codes.unsqueeze(-3).expand(*codes.shape[:-2], rounds.shape[-3], *codes.shape[-2:])
        shuffled = codes.gather(-2, rounds.expand_as(codes))
        a, first, second = (shuffled.roll(-ahead, -2).flatten(-3, -2) for ahead in (0, 1, 2))
        return a, second.where(swap, first), first.where(swap, second)

    means, logvars = split(q.mean), split(q.logvar)
    a, p, n = (Posterior(m, v) for m, v in zip(means, logvars, strict=True))
    return a, p, n


PIXELS = 3 * 64 * 64
# Michlo 2022 (dissertation), section 5.5, with Table A.5 for the rest: beta 0.01 and alpha 1 for a
# loss averaged over 3 x 64 x 64 standardised pixels and 25 latents; 512 triplets of 256 images.
PRESETS = {
    "michlo": AdaTVAEUnsupervised(
        beta=beta_of_means(0.01, pixels=PIXELS, latents=25),
        alpha=1.0 * PIXELS,
        likelihood="gaussian",
    ),
}
