"""Rows for the scores that read whole posteriors, and mixtures of them."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.errors import ConfigError, ShapeError
from unknot.core.representation import Representation
from unknot.metrics.parts.codes_only import take_codes
from unknot.metrics.parts.inputs import Codes, Rows

AT_ONCE = 2**17
"""Densities of points under components that are held at a time."""


def side_by_side(metric: str, codes: Codes, logvar: Codes | None) -> Codes:
    """Means and log-variances of posteriors as one table, so that rows are drawn for both.

    Args:
        metric: The score that asks, for messages.
        codes: Posterior means ``[n, z]``, or a representation.
        logvar: Log-variances of the same shape, or a representation of them on the same grid.

    Raises:
        ConfigError: There are no log-variances.
        ShapeError: The two do not fit each other.
        DataError: They are not finite.
    """
    if logvar is None:
        raise ConfigError(
            f"{metric} reads whole posteriors: give their means as codes and their log-variances, "
            "of the same shape, as `logvar`."
        )
    if isinstance(codes, Representation) and isinstance(logvar, Representation):
        if codes.space != logvar.space or codes.latents != logvar.latents:
            raise ShapeError("logvar must be of the grid and the codes that it goes with.")
        means, logvars = codes, logvar
        return Representation(
            codes.space,
            2 * codes.latents,
            lambda index: torch.cat([means.codes(index), logvars.codes(index)], dim=1),
        )
    if isinstance(codes, Representation) or isinstance(logvar, Representation):
        raise ShapeError("Codes and logvar must both be arrays, or both representations.")
    if codes.shape != logvar.shape:
        raise ShapeError(
            f"Expected logvar of the shape of codes, {tuple(codes.shape)}; "
            f"got {tuple(logvar.shape)}."
        )
    mean, other = (take_codes(array, samples=None, seed=0).codes for array in (codes, logvar))
    return torch.cat([mean, other.to(mean.device)], dim=1)


def split(rows: Rows) -> tuple[Float[Tensor, "n z"], Float[Tensor, "n z"]]:
    """Means and log-variances of rows taken from both side by side."""
    mean, logvar = rows.codes.chunk(2, dim=1)
    return mean, logvar


def divergence(mean: Float[Tensor, "*n z"], logvar: Float[Tensor, "*n z"]) -> Float[Tensor, "*n z"]:
    r"""Of each latent from the prior, $\frac12 (\mu^2 + \sigma^2 - 1 - \ln \sigma^2)$, in nats.

    Example:
        >>> divergence(torch.ones(1, 2), torch.zeros(1, 2)).tolist()
        [[0.5, 0.5]]
    """
    return 0.5 * (mean.square() + logvar.exp() - 1 - logvar)


def log_density(
    points: Float[Tensor, "s z"], mean: Float[Tensor, "n z"], logvar: Float[Tensor, "n z"]
) -> Float[Tensor, "s z"]:
    r"""Of each coordinate under the even mixture of all posteriors, $\ln \frac1n \sum_i q_i(z_j)$.

    Example:
        >>> one = torch.zeros(1, 1).double()
        >>> round(log_density(one, one, one).exp().item(), 4)
        0.3989
    """
    mean, logvar = mean.T[:, None].contiguous(), logvar.T[:, None].contiguous()
    scale = (-0.5 * logvar).exp() * math.sqrt(0.5)
    height = -0.5 * (logvar + math.log(2 * math.pi)) - math.log(mean.shape[-1])
    chunks = []
    for chunk in points.split(max(1, AT_ONCE // mean.numel())):
        # In place: this is the whole cost of an entropy, and memory is most of it.
        density = (chunk.T[:, :, None] - mean).mul_(scale).square_().neg_().add_(height)
        top = density.amax(-1)
        chunks.append((density.sub_(top[..., None]).exp_().sum(-1).log() + top).T)
    return torch.cat(chunks)


def mixture_information(
    points: Float[Tensor, "n z"],
    mean: Float[Tensor, "n z"],
    logvar: Float[Tensor, "n z"],
    levels: Int[Tensor, "n f"],
    most: int,
) -> Float[Tensor, "z f"]:
    r"""Mutual information in nats of each latent and each factor, from one point per posterior.

    $$I(z_j; v) = H(z_j) - \sum_v p(v) H(z_j | v)$$
    with the entropies of $q(z_j) = \frac1n \sum_i q(z_j | x_i)$ and of the same mixture over the
    rows of one value, each the mean of $-\ln q$ over the first ``most`` points. At least 0; with
    all points in both it is never more than the entropy of the factor.
    """
    whole = -log_density(points[:most], mean, logvar).mean(0)
    table = []
    for level in levels.T:
        known = torch.zeros_like(whole)
        for value in level.unique():
            own = level == value
            inside = log_density(points[own][:most], mean[own], logvar[own])
            known += own.double().mean() * inside.mean(0)
        table.append(whole + known)
    return torch.stack(table, dim=1).clamp_min(0)
