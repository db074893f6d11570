"""Pictures between two images: interpolation of their codes, and codes with latents exchanged."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from unknot.core.border import check_whole
from unknot.core.errors import ConfigError, ShapeError
from unknot.report.model.traversals import decode, title
from unknot.report.sheet import Row, pixels, sheet
from unknot.runs.inputs import as_images
from unknot.runs.run import Run

STEPS = 9
MOST_STEPS = 1_000


def image_of(run: Run, source: Any) -> Float[Tensor, "1 c h w"]:
    """An image of the dataset by its row, or one that is given."""
    image = source if isinstance(source, Tensor | np.ndarray) else np.asarray(source)
    if image.ndim:
        images = as_images(image[None] if image.ndim < 4 else image, run.dataset)
        if len(images) != 1:
            raise ShapeError(f"Expected one image; got {len(images)}. Choose one: images[:1].")
        return images
    if not run.has_data:
        raise ConfigError("The run's data is not here; give images instead of rows.")
    rows = len(run.dataset)
    return run.dataset[check_whole("The number of a row", source, -rows, rows - 1)][None]


def interpolation(
    run: Run, a: Any, b: Any, *, steps: int = STEPS, other: Run | None = None
) -> UInt8[np.ndarray, "h w 3"]:
    """Two images, and what each member decodes on the straight line between their codes.

    Args:
        run: The trained models.
        a: The first image, or its row.
        b: The second.
        steps: Columns, the two ends counted.
        other: More models of such images, whose rows come below.

    Raises:
        ConfigError: The other models are of images of another shape.
    """
    steps = check_whole("steps", steps, 2, MOST_STEPS)
    runs = [run] if other is None else [run, other]
    shapes = [tuple(one.dataset.shape) for one in runs]
    if shapes[0] != shapes[-1]:
        raise ConfigError(
            f"Both runs must be of images of one shape; got {shapes[0]} and {shapes[-1]}."
        )
    ends = torch.cat([image_of(run, a), image_of(run, b)])
    rows = [Row(("images",), pixels(run.dataset, ends))]
    for one in runs:
        for p, images in enumerate(_between(one, ends, steps)):
            rows.append(Row(_lines(one, p, beside=len(runs) > 1), images, apart=p == 0))
    note = "Images decoded from points on the straight line between the codes of two images."
    heading = " beside ".join(title(one, 0) for one in runs)
    return sheet(rows, title=f"Interpolation: {heading}", note=note)


def _between(
    run: Run, ends: Float[Tensor, "2 c h w"], steps: int
) -> UInt8[np.ndarray, "p steps h w 3"]:
    """What each member decodes on the line between two images."""
    codes = run.encode(ends).reshape(len(run.spec.seed_list), 2, -1)
    share = torch.linspace(0, 1, steps, dtype=codes.dtype, device=codes.device)[:, None]
    return pixels(run.dataset, decode(run, codes[:, :1] * (1 - share) + codes[:, 1:] * share))


def _lines(run: Run, member: int, *, beside: bool) -> tuple[str, ...]:
    """The text of a member's row: its objective where there are several, its seed likewise."""
    seeds = run.spec.seed_list
    name = (run.spec.objective.name,) if beside else ()
    seed = (f"seed {seeds[member]}",) if len(seeds) > 1 else ()
    return (*name, *seed) or ("decoded",)


def exchange(run: Run, a: Any, b: Any, latents: Sequence[int]) -> UInt8[np.ndarray, "h w 3"]:
    """Two images, their reconstructions, and those with some latents exchanged.

    Args:
        run: The trained models; the first is shown.
        a: The first image, or its row.
        b: The second.
        latents: Numbers of the latents to exchange.
    """
    most = run.spec.net.settings.latents - 1
    latents = [check_whole("The number of a latent", z, 0, most) for z in latents]
    if not latents:
        raise ConfigError(f"Name one or more latents to exchange, from 0 to {most}; got none.")
    ends = torch.cat([image_of(run, a), image_of(run, b)])
    codes = run.encode(ends).reshape(len(run.spec.seed_list), 2, -1)
    mixed = codes.clone()
    mixed[..., latents] = codes.flip(1)[..., latents]
    names = ", ".join(f"z{z}" for z in latents)
    columns = [pixels(run.dataset, ends)]
    columns += [pixels(run.dataset, decode(run, z)[0]) for z in (codes, mixed)]
    table = np.stack(columns, axis=1)
    rows = [Row((name,), images) for name, images in zip(("a", "b"), table, strict=True)]
    return sheet(
        rows,
        title=f"Exchange of {names}: {title(run, 0)}",
        columns=["image", "decoded", "exchanged"],
        note=f"The third column has {names} of the other image.",
    )
