"""Supports of codes: how far the codes of a batch are from filling the grid of their latents."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def pairs_of(latents: int, device: torch.device | None = None) -> Int[Tensor, "pairs 2"]:
    """All pairs of latents.

    Example:
        >>> pairs_of(3).tolist()
        [[0, 1], [0, 2], [1, 2]]
    """
    return torch.triu_indices(latents, latents, 1, device=device).T


def support_gaps(
    codes: Float[Tensor, "*p b z"], pairs: Int[Tensor, "*q pairs 2"]
) -> Float[Tensor, "*p pairs"]:
    r"""Squared Hausdorff distance of the support of two latents from the product of their supports.

    $$\max_{a, b}\, \min_i\; (z_{aj} - z_{ij})^2 + (z_{bk} - z_{ik})^2$$

    Every combination of values that the latents j and k take by themselves should be near a code
    that has both. The support lies within the product, so the distance the other way is 0.

    The points a, b and i are searched without a gradient, one pair of latents after the other, and
    the distance between them is then taken with one: the gradient is that of the formula, at a cost
    in memory of b^3 numbers and not of b^3 for each pair.

    Example:
        >>> line = torch.tensor([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]])
        >>> support_gaps(line, pairs_of(2)).tolist()  # (0, 3) is nearest to (1, 1)
        [5.0]
    """
    chosen = pairs.expand(*codes.shape[:-2], *pairs.shape[-2:])
    columns = [
        codes.gather(-1, chosen[..., side].unsqueeze(-2).expand(*codes.shape[:-1], -1)).mT
        for side in (0, 1)
    ]
    each = zip(*(column.unbind(-2) for column in columns), strict=True)
    gaps = [_gap(first, second) for first, second in each]
    return torch.stack(gaps, dim=-1) if gaps else codes.new_zeros(*codes.shape[:-2], 0)


def _gap(first: Float[Tensor, "*p b"], second: Float[Tensor, "*p b"]) -> Float[Tensor, "*p"]:
    n = first.shape[-1]
    with torch.no_grad():
        near, index = (_squares(first).unsqueeze(-2) + _squares(second).unsqueeze(-3)).min(-1)
        spot = near.flatten(-2).argmax(-1, keepdim=True)
        point = index.flatten(-2).gather(-1, spot)
    across = first.gather(-1, spot // n) - first.gather(-1, point)
    along = second.gather(-1, spot % n) - second.gather(-1, point)
    return (across.square() + along.square()).squeeze(-1)


def _squares(codes: Float[Tensor, "*p b"]) -> Float[Tensor, "*p b b"]:
    return (codes.unsqueeze(-1) - codes.unsqueeze(-2)).square()
