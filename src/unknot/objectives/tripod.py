"""Tripod: three inductive biases in one autoencoder."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Batchwise, Differencing, Net, Recoding, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, reconstruction
from unknot.losses.geometry import bends, signs
from unknot.objectives.beta_tcvae import log_normal
from unknot.objectives.parts.families import Family

FLOOR = 1e-10
"""Of variances of second differences: what float32 rounds away of them is far below."""


@dataclass(frozen=True)
class Tripod(Recoding, Batchwise, Differencing):
    r"""Tripod: quantised latents that are independent and that the decoder does not mix.

    $$\mathcal L = -\ln p(x \mid q) + \lambda_1 \widehat{\mathrm{TC}}(q) + \lambda_2 \sum_a
    \frac{\mathbb E\, \mathrm{Var}_r[\Delta^2_a(\epsilon s r)]}
    {\mathbb E\, \mathrm{Var}_n[\Delta^2_a(\epsilon s n)]}$$

    - Quantisation: $q_j$ is the nearest of `levels` fixed values from -1 to 1 to $\tanh z_j$; the
      gradient passes as if nothing was rounded.
    - Total correlation of a batch, from kernel densities: kernels of width $s_j$, the latents'
      deviations, for each latent by itself, and of $s_j c$, Silverman's rule for all.
    - Normalised Hessian penalty: $\Delta^2_a(v) = a(q + v) - 2 a(q) + a(q - v)$ of each activation
      a of the decoder, along random signs r and along normal noise n. The signs see the Hessian's
      entries off the diagonal, $2 \sum_{j \ne k} H_{jk}^2$, and the noise all of them,
      $2 \sum_{jk} H_{jk}^2$; so the quotient, from 0 to about 1 a layer, has no scale.

    Paper: Hsu, Hamid, Burns, Finn and Wu 2024, "Tripod: three complementary inductive biases for
    disentangled representation learning".
    Equation: The three terms as in the authors' code.
    Differs: Sums for means: N times their loss, of means over N pixels, is ours with $\lambda_1
    N$ and $\lambda_2 N$. Layers are what a decoder gives as `features`: with the authors'
    network, `residual64`, the style and its first three blocks as in their code; with a plain
    one all its activations. Their expectation is taken over units and images together, a
    quotient for each layer; whether the code does so could not be checked, nor whether a
    gradient goes through the deviations, which here it does. The code divides differences by
    the squared step and adds 1e-10 to the denominator; here it is added to the variance of
    differences as they are, since those of a plane are rounding.

    A decoder with ReLUs bends at kinks alone, and differences of `epsilon` see those within reach;
    the authors' decoder is smooth.

    They train 250,000 steps of 64 images with Adam at 2e-4, gradients clipped at 1, and twice as
    many latents as there are factors. The default is theirs for Shapes3D.

    Example: `unknot.train("dsprites", objectives.Tripod(), latents=10)`
    """

    lambda_tc: Hyper = 1.2288
    lambda_hessian: Hyper = 122.88
    levels: int = 12
    epsilon: float = 0.1
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "aggregate"

    def __post_init__(self) -> None:
        at_least(self, 0, "lambda_tc", "lambda_hessian")
        at_least(self, 2, "levels")
        at_least(self, 1e-6, "epsilon")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, total correlation of the batch, and how the decoder mixes latents."""
        codes = net.encode(step.x).mean.tanh()
        q = on_levels(codes, self.levels).detach() + (codes - codes.detach())
        spread = codes.std(-2, correction=0, keepdim=True) + 1e-6
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(q), step.x)),
            "tc": Term(kernel_tc(q, spread), self.lambda_tc),
            "hessian": Term(self._mixing(net, step, q, spread), self.lambda_hessian),
        }

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """The nearest levels."""
        return Posterior(on_levels(q.mean.tanh(), self.levels), q.logvar).point()

    def _mixing(self, net: Net, step: Step, q: Tensor, spread: Tensor) -> Float[Tensor, "*p"]:
        shape = 2, *q.shape[-2:]
        moves = torch.cat([signs(step, "signs", *shape), step.normal("directions", *shape)], dim=-3)
        curved = bends(net.features, q, self.epsilon * spread.unsqueeze(-3) * moves)
        quotients = []
        for layer in curved:
            mixed, whole = (
                part.var(-3, correction=0).mean((-2, -1)) for part in layer.chunk(2, -3)
            )
            quotients.append(mixed / (whole + FLOOR))
        return sum(quotients, torch.zeros_like(q[..., 0, 0]))


def on_levels(codes: Float[Tensor, "*s"], levels: int) -> Float[Tensor, "*s"]:
    """The nearest of so many values from -1 to 1, for codes between them.

    Example:
        >>> on_levels(torch.tensor([-1.0, -0.4, 0.1, 0.9]), 3).tolist()
        [-1.0, 0.0, 0.0, 1.0]
    """
    return 2 * ((codes + 1) / 2 * (levels - 1)).round() / (levels - 1) - 1


def kernel_tc(q: Float[Tensor, "*p b z"], spread: Float[Tensor, "*p 1 z"]) -> Float[Tensor, "*p"]:
    """Total correlation of a batch of codes, from normal kernels around each of them.

    The joint density has Silverman's width for z latents and b codes, of which the densities of
    single latents have none: their kernels are as wide as the latent itself.
    """
    b, z = q.shape[-2:]
    silverman = (4 / (z + 2)) ** (1 / (z + 4)) * b ** (-1 / (z + 4))
    logvar = 2 * spread.log().unsqueeze(-2)
    here, there = q.unsqueeze(-2), q.unsqueeze(-3)
    joint = log_normal(here, there, logvar + 2 * math.log(silverman)).sum(-1).logsumexp(-1)
    single = log_normal(here, there, logvar).logsumexp(-2)
    return (joint - single.sum(-1) + (z - 1) * math.log(b)).mean(-1)


COLOUR = 3 * 64 * 64
PRESETS = {
    # Hsu et al. 2024, by dataset; the default is that of Shapes3D.
    "hsu2024_mpi3d": Tripod(lambda_tc=1e-8 * COLOUR, lambda_hessian=1e-4 * COLOUR),
    "hsu2024_falcor3d": Tripod(lambda_tc=1e-10 * COLOUR, lambda_hessian=1e-2 * COLOUR),
    "hsu2024_isaac3d": Tripod(lambda_tc=1e-4 * COLOUR, lambda_hessian=1e-8 * COLOUR),
}
