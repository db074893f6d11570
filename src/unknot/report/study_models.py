"""Pictures of models of a study: of each objective one that stands for its best setting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unknot.analysis.configurations import Configuration, has_diverged
from unknot.analysis.plain_table import numbers
from unknot.metrics import lower_is_better
from unknot.report import traversals
from unknot.report.latents import Latents, measure_latents
from unknot.report.model_card import model_card
from unknot.report.study_blocks import FigureFolder, FigureKeeper
from unknot.report.study_covariance import covariance_maps
from unknot.report.study_factors import along_factors, latent_shares
from unknot.report.study_latents import (
    aggregate_histograms,
    measure_posteriors,
    posterior_densities,
    posterior_ellipses,
)
from unknot.report.style import png
from unknot.study.run import Run


@dataclass(frozen=True)
class Chosen:
    """A run that stands for an objective."""

    cell: Configuration
    id: str
    seed: int
    value: float


def chosen(cells: Sequence[Configuration], score: str) -> list[Chosen]:
    """For each objective, of the setting with the best mean the run in the middle of its seeds.

    Of an even number, the worse of the two in the middle.
    """
    sign = -1.0 if lower_is_better(score) else 1.0
    best: dict[str, Configuration] = {}
    for cell in cells:
        mean = _mean(cell, score)
        leader = best.get(cell.objective)
        if mean == mean and (leader is None or sign * mean > sign * _mean(leader, score)):
            best[cell.objective] = cell
    return [_median(cell, score, sign) for cell in best.values()]


def _mean(cell: Configuration, score: str) -> float:
    values = cell.sample(score).values
    return float(values.mean()) if len(values) else float("nan")


def _median(cell: Configuration, score: str, sign: float) -> Chosen:
    values, lost = numbers(cell.runs, score), has_diverged(cell.runs)
    there = [
        i
        for i, status in enumerate(cell.runs["status"])
        if status == "done" and not lost[i] and not np.isnan(values[i])
    ]
    there.sort(key=lambda i: sign * values[i])
    i = there[(len(there) - 1) // 2]
    return Chosen(cell, str(cell.runs["id"][i]), int(cell.runs["seed"][i]), float(values[i]))


def show_model(
    run: Run, name: str, title: str, figure_folder: FigureFolder, keep: FigureKeeper
) -> dict[str, Any]:
    """A model's card and figures, which are also written as files.

    Args:
        run: A run of one seed.
        name: Start of the names of its files.
        title: Whose figures they are.
        figure_folder: Takes figures and pictures.
        keep: Takes a figure that not all data has.
    """
    latents = measure_latents(run)
    card, seen = model_card(run, latents), measure_posteriors(run)
    figure_folder.file(
        f"{name}-traversals.png", png(traversals.traversal_picture(run, latents=latents))
    )
    figure_folder.file(f"{name}-traversals.gif", traversals.traversal_gif(run, latents=latents))
    figure_folder.table(f"{name}-latents", _latents(latents[0], card.factors))
    for kind, image in card.images.items():
        figure_folder.file(f"{name}-{kind}.png", png(image))
    always = {
        "posteriors": posterior_densities(seen, title=f"Posteriors, {title}"),
        "aggregate": aggregate_histograms(seen, title=f"Histograms of codes, {title}"),
        "covariances": covariance_maps(seen, title=f"Covariances, {title}"),
        **dict(along_factors(run, title)),
    }
    return {
        "card": card,
        "figures": [
            *keep(f"{name}-factors", lambda: latent_shares(run, latents[0], title)),
            *keep(
                f"{name}-ellipses",
                lambda: posterior_ellipses(seen, title=f"Posteriors in two latents, {title}"),
            ),
            *(figure_folder.add(f"{name}-{kind}", drawn) for kind, drawn in always.items()),
        ],
    }


def _latents(latents: Latents, names: Sequence[str]) -> list[dict[str, Any]]:
    """What is known of each latent, the most informative first."""
    return [
        {
            "latent": f"z{z}",
            "kl": float(latents.kl[z]),
            "active": bool(latents.used[z]),
            "mean": float(latents.mean[z]),
            "sd": float(latents.sd[z]),
            "factor": traversals.main_factor(latents, z, names),
        }
        for z in latents.order
    ]
