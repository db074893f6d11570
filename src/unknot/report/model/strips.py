"""Strips: what moves with each latent, one picture for each."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8
from matplotlib.figure import Figure

from unknot.report.model import column_figures, signal_figures, traversals
from unknot.report.model.columns import measure_columns
from unknot.report.model.latents import Latents
from unknot.report.sheet import enlargement, tiles
from unknot.runs.run import Run


def strips(
    run: Run,
    latents: Sequence[Latents],
    member: int = 0,
    *,
    most: int | None = None,
    size: float = 1.0,
) -> "list[Figure | UInt8[np.ndarray, 'height width 4']]":
    """Of the most informative latents, images in a row, signals over each other, or columns.

    Args:
        run: The trained models.
        latents: From `measure_latents`, one for each model.
        member: Which model.
        most: Of how many latents; all when None.
        size: Of images, where 1 is that of a page.
    """
    latent = latents[member]
    order = latent.order[:most]
    if run.dataset.noun == "rows":
        changes = measure_columns(run, latents, member)
        return [column_figures.strip_figure(changes, z, used=bool(latent.used[z])) for z in order]
    if run.dataset.noun == "signals":
        steps = traversals.decoded_sweep(run, latents, traversals.STILL, members=(member,))
        return [
            signal_figures.strip_figure(run.dataset, decoded[0], used=bool(latent.used[z]))
            for z, decoded in zip(order, steps, strict=False)
        ]
    images = traversals.sweep(run, latents, traversals.STILL, members=(member,))[0]
    scale = max(1, int(size * enlargement(images)))
    return [tiles(row[None], scale=scale) for row in images[:most]]
