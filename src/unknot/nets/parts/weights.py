r"""Initial weights as a pure function of a run's seed.

A parameter's numbers come from the stream ``init/<its name>``, so they depend on the seed, the name
and the shape, and on nothing that is drawn or trained beside them. The rules, by the fans of a
layer's weight:

| rule | weights | biases |
|---|---|---|
| torch | uniform within $1/\sqrt{\text{in}}$, the default of PyTorch | as the weights |
| glorot | uniform within $\sqrt{6/(\text{in}+\text{out})}$ (Glorot and Bengio 2010) | zero |
| kaiming | normal of variance $2/\text{in}$ (He et al. 2015) | zero |

Fans are counted as PyTorch counts them: second and first dimension of the weight, each times the
receptive field. For a transposed convolution, whose weight is stored ``[in, out, k, k]``, that
makes "in" the output's channels times the kernel. An output is in truth a sum of
``in * k * k / stride**2`` terms, but the models that papers trained in PyTorch started this way. To
``glorot``, which only sees the sum of the fans, the order is all one.

Normalisation layers start as the identity. Any other parameter counts as a weight if it has two
dimensions or more, and starts at zero if it has fewer.
"""

import math
from typing import get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from unknot.core import noise
from unknot.core.architecture import Architecture, Init, Shape
from unknot.core.errors import ConfigError
from unknot.core.registry import nearest

NORMS = (
    *(nn.LayerNorm, nn.RMSNorm, nn.GroupNorm),
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d),
    *(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
)
RANDOM = (
    *(nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d),
    *(nn.AlphaDropout, nn.FeatureAlphaDropout, nn.RReLU),
)


def initial_weights(
    arch: Architecture,
    image: Shape,
    seeds: Int[Tensor, " p"],
    *,
    dtype: torch.dtype = torch.float32,
) -> dict[str, Float[Tensor, "p ..."]]:
    """Weights of encoder and decoder, one row for each seed, on the seeds' device.

    Args:
        arch: The architecture; its ``init`` names the rule.
        image: Channels, height, width.
        seeds: One for each member of the population.
        dtype: Type of the weights; another type changes their rounding and nothing else.

    Returns:
        Values by name, ``encoder.<parameter>`` and then ``decoder.<parameter>``.

    Example:
        >>> from unknot.nets.linear import Linear
        >>> weights = initial_weights(Linear(latents=2), (1, 4, 4), torch.tensor([7, 8]))
        >>> list(weights)
        ['encoder.1.weight', 'encoder.1.bias', 'decoder.0.weight', 'decoder.0.bias']
        >>> weights["encoder.1.weight"].shape
        torch.Size([2, 4, 16])
    """
    with torch.device("meta"):  # shapes only: neither memory nor the global generator is touched
        encoder, decoder = arch.encoder(image), arch.decoder(image)
    return {
        **initialize(encoder, "encoder", arch.init, seeds, head=arch.latents, dtype=dtype),
        **initialize(decoder, "decoder", arch.init, seeds, dtype=dtype),
    }


def initialize(
    module: nn.Module,
    prefix: str,
    rule: Init,
    seeds: Int[Tensor, " p"],
    *,
    head: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> dict[str, Float[Tensor, "p ..."]]:
    """Initial weights of any module, one row for each seed, on the seeds' device.

    Args:
        module: Only its names, shapes and kinds of layer are read; it may live on ``meta``.
        prefix: Put before each name, with a dot; part of the stream.
        rule: How to draw: one of the three above.
        seeds: One for each member of the population.
        head: Outputs of each of the layers that the last ``nn.Linear`` holds side by side.
        dtype: Type of the weights; another type changes their rounding and nothing else.
    """
    if rule not in get_args(Init):
        raise ConfigError(f"There is no init '{rule}'{nearest(rule, list(get_args(Init)))}")
    if buffers := [name for name, _ in module.named_buffers()]:
        raise ConfigError(
            f"The {prefix} has buffers ({', '.join(buffers)}); only parameters are kept. "
            "Use layers without running statistics, such as LayerNorm in place of BatchNorm."
        )
    if chance := [type(layer).__name__ for layer in module.modules() if isinstance(layer, RANDOM)]:
        raise ConfigError(
            f"The {prefix} has layers that draw at random ({', '.join(chance)}), not by the run's "
            "seed; leave them out."
        )
    last = [layer for layer in module.modules() if isinstance(layer, nn.Linear)][-1:]
    weights = {}
    for name, parameter in module.named_parameters():
        owner_name, _, leaf = name.rpartition(".")
        owner = module.get_submodule(owner_name)
        # Whose fans count: the parameter's own, or for PyTorch's biases those of their weight.
        torch_bias = leaf == "bias" and rule == "torch"
        by = getattr(owner, "weight", parameter) if torch_bias else parameter
        if by.ndim < 2 or isinstance(owner, NORMS):
            start = float(leaf == "weight" and isinstance(owner, NORMS))
            value = torch.full((len(seeds), *parameter.shape), start, device=seeds.device)
        else:
            fan_in, fan_out = fans(by)
            # A mean and a log-variance layer merged into one have their own fan-out each, and the
            # merged layer starts as the two would. Of the three rules only Glorot's can tell.
            if head is not None and owner in last:
                fan_out = min(fan_out, head)
            value = draw_weights(
                rule, seeds, f"init/{prefix}.{name}", parameter.shape, fan_in, fan_out
            )
        weights[f"{prefix}.{name}"] = value.to(dtype)
    return weights


def fans(weight: Tensor) -> tuple[int, int]:
    """Fan-in and fan-out of a layer by its weight, as PyTorch counts them.

    Example:
        >>> fans(torch.empty(8, 3, 4, 4))
        (48, 128)
    """
    field = math.prod(weight.shape[2:])
    return weight.shape[1] * field, weight.shape[0] * field


def draw_weights(
    rule: Init, seeds: Tensor, stream: str, shape: torch.Size, fan_in: int, fan_out: int
) -> Tensor:
    """In float64, so that precision changes rounding and nothing else."""
    if rule == "kaiming":
        z = noise.normal(seeds, stream, 0, *shape, dtype=torch.float64)
        return z * math.sqrt(2 / fan_in)
    bound = math.sqrt(6 / (fan_in + fan_out)) if rule == "glorot" else math.sqrt(1 / fan_in)
    u = noise.uniform(seeds, stream, 0, *shape, dtype=torch.float64)
    return (2 * u - 1) * bound
