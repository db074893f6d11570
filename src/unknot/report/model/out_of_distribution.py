"""Inputs unlike the data: noise, an unseen shape and inverted colours, and what becomes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image, ImageDraw
from torch import Tensor

from unknot.core import noise
from unknot.report.model.latents import Latents, check_member, measure_latents, sample_rows
from unknot.report.model.traversals import REACH, column_names, decode, middle_row, title
from unknot.report.sheet import Row, pixels, sheet
from unknot.runs.run import Run

FLIPPED = (0.001, 0.01, 0.05)
"""Shares of pixels that noise inverts."""
POSITIONS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Where the moving latent stands, in standard deviations from its mean over the data."""
MEASURED = 64
"""Images that numbers are of."""
BRIGHT = 0.5
"""Pixels above this are the object."""
MOST_LATENTS = 10
"""Latents that full traversals show."""


def out_of_distribution_inputs(image: Float[Tensor, "c h w"]) -> dict[str, Float[Tensor, "c h w"]]:
    """An image in [0, 1], corrupted versions of it, and others unlike the data.

    Paper: Mushom 2020, section 5.6. The size and place of its triangle are not given; ours is
    a third as wide as the image and in its middle.

    Example:
        >>> inputs = out_of_distribution_inputs(torch.zeros(1, 64, 64))
        >>> [name for name in inputs], float(inputs["inverted"].mean())
        (['image', '0.1% flipped', '1% flipped', '5% flipped', 'triangle', 'inverted'], 1.0)
    """
    level = noise.uniform(0, "report", 3, *image.shape).to(image)
    flipped = {f"{share:.1%} flipped".replace(".0%", "%"): share for share in FLIPPED}
    return {
        "image": image,
        **{name: torch.where(level < share, 1 - image, image) for name, share in flipped.items()},
        "triangle": _triangle(*image.shape[-2:]).to(image).expand_as(image),
        "inverted": 1 - image,
    }


@dataclass(frozen=True)
class Outcome:
    """What becomes of one kind of input, on average over images of the data."""

    name: str
    iou: float
    """Intersection over union of the bright pixels of the reconstruction and of what it should be:
    the image without noise, else the input."""
    iou_sd: float
    """Over images; 0 for an input that is the same for all."""
    distance: float
    """Of its code from that of the image, where 1 is the mean distance of two images' codes."""

    @property
    def label(self) -> str:
        """The overlap for people."""
        return f"IoU {self.iou:.2f}" if np.isfinite(self.iou) else ""

    def row(self) -> dict[str, Any]:
        """As a line of a table."""
        return {"input": self.name, "iou": self.iou, "iou_sd": self.iou_sd,
                "code_distance": self.distance}  # fmt: skip


def out_of_distribution_outcomes(
    run: Run, member: int = 0, *, images: int = MEASURED
) -> list[Outcome]:
    """For each kind of input its overlap with the reconstruction, and how far its code is.

    Noise inverts the same pixels of all images.

    Args:
        run: The trained models.
        member: Which of them.
        images: How many of the data to corrupt.
    """
    check_member(run, member)
    rows = sample_rows(run, images)[:images]
    unit = run.dataset.unit(run.dataset.batch(rows))
    inputs = [out_of_distribution_inputs(image) for image in unit]
    own = _codes(run, unit, member)
    apart = torch.pdist(own.double()).mean()
    outcomes = []
    for name in inputs[0]:
        x = torch.stack([of_image[name] for of_image in inputs])
        codes = _codes(run, x, member)
        wanted = unit if name in ("image", *_flipped_names()) else x
        overlap = iou(_reconstructed(run, codes, member).to(wanted), wanted)
        distance = (codes - own).double().norm(dim=1).mean() / apart
        outcomes.append(Outcome(name, float(overlap.nanmean()), _sd(overlap), float(distance)))
    return outcomes


def iou(first: Float[Tensor, "n c h w"], second: Float[Tensor, "n c h w"]) -> Float[Tensor, " n"]:
    """Intersection over union of what is brighter than a half; NaN where both are dark.

    Example:
        >>> a = torch.tensor([1.0, 1.0, 0.0, 0.0]).reshape(1, 1, 2, 2)
        >>> b = torch.tensor([0.0, 0.9, 0.2, 0.0]).reshape(1, 1, 2, 2)
        >>> iou(a, b).tolist()
        [0.5]
    """
    one, two = (first > BRIGHT).flatten(1), (second > BRIGHT).flatten(1)
    return (one & two).sum(1) / (one | two).sum(1)


def _sd(values: Float[Tensor, " n"]) -> float:
    there = values[~values.isnan()]
    return float(there.std()) if len(there) > 1 else 0.0


def _flipped_names() -> list[str]:
    return [f"{share:.1%} flipped".replace(".0%", "%") for share in FLIPPED]


def _codes(run: Run, x: Float[Tensor, "n c h w"], member: int) -> Float[Tensor, "n z"]:
    """Codes of images in [0, 1]."""
    z = run.encode(run.dataset.standardize(x))
    return z.reshape(len(run.spec.seed_list), len(x), -1)[member]


