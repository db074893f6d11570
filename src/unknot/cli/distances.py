"""``unknot distances``: whether the codes of a model keep the distances of its data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unknot.cli.options import (
    DataPlace,
    Device,
    JsonOnly,
    Member,
    RunArgument,
    Traversals,
    output_folder,
    parse_path,
)

ACROSS = 5
"""Clouds side by side, at most."""
COMPARISONS = {
    "factors": ("images", "codes", "posteriors", "reconstructions"),
    "images": ("codes", "posteriors", "reconstructions"),
}
TITLES = {
    "with factors": "Rank correlation of mean distances with factor distances",
    "with images": "Rank correlation of mean distances with image distances",
    "pairs": "Rank correlation of distances, pair by pair",
    "ratios": "Shape of the codes along each factor",
}
PAIRS = {
    "codes and factors": "",
    "codes and images": "latent_data",
    "images and factors": "data_gt",
}
"""What is compared pair by pair, and the part of the distance correlation that says it."""


def distances(
    run: RunArgument,
    member: Member = 0,
    loss: Annotated[
        str | None,
        typer.Option(
            help="Loss that measures image distance: gaussian (squared error), bernoulli, box, "
            "gaussian_blur, or the file of a learnt kernel.",
            show_default="the run's overlap or feature loss, if it has one, else gaussian",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Output folder.", show_default="RUN/distances", parser=parse_path),
    ] = None,
    traversals: Traversals = 32,
    seed: Annotated[int, typer.Option(help="Random seed for the traversals.", min=0)] = 0,
    device: Device = "auto",
    data: DataPlace = None,
    json: JsonOnly = False,
) -> None:
    """Compare factor, image, code, posterior and reconstruction distances along each factor.

    Prints rank correlations between the mean distance matrices, and the linearity and axis
    alignment of the codes. The output folder gets pictures of the matrices, of the codes along
    traversals, and of the latents that an adaptive threshold treats as shared; distances.npz has
    the matrices.

    Example: `unknot distances runs/beta_vae-dsprites-1`
    """
    from unknot.cli.screen import print_json, print_table, say, stderr
    from unknot.metrics.parts.distances import mean_matrices, rank_agreement
    from unknot.report.data import clouds, thresholds
    from unknot.report.data import distances as report
    from unknot.report.model.traversals import title
    from unknot.runs.verbs import load

    folder = output_folder(out or run / "distances")
    trained = load(run, device=device, data=data)
    trained.dataset.require_factors("Distances along factors")
    space = trained.dataset.space.require_grid(report.ALONG)
    sources = report.run_sources(trained, member, loss=loss)
    with stderr.status("measuring distances"):
        matrices = mean_matrices(sources, space, traversals=traversals, seed=seed)
        pairs = report.pair_correlations(
            trained, member, loss=loss, traversals=traversals, seed=seed
        )
        by_factor = clouds.factor_clouds(
            trained.representations()[member], traversals=traversals, seed=seed
        )
    numbers: list[dict[str, Any]] = [
        {
            "factor": cloud.name,
            **{
                f"with {name}": {
                    other: rank_agreement(matrices[cloud.name], name, other) for other in others
                }
                for name, others in COMPARISONS.items()
            },
            "pairs": {
                name: float(pairs.parts[key][pairs.protocol["factors"].index(cloud.name)])
                for name, part in PAIRS.items()
                if (key := f"{part}_per_factor".lstrip("_")) in pairs.parts
            },
            "ratios": {
                "linearity": cloud.linearity,
                "axis": cloud.axis_alignment,
                "orientation": cloud.orientation,
            },
        }
        for cloud in by_factor
    ]
    if json:
        print_json(numbers)
        return
    for part, heading in TITLES.items():
        say((heading, "bold"))
        print_table(
            [
                {"factor": row["factor"], **{k: f"{v:.2f}" for k, v in row[part].items()}}
                for row in numbers
            ]
        )
    means = {
        name: pairs.values.get(f"distance_correlation.{part}".rstrip("."))
        for name, part in PAIRS.items()
    }
    texts = [f"{name} {mean:.2f}" for name, mean in means.items() if mean is not None]
    say(f"Geometric means of distances pair by pair: {', '.join(texts)}")
    whose = title(trained, member)
    across = -(-len(by_factor) // -(-len(by_factor) // ACROSS))
    figures = {
        "matrices": report.matrices_figure(
            matrices,
            title=f"Mean distances along each factor: {whose}",
            lines=report.captions(loss or report.own_loss(trained)),
        ),
        "clouds": clouds.cloud_figure(
            [by_factor[start : start + across] for start in range(0, len(by_factor), across)],
            title=f"Codes along traversals of one factor: {whose}",
            note="Codes along traversals, centred, in the two latents that vary most. Light "
            "to dark: increasing value of the factor.",
        ),
        "thresholds": thresholds.threshold_figure(
            thresholds.pair_deltas(trained, member),
            title=f"Latents that Ada-GVAE would treat as shared: {whose}",
        ),
    }
    for path in report.write(folder, figures, matrices):
        say(str(path))
