"""Derivatives of decoders along their latents, by differences."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.hyper import at_least
from unknot.core.objective import Net, Step


def jacobian(
    net: Net, z: Float[Tensor, "*p n z"], *, rows: int, epsilon: float
) -> Float[Tensor, "*p m z d"]:
    r"""Columns $J_j = (f(z + \epsilon e_j) - f(z)) / \epsilon$ at the first rows of a batch.

    Args:
        net: Its decoder is f: outputs as they are, not activated.
        z: Codes; no gradient goes through them.
        rows: How many codes at most; each costs an image for each latent, and one more.
        epsilon: $\epsilon$.
    """
    z = z.detach()[..., :rows, :]
    latents = z.shape[-1]
    steps = epsilon * torch.eye(latents + 1, latents, dtype=z.dtype, device=z.device)
    codes = (z.unsqueeze(-2) + steps).flatten(-3, -2)  # the last step is none
    images: Tensor = net.decode(codes).flatten(-3).unflatten(-2, (-1, latents + 1))
    return (images[..., :-1, :] - images[..., -1:, :]) / epsilon


def gram(columns: Float[Tensor, "*p m z d"]) -> Float[Tensor, "*p m z z"]:
    """Scalar products of the columns of a Jacobian."""
    return columns @ columns.mT


def signs(step: Step, stream: str, *shape: int) -> Float[Tensor, "..."]:
    """Random signs ``[*p, *shape]``, Rademacher's distribution."""
    noise = step.normal(stream, *shape)
    return torch.where(noise > 0, torch.ones_like(noise), -torch.ones_like(noise))


def bends(
    function: Callable[[Tensor], tuple[Tensor, ...]],
    z: Float[Tensor, "*p n z"],
    moves: Float[Tensor, "*p k n z"],
) -> tuple[Float[Tensor, "*p k n d"], ...]:
    """Second differences f(z + v) - 2 f(z) + f(z - v) along k moves v, of each output, flat."""
    k, n = moves.shape[-3:-1]
    moved = torch.cat([z.unsqueeze(-3) + moves, z.unsqueeze(-3) - moves], dim=-3)
    codes = torch.cat([moved.flatten(-3, -2), z], dim=-2)
    curved = []
    for output in function(codes):
        flat = output.flatten(codes.ndim - 1).unflatten(-2, (2 * k + 1, n))
        up, down, here = flat.split((k, k, 1), dim=-3)
        curved.append(up - 2 * here + down)
    return tuple(curved)


def column_contrast(products: Float[Tensor, "*p m z z"], ridge: float) -> Float[Tensor, "*p m"]:
    r"""How far columns are from orthogonal, $\sum_j \frac12 \ln G_{jj} - \frac12 \ln \det G$.

    In float64, with the ridge added to the diagonal, by elimination: after j steps the next entry
    of the diagonal is the squared distance of column j from the span of those before it.

    Example:
        >>> products = torch.tensor([[4.0, 0.0], [0.0, 9.0]])
        >>> column_contrast(products.expand(1, 2, 2), 1e-9).item()
        0.0
    """
    z = products.shape[-1]
    rest = products.double() + ridge * torch.eye(z, dtype=torch.float64, device=products.device)
    contrast = torch.zeros_like(rest[..., 0, 0])
    lengths = [rest[..., j, j] for j in range(z)]
    for j in range(z):
        pivot = rest[..., j, j].clamp(min=ridge / 2)
        contrast = contrast + 0.5 * (lengths[j].log() - pivot.log())
        column = rest[..., :, j : j + 1]
        rest = rest - column @ column.mT / pivot[..., None, None]
    return contrast.to(products.dtype)


def check_jacobian(thing: Any) -> None:
    """Check the fields that say how a Jacobian is taken; for ``__post_init__``."""
    at_least(thing, 1, "rows")
    if not thing.epsilon > 0:
        raise ConfigError(f"{type(thing).__name__}.epsilon must be above 0; got {thing.epsilon}.")
