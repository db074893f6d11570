"""What every architecture refuses: its settings when it is made, a shape when it builds."""

from collections.abc import Sequence
from contextlib import suppress

from unknot.core import registry
from unknot.core.architecture import Shape
from unknot.core.errors import ConfigError, ShapeError


def check_latents(latents: int) -> None:
    """Refuse a net without latent dimensions."""
    if latents < 1:
        raise ConfigError(f"net.latents must be at least 1; got {latents}.")


def check_image(net: str, image: Shape, sides: Sequence[int]) -> None:
    """Refuse a shape of image that a net cannot take.

    Args:
        net: The net's name, for the message.
        image: Channels, height, width.
        sides: Sides of the square images that it takes; none means any size.
    """
    if min(image) >= 1 and _fits(image, sides):
        return
    sizes = " or ".join(f"{side} x {side}" for side in sides) or "one or more"
    others = ", ".join(_nets_for(image))
    advice = f"Resize them, or choose a net that takes them: {others}." if sides else ""
    raise ShapeError(
        f"{net} takes images with one or more channels of {sizes} pixels; "
        f"got (channels, height, width) = {tuple(image)}. {advice}".rstrip()
    )


def _fits(image: Shape, sides: Sequence[int]) -> bool:
    _, h, w = image
    return not sides or (h == w and h in sides)


def _nets_for(image: Shape) -> list[str]:
    """Nets that say that they take images of a shape, those for any shape last."""
    nets: dict[str, Sequence[int]] = {}
    for name in registry.names("nets"):
        with suppress(ConfigError, AttributeError):  # another package's net need not say it
            nets[name] = registry.get("nets", name).sides
    return sorted((n for n in nets if _fits(image, nets[n])), key=lambda n: not nets[n])
