"""Second and third moments of codes over a batch, for objectives that match them to the prior's."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.objective import Carry, ExtraState, Net, Step, Term, Terms
from unknot.core.posterior import Posterior


def covariance(codes: Float[Tensor, "*p b z"]) -> Float[Tensor, "*p z z"]:
    """Covariance over the batch, divided by b and not by b - 1.

    Example:
        >>> covariance(torch.tensor([[1.0, 0.0], [3.0, 4.0]])).tolist()
        [[1.0, 2.0], [2.0, 4.0]]
    """
    centered = codes - codes.mean(-2, keepdim=True)
    return centered.mT @ centered / codes.shape[-2]


def variances_of(cov: Float[Tensor, "*p z z"]) -> Float[Tensor, "*p z"]:
    """The diagonal, as a sum: PyTorch 2.11 fails to compile ``diagonal`` of a product for a GPU."""
    return (cov * torch.eye(cov.shape[-1], dtype=cov.dtype, device=cov.device)).sum(-1)


def diagonal_of(variances: Float[Tensor, "*p z"]) -> Float[Tensor, "*p z z"]:
    """The matrix that has these on its diagonal and 0 elsewhere."""
    eye = torch.eye(variances.shape[-1], dtype=variances.dtype, device=variances.device)
    return variances.unsqueeze(-1) * eye


def off_identity(cov: Float[Tensor, "*p z z"]) -> tuple[Float[Tensor, "*p"], Float[Tensor, "*p"]]:
    """Squared distance from the identity: off the diagonal, each pair counted twice, and on it.

    Example:
        >>> [part.item() for part in off_identity(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))]
        [8.0, 9.0]
    """
    variances = variances_of(cov)
    off = cov - diagonal_of(variances)
    return off.square().sum((-2, -1)), (variances - 1).square().sum(-1)


def third_moments(codes: Float[Tensor, "*p b z"]) -> Float[Tensor, "*p z z z"]:
    """Central moments of all triples of latents over the batch."""
    b, z = codes.shape[-2:]
    centered = codes - codes.mean(-2, keepdim=True)
    pairs = (centered.unsqueeze(-1) * centered.unsqueeze(-2)).flatten(-2)
    moments = pairs.mT @ centered / b
    return moments.reshape(*moments.shape[:-2], z, z, z)


def third_moments_of_mixture(q: Posterior) -> Float[Tensor, "*p z z z"]:
    r"""Central third moments of the batch's mixture of posteriors, without sampling.

    $$\mathbb E[m_i m_j m_k] + \delta_{ij} \mathbb E[\sigma_i^2 m_k]
    + \delta_{ik} \mathbb E[\sigma_i^2 m_j] + \delta_{jk} \mathbb E[\sigma_j^2 m_i],
    \quad m = \mu - \mathbb E \mu$$
    """
    centered = q.mean - q.mean.mean(-2, keepdim=True)
    same = torch.eye(centered.shape[-1], dtype=centered.dtype, device=centered.device)
    both = q.logvar.exp().mT @ centered / centered.shape[-2]  # of i and k: E[sigma_i^2 m_k]
    ij = same.unsqueeze(-1) * both.unsqueeze(-2)
    ik = same.unsqueeze(-2) * both.unsqueeze(-1)
    jk = same * both.mT.unsqueeze(-1)
    return third_moments(q.mean) + ij + ik + jk


def check_decay(objective: Any) -> None:
    """Check the decay of a running mean; for ``__post_init__``."""
    if not 0 <= objective.decay < 1:
        kind = type(objective).__name__
        raise ConfigError(f"{kind}.decay must lie in [0, 1); got {objective.decay}.")


def running_mean_start(decay: float, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
    """What `running_mean` carries, before the first step."""
    start = torch.zeros(*seed.shape, z, z, device=seed.device)
    return ExtraState(carried={"covariance": start}) if decay else ExtraState()


def running_mean(
    cov: Float[Tensor, "*p z z"], decay: float, net: Net, step: Step
) -> tuple[Float[Tensor, "*p z z"], dict[str, Carry]]:
    """The running mean of a covariance and what to carry; without decay the covariance itself.

    The mean starts at this run's first step and is corrected for that as Adam's moments are. It
    only gives the value: the gradient is that of the batch's covariance in full, so that the weight
    of a penalty means the same with and without.
    """
    if not decay:
        return cov, {}
    memory = decay * net.extra["covariance"] + (1 - decay) * cov.detach()
    mean = memory / (1 - decay ** (step.t.to(cov.dtype) + 1))
    return mean + (cov - cov.detach()), {"covariance": Carry(memory)}


def covariance_terms(
    objective: Any,
    cov: Float[Tensor, "*p z z"],
    net: Net,
    step: Step,
) -> Terms:
    """How far a batch's covariance, or its running mean, is from the identity; what to carry."""
    cov, carry = running_mean(cov, objective.decay, net, step)
    off_diagonal, diagonal = off_identity(cov)
    return {
        "off_diagonal": Term(off_diagonal, objective.lambda_od),
        "diagonal": Term(diagonal, objective.lambda_d),
        **carry,
    }
