"""The VAE with one discrete latent beside the others."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Net, Note, Recoding, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family
from unknot.schedules import linear

EDGE = 1e-6
"""Uniform noise is this far from 0 and 1, where its double logarithm has no end."""


@dataclass(frozen=True)
class JointVAE(Recoding):
    r"""JointVAE: VAE with a discrete latent; both divergences follow capacities that grow.

    $$\mathcal L = -\mathbb E_{q(z, c|x)}[\ln p(x|z, c)]
    + \gamma\, |\mathrm{KL}(q(z|x) \| p(z)) - C_z(t)|
    + \gamma\, |\mathrm{KL}(q(c|x) \| p(c)) - C_c(t)|$$

    The first `categories` latents are one discrete latent $c$ with as many values: the encoder's
    means of these are logits, the prior is uniform, and the decoder gets a sample of the relaxed
    distribution, $\mathrm{softmax}((\ln \pi + g) / \tau)$ with Gumbel noise $g$. The code of an
    image has their probabilities $\pi$ in place of the logits. The other latents are as in
    `annealed_vae`, with capacities in nats; that of c ends at the logarithm of `categories`, more
    than which no discrete latent can have.

    Paper: Dupont 2018, "Learning disentangled joint continuous and discrete representations".
    Equation: 7.
    Differs: The absolute value is that of the batch's mean divergence, as in `annealed_vae`. There
    is one discrete latent, where the paper has several on CelebA. Its code takes images of the
    likeliest value when it does not train, this one of the probabilities. By default
    there are two values, with the strengths for MNIST. These and the preset's are second hand and
    were not checked against the paper.

    `value` in the log is how sure the encoder is of the value: the mean of the largest probability.

    Example: `unknot.train("dsprites", objectives.JointVAE(categories=3))`
    """

    gamma: Hyper = 30.0
    c_z: Hyper = linear(0.0, 5.0, 25_000.0)
    c_c: Hyper = linear(0.0, 5.0, 25_000.0)
    categories: int = 2
    temperature: float = 0.67
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "weights"

    def __post_init__(self) -> None:
        at_least(self, 0, "gamma", "c_z", "c_c")
        at_least(self, 2, "categories")
        if not self.temperature > 0:
            raise ConfigError(f"JointVAE.temperature must be above 0; got {self.temperature}.")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and the distance of both divergences from their capacities."""
        q = net.encode(step.x)
        logits, rest = self._split(q)
        z = step.sample(rest)
        uniform = torch.special.ndtr(step.normal("value", *logits.shape[-2:]))
        gumbel = -(-uniform.clamp(EDGE, 1 - EDGE).log()).log()
        value = ((logits.log_softmax(-1) + gumbel) / self.temperature).softmax(-1)
        kl, kl_value = kl_normal(rest).sum(-1), kl_uniform(logits).mean(-1)
        limit = (torch.zeros_like(kl_value) + self.c_c).clamp(max=math.log(self.categories))
        above, above_value = kl - self.c_z, kl_value - limit
        decoded = net.decode(torch.cat([value, z], dim=-1))
        return {
            "recon": Term(reconstruction(self.likelihood, decoded, step.x)),
            "kl_off_capacity": Term(above.abs(), self.gamma),
            "value_off_capacity": Term(above_value.abs(), self.gamma),
            "kl": Note(kl + kl_value),
            "kl_value": Note(kl_value),
            "value": Note(logits.softmax(-1).amax(-1).mean(-1)),
        }

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """Probabilities of the values, as good as exact, and the posterior of other latents."""
        logits, rest = self._split(q)
        values = Posterior(logits.softmax(-1), torch.zeros_like(logits)).point()
        return Posterior(
            torch.cat([values.mean, rest.mean], dim=-1),
            torch.cat([values.logvar, rest.logvar], dim=-1),
        )

    def _split(self, q: Posterior) -> tuple[Float[Tensor, "*p b k"], Posterior]:
        """The logits of the values, and the posterior of the other latents."""
        k, latents = self.categories, q.mean.shape[-1]
        if latents < k:
            raise ConfigError(
                f"joint_vae with {k} categories needs {k} latents or more; the net has {latents}."
            )
        return q.mean[..., :k], Posterior(q.mean[..., k:], q.logvar[..., k:])


def kl_uniform(logits: Float[Tensor, "*p b k"]) -> Float[Tensor, "*p b"]:
    r"""Divergence of a categorical distribution from the uniform one, $\ln K - H(\pi)$.

    Example:
        >>> kl_uniform(torch.tensor([[0.0, 0.0], [0.0, 50.0]])).tolist()
        [0.0, 0.6931471824645996]
    """
    log_shares = logits.log_softmax(-1)
    return math.log(logits.shape[-1]) + (log_shares.exp() * log_shares).sum(-1)


PRESETS = {
    # Dupont 2018, for dSprites: three values, nine latents in all, 300,000 steps at 5e-4.
    "dupont2018_dsprites": JointVAE(
        gamma=150.0, c_z=linear(0.0, 40.0, 300_000.0), c_c=linear(0.0, 1.1, 300_000.0), categories=3
    ),
}
