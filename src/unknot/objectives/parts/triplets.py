"""Triplet losses: an anchor's code is to be nearer to the positive's than to the negative's."""

from typing import Any, Literal, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from unknot.core.hyper import Number, lift
from unknot.core.objective import Note, Term, Terms
from unknot.core.posterior import Posterior
from unknot.objectives.parts.sharing import Delta, count, deltas, shared_latents, weigh_shared

Margin: TypeAlias = Literal["hard", "soft"]
Norm: TypeAlias = Literal["l1", "l2"]


def distance(difference: Float[Tensor, "*p n z"], norm: Norm) -> Float[Tensor, "*p n"]:
    """Length of differences of codes.

    At length 0, where neither norm has a gradient, that of both is 0.

    Example:
        >>> distance(torch.tensor([[3.0, -4.0]]), "l1").item()
        7.0
        >>> distance(torch.tensor([[3.0, -4.0]]), "l2").item()
        5.0
    """
    if norm == "l1":
        return difference.abs().sum(-1)
    length: Tensor = torch.linalg.vector_norm(difference, dim=-1)
    return length


def triplet(
    near: Float[Tensor, "*p n"], far: Float[Tensor, "*p n"], *, margin: Margin, psi: Number
) -> Float[Tensor, "*p"]:
    r"""The loss of distances to positives and to negatives.

    `hard` is $\max(0, \psi + d_{ap} - d_{an})$. `soft` is $\ln(1 + e^{d_{ap} - d_{an}})$, which has
    no margin and is never quite 0.

    Example:
        >>> near, far = torch.tensor([1.0, 1.0]), torch.tensor([4.0, 20.0])
        >>> triplet(near, far, margin="hard", psi=10.0).item()
        3.5
        >>> triplet(near, near, margin="soft", psi=10.0).item()
        0.6931...
    """
    excess = _excess(near, far, margin, psi)
    return (F.relu(excess) if margin == "hard" else -F.logsigmoid(-excess)).mean(-1)


def violations(
    near: Float[Tensor, "*p n"], far: Float[Tensor, "*p n"], *, margin: Margin, psi: Number
) -> Float[Tensor, "*p"]:
    """The share of triplets that lack the hard margin; with the soft one, of the wrong order."""
    return (_excess(near, far, margin, psi) > 0).to(near.dtype).mean(-1)


def triplet_terms(objective: Any, a: Posterior, p: Posterior, n: Posterior) -> Terms:
    """The weighted triplet loss of posterior means, and how many triplets lack the margin."""
    return _terms(objective, a.mean - p.mean, a.mean - n.mean)


def _terms(
    objective: Any, to_positive: Float[Tensor, "*p n z"], to_negative: Float[Tensor, "*p n z"]
) -> Terms:
    near, far = (distance(apart, objective.norm) for apart in (to_positive, to_negative))
    rule = {"margin": objective.margin, "psi": objective.psi}
    return {
        "triplet": Term(triplet(near, far, **rule), objective.alpha),
        "violations": Note(violations(near, far, **rule)),
    }


def adaptive_triplet_terms(
    objective: Any, a: Posterior, p: Posterior, n: Posterior, *, delta: Delta
) -> Terms:
    """The same, with latents that anchor and negative share, by delta, pushing them apart less."""
    shared = shared_latents(deltas(a, n, delta), objective.eta)
    to_negative = weigh_shared(a.mean - n.mean, shared, objective.omega)
    return {
        **_terms(objective, a.mean - p.mean, to_negative),
        "shared": Note(count(shared, a.mean)),
    }


def _excess(near: Tensor, far: Tensor, margin: Margin, psi: Number) -> Tensor:
    return near - far + lift(psi, 1) if margin == "hard" else near - far
