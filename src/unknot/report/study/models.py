"""Figures of one model and factors: what latents follow; distances, clouds, shared latents."""

import textwrap
from collections.abc import Iterator

import numpy as np

from unknot.core.errors import UnknotError
from unknot.metrics.parts.traversal_distances import mean_matrices
from unknot.objectives.parts.sharing import shared_latents
from unknot.report import clouds, distances, thresholds
from unknot.report.figures import factor_figure
from unknot.report.latents import Latents
from unknot.report.study_style import LETTERS, DataFigure, across
from unknot.report.style import set_title, styled
from unknot.study.run import Run

WALKS = 8
"""Traversals of each factor behind a distance matrix."""
POINTS = 16
"""Traversals of each factor behind a cloud."""
MIDDLE = 0.5
"""The threshold whose shared latents are in the numbers: halfway, as in the Ada-GVAE."""


def along_factors(run: Run, title: str) -> Iterator[tuple[str, DataFigure]]:
    """Figures and the ends of their names; none where the data has no factors to go along.

    Args:
        run: A run of one seed.
        title: Whose figures they are.
    """
    try:
        run.dataset.require_factors("Distances along factors")
        matrices = factor_distances(run, title)
    except UnknotError:
        return
    yield "distances", matrices
    yield "clouds", factor_clouds(run, title)
    yield "thresholds", factor_thresholds(run, title)


@styled
def latent_shares(run: Run, found: Latents, title: str) -> DataFigure:
    """How much of each latent's variance each factor explains, latents down and factors across.

    Args:
        run: A run of one seed.
        found: Its latents.
        title: Whose they are.
    """
    run.dataset.require_factors("Maps of latents and factors")
    names = run.dataset.space.names
    figure = factor_figure(found, names)
    width = float(figure.get_size_inches()[0])
    said = f"Share of each latent's variance that each factor explains alone, {title}"
    figure.axes[0].set_title("", loc="left")
    set_title(figure, textwrap.fill(said, int(LETTERS * width)))
    rows = [
        {"latent": f"z{z}", "kl": float(found.kl[z]), "active": bool(found.used[z]),
         "factor": name, "share": float(share)}
        for z in found.order
        for name, share in zip(names, found.explained[z], strict=True)
    ]  # fmt: skip
    return DataFigure(figure, rows)


@styled
def factor_distances(run: Run, title: str) -> DataFigure:
    """Mean distance of each two values of a factor: of factors, images, codes and so on."""
    found = mean_matrices(distances.run_sources(run), run.dataset.space, traversals=WALKS)
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
    found = thresholds.pair_deltas(run)
    figure = thresholds.threshold_figure(
        found, title=f"Latents that Ada-GVAE would treat as shared, {title}"
    )
    rows = []
    for factor, delta in found.items():
        values = delta.double().cpu()
        shared = shared_latents(values[None], MIDDLE)[0]
        rows += [
            {"factor": factor, "latent": f"z{z}", "distance": float(d), "shared": bool(s)}
            for z, (d, s) in enumerate(zip(values, shared, strict=True))
        ]
    return DataFigure(figure, rows)
