"""The FactorVAE."""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from unknot.core.architecture import Shape
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import (
    Adversarial,
    Batchwise,
    MultiView,
    Net,
    Note,
    Step,
    Term,
    Terms,
)
from unknot.core.optim import Adam
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.critics import build_critic, check_critic, critic_adam, tell_apart
from unknot.objectives.parts.families import Family

RUNAWAY = 1e4
"""Nats of divergence from the prior that no healthy run comes near."""


@dataclass(frozen=True)
class FactorVAE(Adversarial, MultiView, Batchwise):
    r"""FactorVAE: VAE with a penalty on total correlation, estimated by a critic.

    $$\mathcal L = -\mathbb E_{q(z|x)}[\ln p(x|z)] + \mathrm{KL}(q(z|x) \| p(z))
    + \gamma\, \mathrm{KL}(q(z) \| \textstyle\prod_j q(z_j))$$

    The critic learns to tell codes from codes whose latents were shuffled across the batch, each
    latent by itself. The total correlation is then the mean of its first logit less its second
    over the codes. A run that collapses to the prior has none, so a small one proves nothing.

    Paper: Kim and Mnih 2018, "Disentangling by factorising".
    Equation: 2 and 3, Algorithm 2.

    Differs: Both gradients are taken at the weights before the step; Algorithm 2 encodes the second
    batch after the net has moved. The critic's cross-entropy is exact, where the 2019 study clips
    its probabilities to [1e-6, 1 - 1e-6] and so stops learning from its worst mistakes.

    `second_batch` shuffles the codes of other images than those that are left whole; without it
    one batch serves both. `count_both_optimizers` counts each update as two steps, as the study of
    2019 did: a run of 300,000 steps then makes 150,000 updates.

    `diverged` in the log is 1 where the divergence from the prior is above 10,000 nats or is not a
    number. The logits have no bound, so at a large gamma codes can run away from the critic with a
    finite loss that falls for ever: 7 of the 1,800 published runs of the study did, at
    divergences from 1e5 to 1.4e7 where others have some tens. Leave such runs out of means.

    The defaults are the paper's for dSprites, gamma the best of those it tried there.

    Example: `unknot.train("dsprites", objectives.FactorVAE(gamma=20))`
    """

    gamma: Hyper = 35.0
    second_batch: bool = True
    count_both_optimizers: bool = False
    critic_layers: int = 6
    critic_width: int = 1000
    critic_slope: float = 0.2
    critic_lr: Hyper = 1e-4
    critic_beta1: float = 0.5
    critic_beta2: float = 0.9
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "aggregate"

    def __post_init__(self) -> None:
        at_least(self, 0, "gamma")
        check_critic(self)

    @property
    def views(self) -> int:
        """Images of the batch, and of the second one."""
        return 2 if self.second_batch else 1

    @property
    def steps_per_update(self) -> int:
        """Steps that one update of all weights counts for."""
        return 2 if self.count_both_optimizers else 1

    @property
    def critic_optim(self) -> Adam:
        """The critic's own optimiser."""
        return critic_adam(self)

    def critic(self, image: Shape, z: int) -> nn.Module:
        """Codes to two logits: as they came, shuffled."""
        return build_critic(self, z, 2)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, divergence and total correlation, of the first batch."""
        x = step.x.chunk(self.views, dim=-4)[0]
        q = net.encode(x)
        z = step.sample(q)
        kl = kl_normal(q).sum(-1)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), x)),
            "kl": Term(kl),
            "tc": Term(_log_odds(net, z).mean(-1), self.gamma),
            "diverged": Note(1 - (kl <= RUNAWAY).to(kl)),
        }

    def critic_terms(self, net: Net, step: Step) -> Terms:
        """How well the critic tells codes from shuffled ones."""
        batches = step.x.chunk(self.views, dim=-4)
        codes = [
            step.sample(net.encode(x), stream).detach()
            for stream, x in zip(("z", "z2"), batches, strict=False)
        ]
        joint, other = codes[0], codes[-1]
        shuffled = other.gather(-2, step.permutation("shuffle", *other.shape[-2:]))
        return tell_apart(_log_odds(net, joint), _log_odds(net, shuffled))


def _log_odds(net: Net, z: Float[Tensor, "*p b z"]) -> Float[Tensor, "*p b"]:
    logits = net.critic(z)
    return logits[..., 0] - logits[..., 1]


PRESETS = {
    # Locatello et al. 2019; of its six values the one with the best FactorVAE score on dSprites.
    "study2019": FactorVAE(gamma=50.0, second_batch=False, count_both_optimizers=True),
    # Mushom 2020, Table 5.5: one layer fewer; the slope is that of section 2.3.
    "mushom": FactorVAE(gamma=10.0, critic_layers=5, critic_slope=0.02),
}
