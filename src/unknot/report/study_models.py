"""Pictures of models of a study: of each objective one that stands for its best setting."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import UInt8

from unknot.core.errors import UnknotError
from unknot.data.draw_singles import check_factors
from unknot.metrics.plain_table import numbers
from unknot.metrics.traversal_distances import mean_matrices
from unknot.report import distances, pictures, traversals
from unknot.report.html import data_uri
from unknot.report.latents import latents, sample_rows
from unknot.report.sheet import enlargement, pixels, tiles
from unknot.report.study_blocks import Shown
from unknot.report.study_latents import aggregate_histograms, posterior_densities, posteriors
from unknot.report.study_style import Drawn
from unknot.report.style import png
from unknot.study.cells import Cell, has_diverged, taken
from unknot.study.ranking import LOWER
from unknot.study.run import Run

AVERAGED = 512
"""Images and samples of a mean image."""
WALKS = 8
"""Traversals of each factor behind a distance matrix."""

Keep = Callable[[str, Drawn], Shown]
"""Writes a figure's files and gives what the page shows of it."""


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
    sign = -1.0 if score in LOWER else 1.0
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


def shown(run: Run, name: str, title: str, keep: Keep) -> dict[str, Any]:
    """Everything that the page has of one model.

    Args:
        run: A run of one seed.
        name: Start of the names of its files.
        title: Whose figures they are.
        keep: Takes the figures.
    """
    (found,) = latents(run)
    names = run.dataset.space.names
    still = traversals.sweep(run, [found], traversals.still_positions())[0]
    moving = traversals.sweep(run, [found], traversals.loop_positions())[0]
    seen = posteriors(run)
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
        "pairs": _tiles(with_differences(run)),
        "draws": _tiles(_rows(pictures.draws(run, n=3 * pictures.ACROSS), 3)),
        "means": _tiles(mean_images(run)[None]),
        "figures": [
            keep(f"{name}-posteriors", posterior_densities(seen, title=f"Posteriors, {title}")),
            keep(f"{name}-aggregate", aggregate_histograms(seen, title=f"All codes, {title}")),
            *_distances(run, name, title, keep),
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


def _distances(run: Run, name: str, title: str, keep: Keep) -> list[Shown]:
    """Distance matrices along factors, where the data has factors to go along."""
    try:
        check_factors(run.dataset, "Distances along factors")
        found = mean_matrices(distances.run_sources(run), run.dataset.space, traversals=WALKS)
    except UnknotError:
        return []
    figure = distances.matrices_figure(
        found,
        title=f"Mean distances along each factor, {title}",
        lines=distances.captions(distances.own_loss(run)),
    )
    rows = [
        {"factor": factor, "source": source, "first": u, "second": v, "distance": float(value)}
        for factor, own in found.items()
        for source, matrix in own.items()
        for (u, v), value in np.ndenumerate(matrix.numpy())
    ]
    return [keep(f"{name}-distances", Drawn(figure, rows))]


def _rows(images: UInt8[np.ndarray, "n h w 3"], down: int) -> UInt8[np.ndarray, "r k h w 3"]:
    return images.reshape(down, -1, *images.shape[1:])


def _tiles(images: UInt8[np.ndarray, "r k h w 3"]) -> str:
    return data_uri(png(tiles(images, scale=enlargement(images.shape[2]))))


def _loop(images: UInt8[np.ndarray, "t h w 3"]) -> str:
    scale = enlargement(images.shape[1])
    large = images.repeat(scale, axis=1).repeat(scale, axis=2)
    return data_uri(traversals.gif(traversals.there_and_back(large), ms=traversals.FRAME_MS), "gif")
