"""Divergences between distributions: over finitely many outcomes, and between Gaussians."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import DataError, ShapeError

Convex: TypeAlias = Callable[[Tensor], Tensor]


def f_divergence(p: Float[Tensor, " n"], q: Float[Tensor, " n"], f: Convex) -> Float[Tensor, ""]:
    r"""The divergence $D_f(p \| q) = \sum_i q_i\, f(p_i / q_i)$ of a convex f with $f(1) = 0$.

    Paper: Mushom 2020, section 2.2.

    Example:
        >>> p, q = torch.tensor([0.5, 0.5]).double(), torch.tensor([0.25, 0.75]).double()
        >>> round(f_divergence(p, q, lambda t: (t - 1) ** 2).item(), 4)  # chi square
        0.3333
    """
    _check(p, q)
    if bool(((q == 0) & (p > 0)).any()):
        raise DataError("Expected q to have mass wherever p has; its ratio to p is infinite.")
    of_ratios = f(torch.where(q > 0, p / q, 1.0))
    return (q * of_ratios).sum()


def kl(p: Float[Tensor, " n"], q: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    r"""Kullback-Leibler divergence, $\sum_i p_i \ln (p_i / q_i)$, in nats.

    Infinite where p has mass and q has none.

    Example:
        >>> p, q = torch.tensor([0.5, 0.5]).double(), torch.tensor([0.25, 0.75]).double()
        >>> round(kl(p, q).item(), 4), round(kl(q, p).item(), 4)
        (0.1438, 0.1308)
    """
    _check(p, q)
    each: Tensor = torch.special.xlogy(p, p) - torch.special.xlogy(p, q)
    return each.sum()


def jensen_shannon(p: Float[Tensor, " n"], q: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    r"""Mean divergence of both from their mixture, in nats: at most $\ln 2$.

    Differs: Mushom prints the f of twice this.

    Example:
        >>> p, q = torch.tensor([1.0, 0.0]).double(), torch.tensor([0.0, 1.0]).double()
        >>> round(jensen_shannon(p, q).item(), 4)
        0.6931
    """
    mixture = (p + q) / 2
    return (kl(p, mixture) + kl(q, mixture)) / 2


def total_variation(p: Float[Tensor, " n"], q: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    r"""The largest difference in the probability of any event, $\frac12 \sum_i |p_i - q_i|$.

    Differs: Mushom prints the f of twice this.

    Example:
        >>> p, q = torch.tensor([0.5, 0.5]).double(), torch.tensor([0.25, 0.75]).double()
        >>> total_variation(p, q).item()
        0.25
    """
    _check(p, q)
    return (p - q).abs().sum() / 2


def wasserstein(
    p: Float[Tensor, " n"], q: Float[Tensor, " n"], cost: Float[Tensor, "_ _"]
) -> Float[Tensor, ""]:
    """The least cost of moving p to q, where mass going from i to j costs ``cost[i, j]``.

    A linear program over couplings of the two. With a cost of 1 wherever anything moves it is the
    total variation.

    Example:
        >>> p, q = torch.tensor([1.0, 0.0, 0.0]).double(), torch.tensor([0.0, 0.5, 0.5]).double()
        >>> place = torch.arange(3.0)
        >>> round(wasserstein(p, q, (place[:, None] - place).abs()).item(), 6)
        1.5
    """
    from scipy.optimize import linprog

    _check(p, q)
    n = len(p)
    if cost.shape != (n, n):
        raise ShapeError(f"Expected a cost of {n} x {n}; got {tuple(cost.shape)}.")
    eye, ones = torch.eye(n), torch.ones(1, n)
    marginals = torch.cat([torch.kron(eye, ones), torch.kron(ones, eye)])
    found = linprog(cost.flatten().numpy(), A_eq=marginals.numpy(), b_eq=torch.cat([p, q]).numpy())
    if not found.success:
        raise DataError(f"No coupling of the two was found: {found.message}")
    return torch.tensor(found.fun, dtype=p.dtype)


def kl_gaussian(
    mean: Float[Tensor, " d"],
    cov: Float[Tensor, "d d"],
    other_mean: Float[Tensor, " d"],
    other_cov: Float[Tensor, "d d"],
) -> Float[Tensor, ""]:
    r"""Divergence of one Gaussian from another, in nats.

    $$\tfrac12 \left(\operatorname{tr} \Sigma_2^{-1} \Sigma_1 + (\mu_2 - \mu_1)^\top \Sigma_2^{-1}
    (\mu_2 - \mu_1) - d + \ln \frac{\det \Sigma_2}{\det \Sigma_1}\right)$$

    Example:
        >>> one = torch.eye(2).double()
        >>> kl_gaussian(torch.ones(2).double(), one, torch.zeros(2).double(), one).item()
        1.0
    """
    away = other_mean - mean
    trace = torch.linalg.solve(other_cov, cov).diagonal().sum()
    square = away @ torch.linalg.solve(other_cov, away)
    volume = torch.logdet(other_cov) - torch.logdet(cov)
    divergence: Tensor = (trace + square - len(mean) + volume) / 2
    return divergence


def _check(p: Tensor, q: Tensor) -> None:
    if p.shape != q.shape:
        raise ShapeError(
            f"Expected two distributions over the same outcomes; got {len(p)} and {len(q)}."
        )
    for one in (p, q):
        if bool((one < 0).any()) or abs(one.sum().item() - 1) > 1e-6:
            raise DataError(
                f"Expected probabilities that add up to 1; got {one.sum().item():.6g} with a least "
                f"of {one.min().item():.3g}."
            )
