"""The beta-TCVAE, and how it splits the divergence."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Batchwise, Net, Note, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family

Estimator: TypeAlias = Literal["none", "mws", "mixture", "mss"]
Reading: TypeAlias = Literal["weights", "beta_minus_1", "extra_tc"]


@dataclass(frozen=True)
class BetaTCVAE(Batchwise):
    r"""beta-TCVAE: VAE whose KL divergence is split in three; total correlation has weight beta.

    $$\mathcal L = -\mathbb E_{q(z|x)}[\ln p(x|z)] + \alpha\, I_q(z; x)
    + \beta\, \mathrm{KL}(q(z) \| \textstyle\prod_j q(z_j))
    + \gamma \textstyle\sum_j \mathrm{KL}(q(z_j) \| p(z_j))$$

    Paper: Chen et al. 2018, "Isolating sources of disentanglement in variational autoencoders".
    Equation: 4, with the estimators of its section 4.1 and appendix C.
    Differs: None in the default. The 2019 study takes the divergence in closed form,
    `beta_minus_1`; there the weights are what they exceed 1 by, so that all three at 1 are the VAE
    exactly and not only on average. Mushom 2020 reads beta as what comes on top, `extra_tc`: its
    beta is one less than that of the others.

    The density q(z) is estimated from the batch, of b images out of N, as a weighted sum of q(z|x):

    - `mws`: weights 1 / (b N), as published. For z latents total correlation comes out (z - 1) ln N
      and more too high: of ten independent ones at b = 64 on dSprites it says +129 nats.
    - `none`: weights 1, as the 2019 study; of the same ten it says -30.
    - `mixture`: weights 1 / b; it says +7.
    - `mss`: weights of stratified sampling, which make the density unbiased but not its logarithm;
      it says -1.

    The first three differ by constants and train alike. None of them measures total correlation.

    Example: `unknot.train("dsprites", objectives.BetaTCVAE(beta=8))`
    """

    alpha: Hyper = 1.0
    beta: Hyper = 6.0
    gamma: Hyper = 1.0
    estimator: Estimator = "mws"
    reading: Reading = "weights"
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "aggregate"

    def __post_init__(self) -> None:
        at_least(self, 0, "alpha", "beta", "gamma")
        check_choices(self, "estimator", "reading")

    def check_batch(self, batch: int, n_data: int) -> None:
        """Refuse single images, and a stratified batch larger than the data that it is part of."""
        super().check_batch(batch, n_data)
        if self.estimator == "mss" and batch > n_data:
            raise ConfigError(
                f"BetaTCVAE.estimator 'mss' needs a batch of at most the {n_data} images there "
                f"are; got {batch}. Take a smaller batch or 'mws'."
            )

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, mutual information, total correlation and dimension-wise divergence."""
        q = net.encode(step.x)
        z = step.sample(q)
        weights = log_weights(self.estimator, z, step.n_data)
        kl = kl_normal(q).sum(-1)
        mi, tc, dwkl = split_kl(z, q, weights)
        alpha, beta, gamma = self.alpha, self.beta, self.gamma
        if self.reading != "weights":
            alpha, gamma = alpha - 1, gamma - 1
        if self.reading == "beta_minus_1":
            beta = beta - 1
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Note(kl) if self.reading == "weights" else Term(kl),
            "mi": Term(mi, alpha),
            "tc": Term(tc, beta),
            "dwkl": Term(dwkl, gamma),
        }


def split_kl(
    z: Float[Tensor, "*p b z"], q: Posterior, log_weights: Float[Tensor, "b b"]
) -> tuple[Float[Tensor, "*p"], Float[Tensor, "*p"], Float[Tensor, "*p"]]:
    r"""Mutual information, total correlation and dimension-wise divergence, by one sample of z.

    $\ln q(z_i) \approx \ln \sum_j w_{ij}\, q(z_i | x_j)$, and the same of each latent by itself.
    Whatever the weights, the three add up to the mean of $\ln q(z|x) - \ln p(z)$.
    """
    pairs = log_normal(z.unsqueeze(-2), q.mean.unsqueeze(-3), q.logvar.unsqueeze(-3))
    conditional = log_normal(z, q.mean, q.logvar).sum(-1)
    joint = (pairs.sum(-1) + log_weights).logsumexp(-1)
    marginals = (pairs + log_weights.unsqueeze(-1)).logsumexp(-2).sum(-1)
    prior = log_normal(z, torch.zeros_like(z), torch.zeros_like(z)).sum(-1)
    mi, tc, dwkl = conditional - joint, joint - marginals, marginals - prior
    return mi.mean(-1), tc.mean(-1), dwkl.mean(-1)


def log_weights(
    estimator: Estimator, z: Float[Tensor, "*p b z"], n_data: int
) -> Float[Tensor, "b b"]:
    """Logarithms of the weights of an estimator: row i weighs each image for the code of image i.

    Stratified: 1 / N for the image that the code is of; the other b - 1 stand for the other N - 1
    with 1 / (b - 1) each, but for one, here the next, with (N - b + 1) / (N (b - 1)).

    Example:
        >>> log_weights("mss", torch.zeros(3, 5), 12).exp().mul(24).round().tolist()
        [[2.0, 10.0, 12.0], [12.0, 2.0, 10.0], [10.0, 12.0, 2.0]]
    """
    b = z.shape[-2]
    if estimator != "mss":
        constant = {"none": 0.0, "mixture": -math.log(b), "mws": -math.log(b * n_data)}[estimator]
        return z.new_full((b, b), constant)
    row = torch.arange(b, device=z.device)
    ahead = (row - row.unsqueeze(-1)) % b
    weights = z.new_full((b, b), -math.log(b - 1))
    weights = weights.masked_fill(ahead == 1, math.log((n_data - b + 1) / (n_data * (b - 1))))
    return weights.masked_fill(ahead == 0, -math.log(n_data))


def log_normal(
    z: Float[Tensor, "*#s"], mean: Float[Tensor, "*#s"], logvar: Float[Tensor, "*#s"]
) -> Float[Tensor, "*s"]:
    """Logarithm of the normal density, entry by entry."""
    return -0.5 * ((z - mean).square() * (-logvar).exp() + logvar + math.log(2 * math.pi))


PRESETS = {
    # Gaujac, Feige and Barber 2021, TCWAE: a Wasserstein autoencoder penalises q(z) alone, so
    # that mutual information is free. Their beta and gamma were not checked; ours are the defaults.
    "tcwae": BetaTCVAE(alpha=0.0, likelihood="gaussian"),
    "chen_stratified": BetaTCVAE(estimator="mss"),
    "mushom": BetaTCVAE(beta=1.0, reading="extra_tc"),
    "study2019": BetaTCVAE(estimator="none", reading="beta_minus_1"),
}
