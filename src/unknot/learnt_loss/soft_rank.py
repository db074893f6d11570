"""Ranks that can be differentiated."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def soft_rank(values: Float[Tensor, "*n k"], strength: float) -> Float[Tensor, "*n k"]:
    r"""Ascending ranks from 1 to k along the last axis, made soft by a quadratic term.

    $$r(\theta) = \arg\min_{y \in \mathcal P} \tfrac12 \lVert y - \theta / \varepsilon \rVert^2$$

    with $\mathcal P$ the convex hull of all orders of $1 \dots k$. A small strength $\varepsilon$
    gives the ranks themselves, equal values sharing the middle of theirs; a large one moves the
    values by a constant and scales them. Gradients are exact.

    Paper: Blondel, Teboul, Berthet and Djolonga 2020, "Fast differentiable sorting and ranking".
    Equation: 6; lemma 1 and propositions 3 and 4.

    Differs: Ranks ascend. Computed in float64 on the CPU.

    Example:
        >>> values = torch.tensor([0.3, 2.0, 0.3, -1.0])
        >>> soft_rank(values, 1e-3).tolist()
        [2.5, 4.0, 2.5, 1.0]
        >>> [round(rank, 2) for rank in soft_rank(values, 10.0).tolist()]
        [2.49, 2.66, 2.49, 2.36]
    """
    # PyTorch leaves `apply` untyped.
    ranks: Tensor = _Projection.apply(values / strength)  # type: ignore[no-untyped-call]
    return ranks


class _Projection(torch.autograd.Function):
    r"""The nearest point of the permutahedron.

    Sorted in descending order, $y = s - v$ where $v$ is the nearest descending sequence to
    $s - (k, \dots, 1)$. It is constant on blocks, so that a gradient loses its mean over each.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        from sklearn.isotonic import isotonic_regression

        rows = values.detach().double().cpu().reshape(-1, values.shape[-1])
        s, order = rows.sort(dim=-1, descending=True, stable=True)
        descending = np.arange(values.shape[-1], 0, -1, dtype=np.float64)
        v = np.stack([isotonic_regression(r - descending, increasing=False) for r in s.numpy()])
        starts = np.diff(v, axis=-1, prepend=np.inf) != 0
        blocks = torch.from_numpy(starts.cumsum(-1) - 1)
        ranks = torch.empty_like(s).scatter_(-1, order, s - torch.from_numpy(v))
        ctx.save_for_backward(order, blocks)
        return ranks.reshape(values.shape).to(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        order, blocks = ctx.saved_tensors
        rows = gradient.double().cpu().reshape(order.shape).gather(-1, order)
        sums = torch.zeros_like(rows).scatter_add_(-1, blocks, rows)
        sizes = torch.zeros_like(rows).scatter_add_(-1, blocks, torch.ones_like(rows))
        centered = rows - (sums / sizes.clamp_min(1)).gather(-1, blocks)
        result = torch.empty_like(rows).scatter_(-1, order, centered)
        return result.reshape(gradient.shape).to(gradient)


def pearson(a: Float[Tensor, "*n k"], b: Float[Tensor, "*n k"]) -> Float[Tensor, "*n"]:
    """Pearson's correlation along the last axis; of soft ranks it is a soft Spearman's."""
    a, b = (side - side.mean(-1, keepdim=True) for side in (a, b))
    return F.cosine_similarity(a, b, dim=-1)
