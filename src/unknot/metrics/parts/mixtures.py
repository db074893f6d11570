"""Information of latents about factors, integrated over posteriors."""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

AT_ONCE = 2**17
"""Densities of points under components that are held at a time."""


def log_density(
    points: Float[Tensor, "s z"], mean: Float[Tensor, "n z"], logvar: Float[Tensor, "n z"]
) -> Float[Tensor, "s z"]:
    r"""Of each coordinate under the even mixture of all posteriors, $\ln \frac1n \sum_i q_i(z_j)$.

    Example:
        >>> one = torch.zeros(1, 1).double()
        >>> round(log_density(one, one, one).exp().item(), 4)
        0.3989
    """
    chunks = []
    for density in _log_normals(points, mean, logvar, math.log(len(mean))):
        top = density.amax(-1)
        chunks.append((density.sub_(top[..., None]).exp_().sum(-1).log() + top).T)
    return torch.cat(chunks)


def log_normal(
    points: Float[Tensor, "*s"], mean: Float[Tensor, "*s"], logvar: Float[Tensor, "*s"]
) -> Float[Tensor, "*s"]:
    """Logarithm of the normal density, entry by entry."""
    return -0.5 * ((points - mean).square() * (-logvar).exp() + logvar + math.log(2 * math.pi))


def log_densities(
    points: Float[Tensor, "s z"],
    owner: Int[Tensor, " s"],
    mean: Float[Tensor, "n z"],
    logvar: Float[Tensor, "n z"],
    size: int,
) -> tuple[Float[Tensor, " s"], Float[Tensor, "s z"]]:
    r"""Logarithms of the densities of points, and of each coordinate, under so many posteriors.

    The mixture has ``size`` posteriors, of which ``n`` are given. The ``owner`` of a point is among
    them for certain and weighs one of them; the others stand for all that are left.

    Example:
        >>> mean, logvar = torch.tensor([[-9.0], [9.0], [9.0]]).double(), torch.zeros(3, 1).double()
        >>> joint, each = log_densities(mean[:1], torch.tensor([0]), mean, logvar, 12)
        >>> [round(d.exp().item(), 4) for d in (joint, each)] == [round(0.39894 / 12, 4)] * 2
        True
    """
    n = len(mean)
    others = math.log((size - 1) / (size * (n - 1)))
    joints, marginals = [], []
    densities = _log_normals(points, mean, logvar)
    for density, mine in zip(densities, owner.split(_at_once(mean)), strict=True):
        weights = density.new_full(density.shape[1:], others)
        weights[torch.arange(len(mine)), mine] = -math.log(size)
        joints.append((density.sum(0) + weights).logsumexp(1))
        marginals.append(density.add_(weights).logsumexp(2).T)
    return torch.cat(joints), torch.cat(marginals)


def _log_normals(
    points: Float[Tensor, "s z"],
    mean: Float[Tensor, "n z"],
    logvar: Float[Tensor, "n z"],
    less: float = 0.0,
) -> Iterator[Float[Tensor, "z _ n"]]:
    """Logarithms of the densities of each coordinate under each posterior, points in parts.

    In place: this is the whole cost of an entropy, and memory is most of it.
    """
    at_once = _at_once(mean)
    mean, logvar = mean.T[:, None].contiguous(), logvar.T[:, None].contiguous()
    scale = (-0.5 * logvar).exp() * math.sqrt(0.5)
    height = -0.5 * (logvar + math.log(2 * math.pi)) - less
    for chunk in points.split(at_once):
        yield (chunk.T[:, :, None] - mean).mul_(scale).square_().neg_().add_(height)


def _at_once(mean: Float[Tensor, "n z"]) -> int:
    return max(1, AT_ONCE // mean.numel())


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
    entropy = -log_density(points[:most], mean, logvar).mean(0)
    table = []
    for level in levels.T:
        conditional = torch.zeros_like(entropy)
        for value in level.unique():
            rows = level == value
            inside = log_density(points[rows][:most], mean[rows], logvar[rows])
            conditional += rows.double().mean() * inside.mean(0)
        table.append(entropy + conditional)
    return torch.stack(table, dim=1).clamp_min(0)
