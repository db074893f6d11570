"""Pictures of models of a study: of each objective one that stands for its best setting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import UInt8

from unknot.analysis.cells import Cell, has_diverged, taken
from unknot.analysis.plain_table import numbers
from unknot.metrics import lower_is_better
from unknot.report import pictures, traversals
from unknot.report.html import data_uri
from unknot.report.latents import Latents, latents, sample_rows
from unknot.report.sheet import enlargement, pixels, tiles
from unknot.report.study_blocks import FigureFolder, Try
from unknot.report.study_covariance import covariance_maps
from unknot.report.study_ellipses import posterior_ellipses
from unknot.report.study_factors import along_factors, latent_shares
from unknot.report.study_latents import aggregate_histograms, posterior_densities, posteriors
from unknot.report.style import png
from unknot.study.run import Run

GLOW = 16
"""At most so many times as bright is a picture shown."""
AVERAGED = 512
"""Images and samples of a mean image."""


@dataclass(frozen=True)
class Chosen:
    """A run that stands for an objective."""

    cell: Cell
    id: str
    seed: int
    value: float


def chosen(cells: Sequence[Cell], score: str) -> list[Chosen]:
    """For each objective, of the setting with the best mean the run in the middle of its seeds.

    Of an even number, the worse of the two in the middle.
    """
    sign = -1.0 if lower_is_better(score) else 1.0
    best: dict[str, Cell] = {}
    for cell in cells:
        mean = _mean(cell, score)
        held = best.get(cell.objective)
        if mean == mean and (held is None or sign * mean > sign * _mean(held, score)):
            best[cell.objective] = cell
    return [_median(cell, score, sign) for cell in best.values()]


def _mean(cell: Cell, score: str) -> float:
    values = taken(cell.runs, score).values
    return float(values.mean()) if len(values) else float("nan")


def _median(cell: Cell, score: str, sign: float) -> Chosen:
    values, lost = numbers(cell.runs, score), has_diverged(cell.runs)
    there = [
        i
        for i, status in enumerate(cell.runs["status"])
        if status == "done" and not lost[i] and not np.isnan(values[i])
    ]
    there.sort(key=lambda i: sign * values[i])
    i = there[(len(there) - 1) // 2]
    return Chosen(cell, str(cell.runs["id"][i]), int(cell.runs["seed"][i]), float(values[i]))


def shown(
    run: Run, name: str, title: str, figure_folder: FigureFolder, keep: Try
) -> dict[str, Any]:
    """Everything that the page has of one model; pictures are files as well.

    Args:
        run: A run of one seed.
        name: Start of the names of its files.
        title: Whose figures they are.
        figure_folder: Takes figures and pictures.
        keep: Takes a figure that not all data has.
    """
    (found,) = latents(run)
    names = run.dataset.space.names
    still = traversals.sweep(run, [found], traversals.still_positions())[0]
    moving = traversals.sweep(run, [found], traversals.loop_positions())[0]
    seen = posteriors(run)
    pairs, means = with_differences(run), mean_images(run)[None]
    glow = brighter(means)
    draws = _rows(pictures.draws(run, n=3 * pictures.ACROSS), 3)
    figure_folder.file(
        f"{name}-traversals.png", png(traversals.traversal_picture(run, found=[found]))
    )
    figure_folder.file(f"{name}-traversals.gif", traversals.traversal_gif(run, found=[found]))
    figure_folder.table(f"{name}-latents", _latents(found, names))
    for what, images in (("reconstructions", pairs), ("samples", draws), ("means", means * glow)):
        figure_folder.file(f"{name}-{what}.png", png(_table(images)))
    return {
        "used": int(found.used.sum()),
        "latents": [
            {
                "name": f"z{z}",
                "kl": f"{found.kl[z]:.2f}",
                "used": bool(found.used[z]),
                "factor": traversals.main_factor(found, z, names),
                "strip": _tiles(still[rank][None]),
                "loop": _loop(moving[rank]) if found.used[z] else None,
            }
            for rank, z in enumerate(found.order)
        ],
        "pairs": _tiles(pairs),
        "draws": _tiles(draws),
        "means": _tiles(means * glow),
        "glow": int(glow),
        "shares": keep(f"{name}-factors", lambda: latent_shares(run, found, title)),
        "figures": [
            figure_folder.add(
                f"{name}-posteriors", posterior_densities(seen, title=f"Posteriors, {title}")
            ),
            figure_folder.add(
                f"{name}-aggregate", aggregate_histograms(seen, title=f"All codes, {title}")
            ),
            *keep(
                f"{name}-ellipses",
                lambda: posterior_ellipses(seen, title=f"Two latents, {title}"),
            ),
            figure_folder.add(
                f"{name}-covariances", covariance_maps(seen, title=f"Covariances, {title}")
            ),
            *(
                figure_folder.add(f"{name}-{end}", drawn)
                for end, drawn in along_factors(run, title)
            ),
        ],
    }


def with_differences(run: Run, n: int = pictures.ACROSS) -> UInt8[np.ndarray, "3 n h w 3"]:
    """Images, their reconstructions, and how far each pixel is off."""
    image, model = pictures.pairs(run, n=n)
    off = np.abs(image.astype(np.int16) - model).astype(np.uint8)
    return np.stack([image, model, off])


def mean_images(run: Run) -> UInt8[np.ndarray, "3 h w 3"]:
    """Means of images of the dataset, and of draws from the prior decoded; and their difference."""
    rows = sample_rows(run, AVERAGED)[:AVERAGED]
    data = pixels(run.dataset, run.dataset.batch(rows)).mean(0)
    drawn = pictures.draws(run, n=AVERAGED).mean(0)
    return np.stack([data, drawn, np.abs(data - drawn)]).round().astype(np.uint8)


def brighter(images: UInt8[np.ndarray, "..."]) -> np.uint8:
    """The whole number that makes dark images as bright as can be: means of sparse ones are.

    Example:
        >>> int(brighter(np.array([3, 60], np.uint8))), int(brighter(np.array([0], np.uint8)))
        (4, 1)
    """
    return np.uint8(min(GLOW, 255 // int(images.max()))) if images.any() else np.uint8(1)


def _latents(found: Latents, names: Sequence[str]) -> list[dict[str, Any]]:
    """What is known of each latent, the most informative first."""
    return [
        {
            "latent": f"z{z}",
            "kl": float(found.kl[z]),
            "active": bool(found.used[z]),
            "mean": float(found.mean[z]),
            "sd": float(found.sd[z]),
            "factor": traversals.main_factor(found, z, names),
        }
        for z in found.order
    ]


def _rows(images: UInt8[np.ndarray, "n h w 3"], down: int) -> UInt8[np.ndarray, "r k h w 3"]:
    return images.reshape(down, -1, *images.shape[1:])


def _tiles(images: UInt8[np.ndarray, "r k h w 3"]) -> str:
    return data_uri(png(_table(images)))


def _table(images: UInt8[np.ndarray, "r k h w 3"]) -> UInt8[np.ndarray, "height width 4"]:
    return tiles(images, scale=enlargement(images.shape[2]))


def _loop(images: UInt8[np.ndarray, "t h w 3"]) -> str:
    scale = enlargement(images.shape[1])
    large = images.repeat(scale, axis=1).repeat(scale, axis=2)
    return data_uri(traversals.gif(traversals.there_and_back(large), ms=traversals.FRAME_MS), "gif")
