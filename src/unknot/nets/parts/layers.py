"""What architectures share: refusals, layers with a ReLU between each two, convolutional stacks."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TypeAlias

from torch import nn

from unknot.core import registry
from unknot.core.architecture import Shape
from unknot.core.border import check_type, check_whole
from unknot.core.errors import ConfigError, ShapeError

MOST_LATENTS = 1_000_000


def check_latents(latents: int) -> None:
    """Refuse a net without latent dimensions, or with more than any machine holds."""
    check_whole("net.latents", latents, 1, MOST_LATENTS)


def check_hidden(hidden: Sequence[int]) -> None:
    """Refuse hidden layers without units."""
    check_type("net.hidden", hidden, tuple, list)
    for width in hidden:
        check_type("A width of net.hidden", width, int)
    if any(width < 1 for width in hidden):
        raise ConfigError(f"net.hidden must be widths of 1 or more; got {list(hidden)}.")


Sides: TypeAlias = Sequence[int] | tuple[range, range]
"""Sides of the square images that a net takes; none means any size, a range that height and width
may each be any of it, and two ranges that these are for height and width."""


def check_image(net: str, image: Shape, sides: Sides) -> None:
    """Refuse a shape of image that a net cannot take.

    Args:
        net: The net's name, for the message.
        image: Channels, height, width.
        sides: Of the images that it takes.
    """
    if min(image) >= 1 and _fits(image, sides):
        return
    if ranges := _ranges(sides):
        sizes = " by ".join(
            f"{some[0]} to {some[-1]}" if len(some) > 1 else f"{some[0]}" for some in ranges
        )
    else:
        sizes = " or ".join(f"{side} x {side}" for side in sides) or "one or more"
    others = ", ".join(_nets_for(image))
    advice = f"Resize them, or choose a net that takes them: {others}." if sides else ""
    raise ShapeError(
        f"{net} takes images with one or more channels of {sizes} pixels; "
        f"got (channels, height, width) = {tuple(image)}. {advice}".rstrip()
    )


def _ranges(sides: Sides) -> tuple[range, ...]:
    """Of height and width, where these may differ."""
    ranges = (sides, sides) if isinstance(sides, range) else sides
    return tuple(some for some in ranges if isinstance(some, range))


def _fits(image: Shape, sides: Sides) -> bool:
    _, h, w = image
    if ranges := _ranges(sides):
        return h in ranges[0] and w in ranges[1]
    return not sides or (h == w and h in sides)


def _nets_for(image: Shape) -> list[str]:
    """Nets that say that they take images of a shape, those for any shape last."""
    nets: dict[str, Sides] = {}
    for name in registry.names("nets"):
        with suppress(ConfigError, AttributeError):  # another package's net need not say it
            nets[name] = registry.get("nets", name).sides
    return sorted((n for n in nets if _fits(image, nets[n])), key=lambda n: not nets[n])


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


def conv_encoder(
    image: Shape,
    latents: int,
    *,
    channels: Sequence[int],
    hidden: Sequence[int],
    kernels: Sequence[int] | None = None,
) -> nn.Sequential:
    """Convolutions that halve the image, then linear layers to means and log-variances."""
    convolutions = [
        down(*sizes, kernel)
        for sizes, kernel in zip(
            pairwise((image[0], *channels)), kernels or (4,) * len(channels), strict=True
        )
    ]
    features = channels[-1] * (image[1] >> len(channels)) * (image[2] >> len(channels))
    widths = (features, *hidden, 2 * latents)
    return with_relus(*convolutions, nn.Flatten(), *(nn.Linear(*w) for w in pairwise(widths)))


def conv_decoder(
    image: Shape, latents: int, *, channels: Sequence[int], hidden: Sequence[int]
) -> nn.Sequential:
    """The way back: linear layers, then transposed convolutions that double the image."""
    h, w = image[1] >> len(channels), image[2] >> len(channels)
    widths = (latents, *hidden[::-1], channels[-1] * h * w)
    return with_relus(
        *(nn.Linear(*w) for w in pairwise(widths)),
        nn.Unflatten(1, (channels[-1], h, w)),
        *(up(*sizes) for sizes in pairwise((*channels[::-1], image[0]))),
    )
