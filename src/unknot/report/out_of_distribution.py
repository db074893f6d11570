"""Reconstructions of inputs unlike the data: noise, a new shape, inverted colours."""

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image, ImageDraw
from torch import Tensor

from unknot.core import noise
from unknot.report.latents import check_member, measure_latents
from unknot.report.sheet import Row, pixels, sheet
from unknot.report.traversals import decode, middle_row, title
from unknot.study.run import Run

FLIPPED = (0.001, 0.01, 0.05)
"""Shares of pixels that noise inverts."""
POSITIONS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Where the moving latent stands, in standard deviations from its mean over the data."""


def out_of_distribution_inputs(image: Float[Tensor, "c h w"]) -> dict[str, Float[Tensor, "c h w"]]:
    """An image in [0, 1], corrupted versions of it, and others unlike the data.

    Paper: Mushom 2020, section 5.6. The size and place of its triangle are not given; ours is
    a third as wide as the image and in its middle.

    Example:
        >>> inputs = out_of_distribution_inputs(torch.zeros(1, 64, 64))
        >>> [name for name in inputs], float(inputs["inverted"].mean())
        (['image', '0.1% flipped', '1% flipped', '5% flipped', 'triangle', 'inverted'], 1.0)
    """
    draw = noise.uniform(0, "report", 3, *image.shape).to(image)
    flipped = {f"{share:.1%} flipped".replace(".0%", "%"): share for share in FLIPPED}
    return {
        "image": image,
        **{name: torch.where(draw < share, 1 - image, image) for name, share in flipped.items()},
        "triangle": _triangle(*image.shape[-2:]).to(image).expand_as(image),
        "inverted": 1 - image,
    }


def out_of_distribution_picture(
    run: Run, member: int = 0, *, row: int | None = None
) -> UInt8[np.ndarray, "h w 3"]:
    """A row for each input: as it is, reconstructed, and with the most informative latent moved.

    Args:
        run: The trained models.
        member: Which of them.
        row: The image to corrupt; the middle of the grid by default.
    """
    check_member(run, member)
    latents = measure_latents(run)[member]
    row = middle_row(run.dataset.space) if row is None else row
    image = run.dataset.unit(run.dataset.batch(torch.tensor([row])))[0]
    inputs = out_of_distribution_inputs(image)
    x = run.dataset.standardised(torch.stack([*inputs.values()]))
    codes = run.encode(x).reshape(len(run.spec.seed_list), len(inputs), -1)
    latent = latents.order[0]
    columns = [pixels(run.dataset, x), pixels(run.dataset, decode(run, codes)[member])]
    for place in POSITIONS:
        moved = codes.clone()
        moved[..., latent] = float(latents.mean[latent] + place * latents.sd[latent])
        columns.append(pixels(run.dataset, decode(run, moved)[member]))
    rows = [
        Row((name,), images, apart=i == 1)
        for i, (name, images) in enumerate(zip(inputs, np.stack(columns, axis=1), strict=True))
    ]
    places = [f"{p:+g}σ".replace("-", "−") if p else "mean" for p in POSITIONS]
    return sheet(
        rows,
        title=f"Out-of-distribution inputs: {title(run, member)}",
        columns=["input", "reconstruction", *places],
        note=f"An image of the data, corrupted versions of it, and images unlike the data: each "
        f"input, its reconstruction, and the decoded image while z{latent} moves from 2 standard "
        "deviations below its mean to 2 above.",
    )


def _triangle(height: int, width: int) -> Float[Tensor, "h w"]:
    """White on black."""
    canvas = Image.new("L", (width, height))
    middle, reach = (width / 2, height / 2), min(width, height) / 6
    corners = [(0, -reach), (reach, reach), (-reach, reach)]
    ImageDraw.Draw(canvas).polygon([(middle[0] + x, middle[1] + y) for x, y in corners], fill=1)
    return torch.from_numpy(np.asarray(canvas, dtype=np.float32).copy())
