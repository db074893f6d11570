"""Masked autoregressive nets, and the flow step that they steer."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor


def masks(
    latents: int, width: int, *, backwards: bool, device: torch.device
) -> tuple[Bool[Tensor, "h z"], Bool[Tensor, "z h"]]:
    """Which latents a hidden unit sees, and which hidden units an output hears (MADE).

    Hidden unit ``k`` sees the first ``k % latents`` latents and the output of a latent hears those
    units that see only latents before it, so that no output depends on its own latent or on those
    after it. ``backwards`` counts latents from the last.

    Paper: Germain et al. 2015, "MADE: masked autoencoder for distribution estimation", equations
    13 and 14, with units that see no latent, for the context.
    """
    place = torch.arange(latents, device=device)
    if backwards:
        place = place.flip(0)
    seen = torch.arange(width, device=device) % latents
    return place < seen.unsqueeze(-1), seen <= place.unsqueeze(-1)


def gated_step(
    z: Float[Tensor, "*p b z"],
    context: Float[Tensor, "*p b c"],
    *,
    latent_weight: Float[Tensor, "*p h z"],
    context_weight: Float[Tensor, "*p h c"],
    hidden_bias: Float[Tensor, "*p h"],
    out_weight: Float[Tensor, "*p two_z h"],
    out_bias: Float[Tensor, "*p two_z"],
    backwards: bool,
) -> tuple[Float[Tensor, "*p b z"], Float[Tensor, "*p b z"]]:
    r"""One step of the flow, $\sigma z + (1 - \sigma) m$, and $\ln \sigma$.

    $\sigma = \varsigma(s)$, and $m$ and $s$ of a latent are a net with one hidden layer of the
    latents before it and of the context, so the Jacobian is triangular with $\sigma$ on its
    diagonal.
    """
    sees, hears = masks(z.shape[-1], hidden_bias.shape[-1], backwards=backwards, device=z.device)
    hidden = z @ (latent_weight * sees).mT + context @ context_weight.mT
    hidden = F.elu(hidden + hidden_bias.unsqueeze(-2))
    out = hidden @ (out_weight * hears.repeat(2, 1)).mT + out_bias.unsqueeze(-2)
    m, s = out.chunk(2, dim=-1)
    return s.sigmoid() * z + (-s).sigmoid() * m, F.logsigmoid(s)
