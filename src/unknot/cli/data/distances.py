"""``unknot data distances``: how far apart the images of a dataset are along each factor."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.options import (
    DatasetArgument,
    DatasetSet,
    JsonOnly,
    Pairs,
    Traversals,
    load_dataset,
    output_folder,
    parse_path,
)

if TYPE_CHECKING:
    from torch import Tensor


def distances(
    name: DatasetArgument,
    loss: Annotated[
        str,
        typer.Option(
            help="Loss that measures distance: gaussian (squared error), bernoulli, box or "
            "gaussian_blur (squared error plus that of blurred images), or the file of a learnt "
            "kernel."
        ),
    ] = "gaussian",
    out: Annotated[
        Path | None,
        typer.Option(help="Output folder.", show_default="NAME-distances", parser=parse_path),
    ] = None,
    set_: DatasetSet = None,
    traversals: Traversals = 512,
    pairs: Pairs = 10_000,
    published: Annotated[
        bool,
        typer.Option(
            "--published-pairs",
            help="Sample random pairs within batches of 32, as in Michlo 2022 (some pairs are the "
            "same image twice).",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed for traversals and pairs.", min=0)] = 0,
    json: JsonOnly = False,
) -> None:
    """Measure how far apart the images of a dataset are along each factor.

    Factors are sorted by mean distance: a VAE tends to learn those with large distances first. The
    columns linear and rank are correlations between image distance and factor distance. The output
    folder gets pictures of the mean distance matrices and of the distributions, and the matrices
    themselves as distances.npz.

    Example: `unknot data distances xysquares --set spacing=4 --loss box`
    """
    from unknot.cli.screen import print_json, print_table, say, stderr
    from unknot.core.text import number
    from unknot.metrics.parts.distances import correlations, importance, mean_matrices
    from unknot.report.data import distances as report

    dataset = load_dataset(name, set_)
    folder = output_folder(out or Path(f"{dataset.name}-distances"))
    dataset.require_factors("Distances along factors")
    sources = report.data_sources(dataset, loss)
    images, space = sources["images"], dataset.space.require_grid(report.ALONG)
    with stderr.status(f"measuring {name}"):
        spreads = importance(
            images.rows,
            space,
            traversals=traversals,
            pairs=pairs,
            loss=images.distance,
            seed=seed,
        )
        agreements = correlations(
            images.rows,
            space,
            traversals=traversals,
            pairs=pairs,
            convention="batches of 32" if published else "independent",
            loss=images.distance,
            seed=seed,
        )
    numbers = {
        factor: {
            "mean": spread.mean,
            "deviation": spread.deviation,
            "linear": agreements[factor].linear,
            "rank": agreements[factor].rank,
        }
        for factor, spread in spreads.items()
    }
    if json:
        print_json(
            [
                {"factor": factor, **numbers[factor], "quantiles": _quantiles(spread.distances)}
                for factor, spread in spreads.items()
            ]
        )
        return
    print_table(
        [
            {"factor": factor, **{key: number(value) for key, value in values.items()}}
            for factor, values in numbers.items()
        ]
    )
    matrices = mean_matrices(sources, space, traversals=traversals, seed=seed)
    figures = {
        "matrices": report.matrices_figure(
            matrices,
            title=f"{dataset.name}: mean distances along each factor",
            lines=report.captions(loss),
        ),
        "importance": report.importance_figure(
            spreads, title=f"{dataset.name}: distances of images"
        ),
    }
    for path in report.write(folder, figures, matrices):
        say(str(path))


def _quantiles(distances: "Tensor") -> dict[str, float]:
    """Of sorted distances, at every twentieth part: their distribution for other programs."""
    last = len(distances) - 1
    return {f"{part / 20:g}": float(distances[round(last * part / 20)]) for part in range(21)}
