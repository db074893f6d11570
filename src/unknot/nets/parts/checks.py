"""What every architecture refuses: its settings when it is made, a shape when it builds."""

from unknot.core.architecture import Shape
from unknot.core.errors import ConfigError, ShapeError


def check_latents(latents: int) -> None:
    """Refuse a net without latent dimensions.

    Raises:
        ConfigError: Fewer than one.
    """
    if latents < 1:
        raise ConfigError(f"net.latents must be at least 1; got {latents}.")


def check_image(net: str, image: Shape, *sides: int) -> None:
    """Refuse a shape of image that a net cannot take.

    Args:
        net: The net's name, for the message.
        image: Channels, height, width.
        sides: Sides of the square images that it takes; none means any size.

    Raises:
        ShapeError: Another size, or a dimension below one.
    """
    _, h, w = image
    if min(image) < 1 or (sides and (h != w or h not in sides)):
        sizes = " or ".join(f"{side} x {side}" for side in sides) or "one or more"
        advice = "Resize them, or take a net for any size: ozcan_mlp, linear." if sides else ""
        raise ShapeError(
            f"{net} takes images with one or more channels of {sizes} pixels; "
            f"got (channels, height, width) = {tuple(image)}. {advice}".rstrip()
        )
