"""The identifiable VAE."""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Labelled, Net, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, reconstruction
from unknot.objectives.parts.families import Family

SLOPE = 0.1
"""Of leaky ReLUs below 0, as in the authors' code."""


@dataclass(frozen=True)
class IVAE(Labelled):
    r"""iVAE: beta-VAE whose prior depends on the factors of the image, which it is told.

    $$\mathcal L = -\ln p(x|z) + \beta\, \mathrm{KL}\big(q(z|x) \,\|\, \mathcal N(0,
    \mathrm{diag}\, v(u))\big)$$

    u are the factors of the image, scaled to 0 .. 1, and v is a network of its own: three layers
    with `width` units in each of two. Given the labels, latents are independent, and the labels
    change their variances; if they change them enough, all decoders that fit the data agree on
    latents up to their order, scale and bends.

    Paper: Khemakhem, Kingma, Monti and Hyvärinen 2020, "Variational autoencoders and nonlinear ICA:
    a unifying framework".
    Equation: The bound of its section on estimation, with a normal prior of mean 0 and a learnt
    variance, as in the authors' code.
    Differs: The posterior is that of the image alone, where the paper's is told the labels as well:
    codes of images without labels are wanted here. The divergence is in closed form and not by a
    sample. Their decoder has a variance of 0.01, which is `beta` 0.02 with the Gaussian likelihood:
    preset `khemakhem2020`. Their annealing is left out. Images without a label have the standard
    normal prior. How scores of the two posteriors differ was not measured.

    All images have labels. Pages and scores that take a prior (samples, `elbo`, the divergence of
    each latent) take the standard normal one, which is not that of this model.

    Example: `unknot.train("dsprites", objectives.IVAE(beta=2))`
    """

    beta: Hyper = 1.0
    width: int = 50
    likelihood: Likelihood = "bernoulli"
    told: ClassVar[str] = "labels"
    family: ClassVar[Family] = "posterior"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta")
        at_least(self, 1, "width")

    def label_state(self, z: int, factors: int, seed: Int[Tensor, "*p"]) -> dict[str, Tensor]:
        """The layers of v: weights by Glorot's rule, biases of 0."""
        sizes, state = (factors, self.width, self.width, z), dict[str, Tensor]()
        for i, (before, after) in enumerate(itertools.pairwise(sizes)):
            bound = math.sqrt(6 / (before + after))
            u = noise.uniform(seed, f"prior/{i}", 0, before, after)
            state[f"prior_weight_{i}"] = bound * (2 * u - 1)
            state[f"prior_bias_{i}"] = torch.zeros_like(u[..., 0, :])
        return state

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, and the divergence from the prior of each image."""
        assert step.factors is not None  # noqa: S101 - the hook asks for them
        q = net.encode(step.x)
        z = step.sample(q)
        kl = q.kl_to(prior(net, step.factors)).sum(-1).mean(-1)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl, self.beta),
        }


def prior(net: Net, factors: Float[Tensor, "*p b f"]) -> Posterior:
    """The prior of each image; the standard normal one where a label is not known."""
    known = factors.isfinite().all(-1, keepdim=True)
    x = factors.nan_to_num()
    for i in range(3):
        x = F.leaky_relu(x, SLOPE) if i else x
        x = x @ net.extra[f"prior_weight_{i}"] + net.extra[f"prior_bias_{i}"].unsqueeze(-2)
    logvar = x.where(known, 0.0)
    return Posterior(torch.zeros_like(logvar), logvar)


PRESETS = {
    # Khemakhem et al. 2020: squared errors over twice a variance of 0.01 are 50 times ours.
    "khemakhem2020": IVAE(beta=0.02, likelihood="gaussian"),
}
