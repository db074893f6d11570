"""Layers one after the other, with a ReLU between each two that have weights."""

from torch import nn


def with_relus(*layers: nn.Module) -> nn.Sequential:
    """The layers in order; a ReLU follows each layer with weights but the last of them.

    Example:
        >>> with_relus(nn.Linear(4, 3), nn.Linear(3, 2), nn.Unflatten(1, (1, 2)))
        Sequential(
          (0): Linear(in_features=4, out_features=3, bias=True)
          (1): ReLU()
          (2): Linear(in_features=3, out_features=2, bias=True)
          (3): Unflatten(dim=1, unflattened_size=(1, 2))
        )
    """
    weighted = [any(True for _ in layer.parameters()) for layer in layers]
    last = len(weighted) - 1 - weighted[::-1].index(True)
    sequence: list[nn.Module] = []
    for place, layer in enumerate(layers):
        sequence.append(layer)
        if weighted[place] and place != last:
            sequence.append(nn.ReLU())
    return nn.Sequential(*sequence)


def down(channels: int, out: int, kernel: int = 4) -> nn.Conv2d:
    """A convolution that halves the side of an image; kernels of 2 or 4."""
    return nn.Conv2d(channels, out, kernel, stride=2, padding=kernel // 2 - 1)


def up(channels: int, out: int) -> nn.ConvTranspose2d:
    """A transposed convolution that doubles the side of an image."""
    return nn.ConvTranspose2d(channels, out, 4, stride=2, padding=1)
