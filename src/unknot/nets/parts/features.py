"""What a decoder computes on the way to its images."""

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
        return decoder_features(self.decoder, z)


def decoder_features(decoder: nn.Module, z: Tensor) -> tuple[Tensor, ...]:
    """The outputs of a decoder's activation functions, layer by layer.

    A decoder that is no ``nn.Sequential`` says itself what they are, by a method
    ``features(z)``.

    Example:
        >>> import torch
        >>> decoder = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 8))
        >>> [tuple(a.shape) for a in decoder_features(decoder, torch.zeros(4, 3))]
        [(4, 5)]
    """
    if callable(method := getattr(type(decoder), "features", None)):
        return tuple(method(decoder, z))
    if not isinstance(decoder, nn.Sequential):
        raise ConfigError(
            f"The objective reads activations of the decoder, and {type(decoder).__name__} does "
            "not say which: give it a method `features(z)` that returns them as a list of tensors."
        )
    places = [i for i, layer in enumerate(decoder) if isinstance(layer, ACTIVATIONS)]
    features = []
    for layer in [*decoder][: places[-1] + 1 if places else 0]:  # what is behind costs and is lost
        z = layer(z)
        if isinstance(layer, ACTIVATIONS):
            features.append(z)
    return tuple(features)
