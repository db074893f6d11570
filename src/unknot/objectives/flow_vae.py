"""The VAE with an autoregressive flow as its posterior."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.hyper import at_least
from unknot.core.objective import ExtraState, Net, Note, Recoding, Stateful, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, reconstruction
from unknot.objectives.parts.families import Family

OPEN = 2.0
"""Gates start here: sigma 0.88, so that a fresh flow changes little."""


@dataclass(frozen=True)
class FlowVAE(Stateful, Recoding):
    r"""Flow VAE: VAE whose posterior is transformed by inverse autoregressive flow (IAF).

    $$\mathcal L = -\ln p(x|z_T) + \ln q(z_T|x) - \ln p(z_T), \qquad
    z_0 = \mu_0 + \sigma_0 \odot \epsilon, \qquad z_t = \mu_t + \sigma_t \odot z_{t-1}$$
    $$\ln q(z_T|x) = -\sum_j \Big[\tfrac12 \epsilon_j^2 + \tfrac12 \ln 2 \pi +
    \sum_{t=0}^T \ln \sigma_{t,j}\Big]$$

    where $\mu_t = (1 - \sigma_t) \odot m_t$, $\sigma_t = \varsigma(s_t)$, and $m_t, s_t$ of a
    latent are a net of the latents before it in $z_{t-1}$ and of the image.

    Paper: Kingma et al. 2016, "Improving variational inference with inverse autoregressive flow";
    Rezende and Mohamed 2015, "Variational inference with normalizing flows", for flows at large.
    Equation: 9 to 14.

    Differs: Images reach the flow through the encoder's means and log-variances; the paper's
    encoder has outputs of their own for this. One layer of latents, and no free bits. The order of
    latents is reversed from step to step by masks, so each latent stays in its place.

    `steps` is $T$; with none this is the VAE whose divergence is estimated by the sample. `width`
    is that of the one hidden layer in each step. The posterior that scores take is made of what
    the flow does to the encoder's mean, and of its variances times the squared sigmas of all steps
    there: what the flow mixes between latents is not in it. `logdet` is logged.

    Example: `unknot.train("dsprites", objectives.FlowVAE(steps=4))`
    """

    steps: int = 2
    width: int = 320
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "inference"

    def __post_init__(self) -> None:
        at_least(self, 0, "steps")
        at_least(self, 1, "width")

    def extra_state(self, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
        """The weights of all steps, uniform within one over the root of their inputs' number."""
        if not self.steps:
            return ExtraState()

        def uniform(name: str, inputs: int, *shape: int) -> Tensor:
            u = noise.uniform(seed, f"init/flow.{name}", 0, self.steps, *shape, dtype=torch.float64)
            return (2 * u - 1) / math.sqrt(inputs)

        gates = torch.tensor([0.0, OPEN], dtype=torch.float64, device=seed.device)
        return ExtraState(
            {
                "latent_weight": uniform("latent_weight", 3 * z, self.width, z),
                "context_weight": uniform("context_weight", 3 * z, self.width, 2 * z),
                "hidden_bias": uniform("hidden_bias", 3 * z, self.width),
                "out_weight": uniform("out_weight", self.width, 2 * z, self.width),
                "out_bias": gates.repeat_interleave(z).repeat(*seed.shape, self.steps, 1),
            }
        )

    def flow(
        self, net: Net, q: Posterior, z: Float[Tensor, "*p b z"]
    ) -> tuple[Float[Tensor, "*p b z"], Float[Tensor, "*p b z"]]:
        r"""Where codes end, and $\sum_t \ln \sigma_t$, whose sum is the log-determinant."""
        context, log_sigma = torch.cat([q.mean, q.logvar], -1), torch.zeros_like(z)
        for t in range(self.steps):
            weights = {
                name: weight.select(-2 if name.endswith("bias") else -3, t)
                for name, weight in net.extra.items()
            }
            z, log_sigma_t = gated_step(z, context, **weights, backwards=t % 2 == 1)
            log_sigma = log_sigma + log_sigma_t
        return z, log_sigma

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """The flow of the mean, with variances by its sigmas."""
        mean, log_sigma = self.flow(net, q, q.mean)
        return Posterior(mean, q.logvar + 2 * log_sigma)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, and divergence by one sample."""
        q = net.encode(step.x)
        eps = step.normal("z", *q.mean.shape[-2:])
        z, log_sigma = self.flow(net, q, q.sample(eps))
        kl = 0.5 * (z.square() - eps.square() - q.logvar) - log_sigma
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl.sum(-1).mean(-1)),
            "logdet": Note(log_sigma.sum(-1).mean(-1)),
        }


def masks(
    latents: int, width: int, *, backwards: bool, device: torch.device
) -> tuple[Bool[Tensor, "h z"], Bool[Tensor, "z h"]]:
    """Which latents a hidden unit sees, and which hidden units an output hears (MADE).

    Hidden unit ``k`` sees the first ``k % latents`` latents and the output of a latent hears those
    units that see only latents before it, so that no output depends on its own latent or on those
    after it. ``backwards`` counts latents from the last.

    Paper: Germain et al. 2015, "MADE: masked autoencoder for distribution estimation", equations
    13 and 14, with units that see no latent, for the context.
    """
    place = torch.arange(latents, device=device)
    if backwards:
        place = place.flip(0)
    seen = torch.arange(width, device=device) % latents
    return place < seen.unsqueeze(-1), seen <= place.unsqueeze(-1)


def gated_step(
    z: Float[Tensor, "*p b z"],
    context: Float[Tensor, "*p b c"],
    *,
    latent_weight: Float[Tensor, "*p h z"],
    context_weight: Float[Tensor, "*p h c"],
    hidden_bias: Float[Tensor, "*p h"],
    out_weight: Float[Tensor, "*p two_z h"],
    out_bias: Float[Tensor, "*p two_z"],
    backwards: bool,
) -> tuple[Float[Tensor, "*p b z"], Float[Tensor, "*p b z"]]:
    r"""One step of the flow, $\sigma z + (1 - \sigma) m$, and $\ln \sigma$.

    $\sigma = \varsigma(s)$, and $m$ and $s$ of a latent are a net with one hidden layer of the
    latents before it and of the context, so the Jacobian is triangular with $\sigma$ on its
    diagonal.
    """
    sees, hears = masks(z.shape[-1], hidden_bias.shape[-1], backwards=backwards, device=z.device)
    hidden = z @ (latent_weight * sees).mT + context @ context_weight.mT
    hidden = F.elu(hidden + hidden_bias.unsqueeze(-2))
    out = hidden @ (out_weight * hears.repeat(2, 1)).mT + out_bias.unsqueeze(-2)
    m, s = out.chunk(2, dim=-1)
    return s.sigmoid() * z + (-s).sigmoid() * m, F.logsigmoid(s)


PRESETS = {"kingma8": FlowVAE(steps=8, width=1920)}
