"""The semi-supervised VAE."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import MultiView, Net, Note, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.labels import LatentPerFactor

Supervision: TypeAlias = Literal["cross_entropy", "squared", "covariance"]


@dataclass(frozen=True)
class S2VAE(MultiView, LatentPerFactor):
    r"""S2-VAE: beta-VAE that is told the factors of a few images, one latent for each factor.

    $$\mathcal L = \mathcal L_{\beta\text{-VAE}}(x) + \gamma\, R(\mu(x'), v'), \qquad
    R = -\textstyle\sum_j v_j \ln s(\mu_j) + (1 - v_j) \ln (1 - s(\mu_j))$$

    x' are images whose factors v' are known, scaled to 0 .. 1, and s is the logistic function:
    latent j is to give factor j, the others are free. `supervision` "squared" takes
    $R = \sum_j (s(\mu_j) - v_j)^2$; "covariance" $R = \sum_{i \ne j} \mathrm{Cov}(\mu_i, v_j)^2$
    over the labelled images of the batch, which only keeps other latents away from factor j.

    Which images have labels is up to the sampler: `--set sampler=labelled --set
    sampler.labels=100`. A batch has as many labelled images as others. With the sampler `singles`
    all images have labels.

    Paper: Locatello, Tschannen, Bauer, Rätsch, Schölkopf and Bachem 2020, "Disentangling factors of
    variation using few labels".
    Equation: The loss of its section on semi-supervised training, as in the authors' code: the
    labelled images enter R alone, by their means.
    Differs: Their code sums R over the batch, here it is the mean (of the covariance there, too):
    gamma is their weight times their 64 labelled images. They divide the number of a factor's value
    by n, here it is n - 1. Their cross entropy, squared error without a learnt scale and covariance
    are here; the learnt scale, embeddings of values and the other VAEs that they build on are not.
    Their covariance takes labels that are not scaled. The weights of their study could not be
    checked.

    `error` in the log is the mean distance of $s(\mu_j)$ from $v_j$.

    Example: `unknot.train("dsprites", objectives.S2VAE(gamma=50))`
    """

    beta: Hyper = 1.0
    gamma: Hyper = 50.0
    supervision: Supervision = "cross_entropy"
    likelihood: Likelihood = "bernoulli"
    views: ClassVar[int] = 2
    sampler: ClassVar[str] = "labelled"
    told: ClassVar[str] = "labels"
    family: ClassVar[Family] = "posterior"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta", "gamma")
        check_choices(self, "supervision")

    def terms(self, net: Net, step: Step) -> Terms:
        """Those of the VAE for the first images, and how the second ones' means miss factors."""
        assert step.factors is not None  # noqa: S101 - the hook asks for them
        q, told = net.encode(step.x).views(2)
        x = step.x.unflatten(-4, (2, -1)).select(-5, 0)
        factors = step.factors.unflatten(-2, (2, -1)).select(-3, 1)
        z = step.sample(q)
        penalty, distance = supervise(told.mean, factors, self.supervision)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), x)),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
            "supervised": Term(penalty, self.gamma),
            "error": Note(distance),
        }


def supervise(
    means: Float[Tensor, "*p b z"], factors: Float[Tensor, "*p b f"], supervision: Supervision
) -> tuple[Float[Tensor, "*p"], Float[Tensor, "*p"]]:
    """R, and the mean distance of the first latents from the factors, both over known labels.

    Example:
        >>> means = torch.tensor([[0.0, 5.0], [0.0, 5.0]])
        >>> factors = torch.tensor([[1.0], [torch.nan]])  # the second image has no label
        >>> [value.item() for value in supervise(means, factors, "squared")]
        [0.25, 0.5]
    """
    known = factors.isfinite()
    share = known / known.sum(-2, keepdim=True).clamp(min=1)  # the same for all known labels
    factors = factors.where(known, 0.0)
    first = means[..., : factors.shape[-1]]
    if supervision == "cross_entropy":
        each = F.binary_cross_entropy_with_logits(first, factors, reduction="none")
    else:
        each = (first.sigmoid() - factors).square()
    penalty = (share * each).sum((-2, -1))
    if supervision == "covariance":
        apart = factors - (share * factors).sum(-2, keepdim=True)
        crossed = means.mT @ (share * apart)  # shares of deviations add up to 0
        own = torch.eye(*crossed.shape[-2:], dtype=torch.bool, device=means.device)
        penalty = crossed.masked_fill(own, 0.0).square().sum((-2, -1))
    return penalty, (share * (first.sigmoid() - factors).abs()).sum(-2).mean(-1)
