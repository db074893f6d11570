"""The SlowVAE."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.hyper import Hyper, Number, at_least, lift
from unknot.core.objective import MultiView, Net, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class SlowVAE(MultiView):
    r"""SlowVAE: VAE on image pairs a small step apart, most of whose latents should hardly change.

    $$\mathcal L = -\textstyle\sum_{t} \ln p(x_t | z_t) + \beta\, \tfrac12 \sum_t
    \mathrm{KL}(q_t \| p) + \gamma \big[ C(q_0, \mu_1) + C(q_1, \mu_0)
    - \tfrac12 \textstyle\sum_t H(q_t) \big], \qquad t \in \{0, 1\}$$

    $C(q, \mu) = -\mathbb E_{z \sim q}[\ln \tfrac\lambda2 e^{-\lambda \|z - \mu\|_1}]$ is the cross
    entropy of a posterior and a Laplace density around the other mean. With $m = \mu' - \mu$, by
    the mean of a folded normal,
    $$C = -\ln \tfrac\lambda2 + \lambda \big[ \sigma \sqrt{2 / \pi}\, e^{-m^2 / 2 \sigma^2}
    + m\, (2 \Phi(m / \sigma) - 1) \big].$$
    A Laplace density has its mass on the axes: of two steps as long as each other it prefers the
    one along a single latent, which fixes the axes.

    Pairs come from the sampler `transitions`, whose `steps` "laplace" and "uniform" are the
    paper's. It trains 300,000 steps of 64 pairs with Adam at 1e-4.

    Paper: Klindt, Schott, Sharma, Ustyuzhaninov, Brendel, Bethge and Paiton 2021, "Towards
    nonlinear disentanglement in natural data with temporal sparse coding".
    Equation: The bound of its section on SlowVAE, as in the authors' code, which is symmetric in
    time.
    Differs: Not from that code. The bound itself has one cross entropy against one entropy, where
    two stand here. As all that is not constant in C is $\lambda$ times a length, the loss is the
    bound averaged over both directions of time, at twice the rate. The other posterior enters by
    its mean alone; in the bound it is sampled.

    Example: `unknot.train("dsprites", objectives.SlowVAE(gamma=5))`
    """

    beta: Hyper = 1.0
    gamma: Hyper = 10.0
    rate: Hyper = 6.0
    likelihood: Likelihood = "bernoulli"
    views: ClassVar[int] = 2
    sampler: ClassVar[str] = "transitions"
    family: ClassVar[Family] = "posterior"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta", "gamma")
        at_least(self, 1e-6, "rate")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction of both views, their divergence, and how far the second is from slow."""
        q = net.encode(step.x)
        z = step.sample(q)
        first, second = q.views(2)
        forward = cross_entropy(second, first.mean, self.rate)
        backward = cross_entropy(first, second.mean, self.rate)
        entropy = 0.5 * (math.log(2 * math.pi * math.e) + q.logvar)
        transition = (forward + backward).sum(-1).mean(-1) - entropy.sum(-1).mean(-1)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x), 2.0),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
            "transition": Term(transition, self.gamma),
        }


def cross_entropy(
    q: Posterior, mean: Float[Tensor, "*p b z"], rate: Number
) -> Float[Tensor, "*p b z"]:
    """Of a normal and a Laplace density around another mean, latent by latent, in nats.

    Example:
        >>> q = Posterior(torch.zeros(1, 1), torch.zeros(1, 1))
        >>> round(cross_entropy(q, torch.zeros(1, 1), 2.0).item(), 4)  # 2 sqrt(2 / pi)
        1.5958
    """
    rate = torch.as_tensor(lift(rate, 2), dtype=q.mean.dtype, device=q.mean.device)
    apart, std = mean - q.mean, (0.5 * q.logvar).exp()
    ratio = apart / std
    length = std * math.sqrt(2 / math.pi) * (-0.5 * ratio.square()).exp()
    length = length + apart * torch.erf(ratio / math.sqrt(2))  # 2 Phi(r) - 1
    return rate * length - (rate / 2).log()


PRESETS = {"klindt2021": SlowVAE()}
