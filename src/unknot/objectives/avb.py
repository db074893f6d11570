"""Adversarial variational Bayes."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unknot.core.architecture import Shape
from unknot.core.hyper import Hyper
from unknot.core.objective import Adversarial, Net, Note, Step, Term, Terms
from unknot.core.optim import Adam
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.critics import build_critic, check_critic, critic_adam, tell_apart
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class AVB(Adversarial):
    r"""Adversarial variational Bayes: VAE whose KL divergence is estimated by a critic.

    $$\mathcal L = -\mathbb E_{q(z|x)}[\ln p(x|z) - T(x, z)], \qquad
    T^* = \ln q(z|x) - \ln p(z)$$

    The critic T sees an image and a code, and learns to tell codes of the image from draws from
    the prior. At its best it is $T^*$, whose mean over codes is the divergence of the VAE.

    Paper: Mescheder, Nowozin and Geiger 2017, "Adversarial variational Bayes".
    Equation: 3.3 to 3.7, Algorithm 1.

    Differs: The paper's encoder takes noise as an input and may have any density. Ours have none,
    so codes are samples of the encoder's Gaussian, and the exact divergence is logged beside the
    estimate, as `kl_exact`. Their adaptive contrast compares codes with a Gaussian of the moments
    of q(z|x): here that is q(z|x) itself, T would be 0 and the objective the VAE. The critic is
    fully connected, on the pixels and the code side by side; theirs is made for each dataset.

    Example: `unknot.train("dsprites", objectives.AVB(critic_width=256))`
    """

    critic_layers: int = 3
    critic_width: int = 512
    critic_slope: float = 0.2
    critic_lr: Hyper = 2e-4
    critic_beta1: float = 0.5
    critic_beta2: float = 0.999
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "inference"

    def __post_init__(self) -> None:
        check_critic(self)

    @property
    def critic_optim(self) -> Adam:
        """The critic's own optimiser."""
        return critic_adam(self)

    def critic(self, image: Shape, z: int) -> nn.Module:
        """Pixels and code to the log-odds that the code is that of the image."""
        return build_critic(self, math.prod(image) + z, 1)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, and the critic's estimate of the divergence."""
        q = net.encode(step.x)
        z = step.sample(q)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(_log_ratio(net, step.x, z).mean(-1)),
            "kl_exact": Note(kl_normal(q).sum(-1)),
        }

    def critic_terms(self, net: Net, step: Step) -> Terms:
        """How well the critic tells codes of the images from draws from the prior."""
        z = step.sample(net.encode(step.x)).detach()
        prior = step.normal("prior", *z.shape[-2:])
        return tell_apart(_log_ratio(net, step.x, z), _log_ratio(net, step.x, prior))


def _log_ratio(
    net: Net, x: Float[Tensor, "*p b c h w"], z: Float[Tensor, "*p b z"]
) -> Float[Tensor, "*p b"]:
    return net.critic(torch.cat([x.flatten(-3), z], dim=-1))[..., 0]
