"""What a module computes on the way to its outputs."""

from torch import Tensor, nn

from unknot.core.errors import ConfigError

ACTIVATIONS = (nn.ReLU, nn.LeakyReLU, nn.Tanh, nn.Sigmoid, nn.ELU, nn.SiLU, nn.GELU)


class Features(nn.Module):
    """A decoder that gives its activations in place of its images."""

    def __init__(self, decoder: nn.Module) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, z: Tensor) -> tuple[Tensor, ...]:
        """Codes ``[n, z]`` to activations ``[n, ...]``."""
        return layer_outputs(self.decoder, z)


def layer_outputs(module: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
    """The outputs of the activation functions of a decoder or an encoder, layer by layer.

    A module that is no ``nn.Sequential`` says itself what they are, by a method ``features(x)``.

    Example:
        >>> import torch
        >>> decoder = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 8))
        >>> [tuple(a.shape) for a in layer_outputs(decoder, torch.zeros(4, 3))]
        [(4, 5)]
    """
    if callable(method := getattr(type(module), "features", None)):
        return tuple(method(module, x))
    if not isinstance(module, nn.Sequential):
        raise ConfigError(
            f"The objective reads activations of a module, and {type(module).__name__} does "
            "not say which: give it a method `features(x)` that returns them as a list of tensors."
        )
    places = [i for i, layer in enumerate(module) if isinstance(layer, ACTIVATIONS)]
    features = []
    for layer in [*module][: places[-1] + 1 if places else 0]:  # what is behind costs and is lost
        x = layer(x)
        if isinstance(layer, ACTIVATIONS):
            features.append(x)
    return tuple(features)
