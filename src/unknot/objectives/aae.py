"""The adversarial autoencoder."""

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from unknot.core.architecture import Shape
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Adversarial, Net, Recoding, Step, Term, Terms
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.critics import build_critic, check_critic, critic_adam, tell_apart
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class AAE(Adversarial, Recoding):
    r"""Adversarial autoencoder: a critic pushes the distribution of the codes towards the prior.

    $$\mathcal L = -\mathbb E_{q(z|x)}[\ln p(x|z)] - \lambda\, \mathbb E_{q(z)}[\ln D(z)]$$

    where $D(z)$ is the critic's probability that z was drawn from the prior; at the best critic
    the game is about the Jensen-Shannon divergence of all codes from the prior, for which the
    critic's `jsd` in the log is a lower bound.

    Paper: Makhzani, Shlens, Jaitly, Goodfellow and Frey 2015, "Adversarial autoencoders".
    Equation: section 2, in the form of Goodfellow et al. 2014 that does not saturate.

    Differs: Reconstruction and adversary move the encoder in one step, by a weight, and both
    networks learn by Adam; the paper takes turns, with momentum. The squared error lacks its half.

    `stochastic` samples codes from the encoder's Gaussian; without it, as in the paper's results,
    the code is the mean, the variances are not trained and scores see none. `keep_kl` adds the
    divergence of each posterior from the prior: Mushom 2020 plays the game on top of the whole loss
    of the VAE, which the regularisers of its Table 4.1 are added to.

    Example: `unknot.train("dsprites", objectives.AAE(lambda_adversary=2))`
    """

    lambda_adversary: Hyper = 1.0
    stochastic: bool = False
    keep_kl: bool = False
    critic_layers: int = 2
    critic_width: int = 1000
    critic_slope: float = 0.0
    critic_lr: Hyper = 1e-4
    critic_beta1: float = 0.5
    critic_beta2: float = 0.999
    likelihood: Likelihood = "gaussian"
    family: ClassVar[Family] = "aggregate"

    def __post_init__(self) -> None:
        at_least(self, 0, "lambda_adversary")
        check_critic(self)
        if self.keep_kl and not self.stochastic:
            raise ConfigError("AAE.keep_kl needs stochastic codes; set stochastic as well.")

    @property
    def critic_optim(self) -> Adam:
        """The critic's own optimiser."""
        return critic_adam(self)

    def critic(self, image: Shape, z: int) -> nn.Module:
        """Codes to the log-odds that they were drawn from the prior."""
        return build_critic(self, z, 1)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, and how badly codes pass for draws from the prior."""
        q = net.encode(step.x)
        z = self._codes(q, step)
        terms = {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "adversary": Term(F.softplus(-net.critic(z)[..., 0]).mean(-1), self.lambda_adversary),
        }
        return {**terms, "kl": Term(kl_normal(q).sum(-1))} if self.keep_kl else terms

    def critic_terms(self, net: Net, step: Step) -> Terms:
        """How well the critic tells draws from the prior from codes."""
        z = self._codes(net.encode(step.x), step).detach()
        prior = step.normal("prior", *z.shape[-2:])
        return tell_apart(net.critic(prior)[..., 0], net.critic(z)[..., 0])

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """Without the variances where none are trained."""
        return q if self.stochastic else q.point()

    def _codes(self, q: Posterior, step: Step) -> Float[Tensor, "*p b z"]:
        return step.sample(q) if self.stochastic else q.mean


PRESETS = {
    "mushom": AAE(stochastic=True, keep_kl=True, likelihood="bernoulli"),
    # Tolstikhin et al. 2018: the WAE-GAN is this objective; its settings for MNIST.
    "wae_gan": AAE(lambda_adversary=10.0, critic_layers=4, critic_width=512, critic_lr=5e-4),
}
