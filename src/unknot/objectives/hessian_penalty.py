"""The VAE with a diagonal Hessian."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from unknot.core.choices import check_choices
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Differencing, Net, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.losses.geometry import bends, signs
from unknot.objectives.parts.families import Family

Reduction: TypeAlias = Literal["max", "mean"]


@dataclass(frozen=True)
class HessianPenalty(Differencing):
    r"""Hessian penalty: beta-VAE in which what one latent does should not depend on another.

    $$\mathcal L = \mathcal L_{\beta\text{-VAE}} + \gamma\, \mathbb E_{q(z|x)} \max_i\,
    \mathrm{Var}_v \Big[ \frac{f_i(z + \epsilon v) - 2 f_i(z) + f_i(z - \epsilon v)}{\epsilon^2}
    \Big]$$

    Over random signs v the variance of $v^\top H_i v$ is $2 \sum_{j \ne k} H_{i,jk}^2$: it is 0 if
    and only if the Hessian $H_i$ of each output is diagonal. The variance is that of `draws` draws,
    divided by one less than them.

    Paper: Peebles, Peebles, Zhu, Efros and Torralba 2020, "The Hessian penalty: a weak prior for
    unsupervised disentanglement".
    Equation: The estimate as in the authors' code: `epsilon` 0.1, two draws, the largest of all
    outputs; `reduction` "mean" takes their mean.
    Differs: The paper trains GANs, on activations of several layers; here it is the outputs of a
    VAE's decoder as they are, without a gradient through z. The largest is taken for each image and
    averaged over images; whether the code takes the largest of the batch could not be checked.

    The penalty falls as the fourth power of the latents' scale, which only the divergence holds;
    `tripod` has a form without scale. A decoder with ReLUs bends at kinks alone, and differences of
    `epsilon` see those within reach. In a VAE of dSprites without the term it is 1,900 (`conv64`,
    10 latents, 2,500 steps of 16 images): a gamma of 0.006 makes it a tenth of the reconstruction
    loss.

    Example: `unknot.train("dsprites", objectives.HessianPenalty(gamma=0.1))`
    """

    beta: Hyper = 1.0
    gamma: Hyper = 0.1
    epsilon: float = 0.1
    draws: int = 2
    reduction: Reduction = "max"
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "decoder"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta", "gamma")
        at_least(self, 2, "draws")
        check_choices(self, "reduction")
        if not self.epsilon > 0:
            raise ConfigError(f"HessianPenalty.epsilon must be above 0; got {self.epsilon}.")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, weighted divergence, and how much bends along random signs differ."""
        q = net.encode(step.x)
        z = step.sample(q)
        moves = self.epsilon * signs(step, "signs", self.draws, *z.shape[-2:])
        (curved,) = bends(lambda codes: (net.decode(codes),), z.detach(), moves)
        variance = (curved / self.epsilon**2).var(-3)  # over draws
        each = variance.amax(-1) if self.reduction == "max" else variance.mean(-1)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
            "hessian": Term(each.mean(-1), self.gamma),
        }