def _decoded(run: Run, z: Float[Tensor, "n z"], member: int) -> Float[Tensor, "n c h w"]:
    return decode(run, z.expand(len(run.spec.seed_list), *z.shape))[member]


def _reconstructed(run: Run, z: Float[Tensor, "n z"], member: int) -> Float[Tensor, "n c h w"]:
    """Images in [0, 1] of codes."""
    return run.dataset.unit(_decoded(run, z, member))


def out_of_distribution_picture(
    run: Run,
    member: int = 0,
    *,
    row: int | None = None,
    outcomes: Sequence[Outcome] | None = None,
) -> UInt8[np.ndarray, "h w 3"]:
    """A row for each input: as it is, reconstructed, and with the most informative latent moved.

    Args:
        run: The trained models.
        member: Which of them.
        row: The image to corrupt; the middle of the grid by default.
        outcomes: Numbers beside the rows, if they are measured already.
    """
    check_member(run, member)
    latents = measure_latents(run)[member]
    inputs, latent = _inputs(run, row), latents.order[0]
    x = torch.stack([*inputs.values()])
    codes = _codes(run, x, member)
    columns = [
        pixels(run.dataset, run.dataset.standardize(x)),
        pixels(run.dataset, _decoded(run, codes, member)),
        *_moved(run, codes, latent, latents, member),
    ]
    outcomes = out_of_distribution_outcomes(run, member) if outcomes is None else outcomes
    rows = [
        Row((outcome.name, outcome.label), images, apart=i == 1)
        for i, (outcome, images) in enumerate(zip(outcomes, np.stack(columns, axis=1), strict=True))
    ]
    return sheet(
        rows,
        title=f"Out-of-distribution inputs: {title(run, member)}",
        columns=["input", "reconstruction", *column_names(POSITIONS)],
        note=f"An image of the data, corrupted versions of it, and images unlike the data: each "
        f"input, its reconstruction, and the decoded image while z{latent} moves from {REACH:g} "
        f"standard deviations below its mean to {REACH:g} above. IoU: overlap of bright pixels of "
        "the reconstruction with the image without noise, or with the input, mean over images.",
    )


def out_of_distribution_traversals(
    run: Run, member: int = 0, *, row: int | None = None
) -> UInt8[np.ndarray, "h w 3"]:
    """A block of rows for each input, in which one active latent after the other moves.

    Paper: Mushom 2020, figures 5.17 and 5.18.

    Args:
        run: The trained models.
        member: Which of them.
        row: The image to corrupt; the middle of the grid by default.
    """
    check_member(run, member)
    latents = measure_latents(run)[member]
    inputs = _inputs(run, row)
    x = torch.stack([*inputs.values()])
    codes = _codes(run, x, member)
    shown = pixels(run.dataset, run.dataset.standardize(x))
    moving = [z for z in latents.order if latents.used[z]][:MOST_LATENTS] or latents.order[:1]
    rows = []
    for i, name in enumerate(inputs):
        for rank, z in enumerate(moving):
            moved = _moved(run, codes[i : i + 1], z, latents, member)
            images = np.stack([shown[i], *(image for (image,) in moved)])
            rows.append(Row((name, f"z{z}"), images, apart=rank == 0 and i > 0))
    return sheet(
        rows,
        title=f"Traversals of inputs unlike the data: {title(run, member)}",
        columns=["input", *column_names(POSITIONS)],
        note="A block for each input, a row for each active latent: the code of the input, decoded "
        f"while the latent moves from {REACH:g} standard deviations below its mean to {REACH:g} "
        "above. Blocks that look alike: the model maps these inputs to the same code.",
    )


def _inputs(run: Run, row: int | None) -> dict[str, Float[Tensor, "c h w"]]:
    row = middle_row(run.dataset.space) if row is None else row
    return out_of_distribution_inputs(run.dataset.unit(run.dataset.batch(torch.tensor([row])))[0])


def _moved(
    run: Run, codes: Float[Tensor, "n z"], latent: int, latents: Latents, member: int
) -> list[UInt8[np.ndarray, "n h w 3"]]:
    """Decoded images with a latent at each of the positions."""
    images = []
    for place in POSITIONS:
        moved = codes.clone()
        moved[..., latent] = float(latents.mean[latent] + place * latents.sd[latent])
        images.append(pixels(run.dataset, _decoded(run, moved, member)))
    return images


def _triangle(height: int, width: int) -> Float[Tensor, "h w"]:
    """White on black."""
    canvas = Image.new("L", (width, height))
    middle, reach = (width / 2, height / 2), min(width, height) / 6
    corners = [(0, -reach), (reach, reach), (-reach, reach)]
    ImageDraw.Draw(canvas).polygon([(middle[0] + x, middle[1] + y) for x, y in corners], fill=1)
    return torch.from_numpy(np.asarray(canvas, dtype=np.float32).copy())
