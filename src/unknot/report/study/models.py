"""Figures of one model on a study's page, with their numbers."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from unknot.core.errors import UnknotError
from unknot.metrics.parts.distances import mean_matrices
from unknot.objectives.parts.sharing import shared_latents
from unknot.report.data import clouds, distances, thresholds
from unknot.report.model import traversals, views
from unknot.report.model.card import model_card
from unknot.report.model.figures import factor_figure
from unknot.report.model.latents import Latents, measure_latents
from unknot.report.study.blocks import FigureKeeper
from unknot.report.study.class_plane import class_plane, classes_of
from unknot.report.study.covariance import covariance_maps
from unknot.report.study.latents import (
    aggregate_histograms,
    measure_posteriors,
    posterior_densities,
    posterior_ellipses,
)
from unknot.report.study.style import DataFigure, across
from unknot.report.style import LETTERS, png, set_title, styled
from unknot.runs.run import Run

TRAVERSALS = 8
"""Traversals of each factor behind a distance matrix."""
POINTS = 16
"""Traversals of each factor behind a cloud."""
MIDDLE = 0.5
"""The threshold whose shared latents are in the numbers: the middle, as in the Ada-GVAE."""


def show_model(run: Run, name: str, title: str, keep: FigureKeeper) -> dict[str, Any]:
    """A model's card and figures, which are also written as files.

    Args:
        run: A run of one seed.
        name: Start of the names of its files.
        title: Whose figures they are.
        keep: Takes figures and pictures.
    """
    latents, folder = measure_latents(run), keep.folder
    card, posteriors = model_card(run, latents), measure_posteriors(run)
    still = views.traversal_view(run, latents)
    folder.file(f"{name}-traversals.png", png(still))
    folder.file(f"{name}-traversals.gif", traversals.traversal_gif(run, latents=latents))
    folder.table(f"{name}-latents", _latent_rows(latents[0], card.factors))
    for kind, image in card.images.items():
        folder.file(f"{name}-{kind}.png", png(image))
    always = {
        "posteriors": posterior_densities(posteriors, title=f"Posteriors, {title}"),
        "aggregate": aggregate_histograms(posteriors, title=f"Histograms of codes, {title}"),
        "covariances": covariance_maps(posteriors, title=f"Covariances, {title}"),
        **dict(along_factors(run, title)),
    }
    classes = classes_of(run) if len(posteriors.order) > 1 else None
    if classes is not None:
        words = f"{classes.label} in two latents, {title}".capitalize()
        always["classes"] = class_plane(posteriors, classes, title=words)
    has_factors = not run.dataset.space.stands_in  # row numbers are none

    def shares() -> DataFigure:
        return latent_shares(run, latents[0], title)

    return {
        "card": card,
        "figures": [
            *(keep(f"{name}-factors", shares) if has_factors else ()),
            *keep(
                f"{name}-ellipses",
                lambda: posterior_ellipses(posteriors, title=f"Posteriors in two latents, {title}"),
            ),
            *(folder.add(f"{name}-{kind}", figure) for kind, figure in always.items()),
        ],
    }


def _latent_rows(latents: Latents, names: Sequence[str]) -> list[dict[str, Any]]:
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


# Figures of one model and factors


def along_factors(run: Run, title: str) -> Iterator[tuple[str, DataFigure]]:
    """Figures and the ends of their names; none where the data has no factors to go along."""
    try:
        run.dataset.require_factors("Distances along factors")
        matrices = factor_distances(run, title)
    except UnknotError:
        return
    yield "distances", matrices
    yield "clouds", factor_clouds(run, title)
    yield "thresholds", factor_thresholds(run, title)


@styled
def latent_shares(run: Run, latents: Latents, title: str) -> DataFigure:
    """How much of each latent's variance each factor explains, latents down and factors across."""
    run.dataset.require_factors("Maps of latents and factors")
    names = run.dataset.space.names
    figure = factor_figure(latents, names)
    width = float(figure.get_size_inches()[0])
    text = f"Share of each latent's variance that each factor explains alone, {title}"
    figure.axes[0].set_title("", loc="left")
    set_title(figure, textwrap.fill(text, int(LETTERS * width)))
    rows = [
        {"latent": f"z{z}", "kl": float(latents.kl[z]), "active": bool(latents.used[z]),
         "factor": name, "share": float(share)}
        for z in latents.order
        for name, share in zip(names, latents.explained[z], strict=True)
    ]  # fmt: skip
    return DataFigure(figure, rows)


@styled
def factor_distances(run: Run, title: str) -> DataFigure:
    """Mean distance of each two values of a factor: of factors, images, codes and so on."""
    space = run.dataset.space.require_grid(distances.ALONG)
    matrices = mean_matrices(distances.run_sources(run), space, traversals=TRAVERSALS)
    figure = distances.matrices_figure(
        matrices,
        title=f"Mean distances along each factor, {title}",
        lines=distances.captions(distances.own_loss(run)),
    )
    rows = [
        {"factor": factor, "source": source, "first": u, "second": v, "distance": float(value)}
        for factor, by_source in matrices.items()
        for source, matrix in by_source.items()
        for (u, v), value in np.ndenumerate(matrix.numpy())
    ]
    return DataFigure(figure, rows)


@styled
def factor_clouds(run: Run, title: str) -> DataFigure:
    """Codes along traversals of one factor, in the two latents that move most."""
    (codes,) = run.representations()
    seen = clouds.factor_clouds(codes, traversals=POINTS)
    wide = across(len(seen))
    figure = clouds.cloud_figure(
        [seen[i : i + wide] for i in range(0, len(seen), wide)],
        title=f"Codes along traversals of one factor, {title}",
        note="Each traversal is centred. Axes: the two latents that vary most.\n"
        "Light to dark: the factor increases. Above: scores of linearity, axis\n"
        "alignment and orientation.",
    )
    rows = [
        {"factor": cloud.name, "value": float(value), "first": cloud.axes[0], "x": float(x),
         "second": cloud.axes[1], "y": float(y), "linearity": cloud.linearity,
         "axis_alignment": cloud.axis_alignment, "orientation": cloud.orientation}
        for cloud in seen
        for (x, y), value in zip(cloud.points, cloud.value, strict=True)
    ]  # fmt: skip
    return DataFigure(figure, rows)


@styled
def factor_thresholds(run: Run, title: str) -> DataFigure:
    """Distances of latents between two images that differ in one factor, and what is shared."""
    deltas = thresholds.pair_deltas(run)
    figure = thresholds.threshold_figure(
        deltas, title=f"Latents that Ada-GVAE would treat as shared, {title}"
    )
    rows = []
    for factor, delta in deltas.items():
        values = delta.double().cpu()
        shared = shared_latents(values[None], MIDDLE)[0]
        rows += [
            {"factor": factor, "latent": f"z{z}", "distance": float(d), "shared": bool(s)}
            for z, (d, s) in enumerate(zip(values, shared, strict=True))
        ]
    return DataFigure(figure, rows)
