"""Divergences between distributions over finitely many outcomes."""

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import DataError, ShapeError


def kl(p: Float[Tensor, " n"], q: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    r"""Kullback-Leibler divergence, $\sum_i p_i \ln (p_i / q_i)$, in nats.

    Infinite where p has mass and q has none.

    Example:
        >>> p, q = torch.tensor([0.5, 0.5]).double(), torch.tensor([0.25, 0.75]).double()
        >>> round(kl(p, q).item(), 4), round(kl(q, p).item(), 4)
        (0.1438, 0.1308)
    """
    _check_distributions(p, q)
    terms: Tensor = torch.special.xlogy(p, p) - torch.special.xlogy(p, q)
    return terms.sum()


def jensen_shannon(p: Float[Tensor, " n"], q: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    r"""Mean divergence of both from their mixture, in nats: at most $\ln 2$.

    Paper: Mushom 2020, section 2.2, which prints the f of twice this.

    Example:
        >>> p, q = torch.tensor([1.0, 0.0]).double(), torch.tensor([0.0, 1.0]).double()
        >>> round(jensen_shannon(p, q).item(), 4)
        0.6931
    """
    mixture = (p + q) / 2
    return (kl(p, mixture) + kl(q, mixture)) / 2


def wasserstein(
    p: Float[Tensor, " n"], q: Float[Tensor, " n"], cost: Float[Tensor, "_ _"]
) -> Float[Tensor, ""]:
    """The least cost of moving p to q, where mass going from i to j costs ``cost[i, j]``.

    A linear program over couplings of the two. With a cost of 1 wherever anything moves it is the
    total variation, half the sum of absolute differences.

    Example:
        >>> p, q = torch.tensor([1.0, 0.0, 0.0]).double(), torch.tensor([0.0, 0.5, 0.5]).double()
        >>> place = torch.arange(3.0)
        >>> round(wasserstein(p, q, (place[:, None] - place).abs()).item(), 6)
        1.5
    """
    from scipy.optimize import linprog

    _check_distributions(p, q)
    n = len(p)
    if cost.shape != (n, n):
        raise ShapeError(f"Expected a cost of {n} x {n}; got {tuple(cost.shape)}.")
    eye, ones = torch.eye(n), torch.ones(1, n)
    marginals = torch.cat([torch.kron(eye, ones), torch.kron(ones, eye)])
    solution = linprog(
        cost.flatten().numpy(), A_eq=marginals.numpy(), b_eq=torch.cat([p, q]).numpy()
    )
    if not solution.success:
        raise DataError(f"No coupling of the two was found: {solution.message}")
    return torch.tensor(solution.fun, dtype=p.dtype)


def _check_distributions(p: Tensor, q: Tensor) -> None:
    if p.shape != q.shape:
        raise ShapeError(
            f"Expected two distributions over the same outcomes; got {len(p)} and {len(q)}."
        )
    for distribution in (p, q):
        if bool((distribution < 0).any()) or abs(distribution.sum().item() - 1) > 1e-6:
            raise DataError(
                f"Expected probabilities that add up to 1; got {distribution.sum().item():.6g} "
                f"with a least of {distribution.min().item():.3g}."
            )
