"""``unknot distances``: whether the codes of a model keep the distances of its data."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from unknot.metrics.parts.traversal_distances import Matrices

ACROSS = 5
"""Clouds side by side, at most."""
COMPARED = {
    "factors": ("images", "codes", "posteriors", "reconstructions"),
    "images": ("codes", "posteriors", "reconstructions"),
}
RATIOS = "ratios"
SAID = {
    "with factors": "Rank correlation of mean distances with factor distances",
    "with images": "Rank correlation of mean distances with image distances",
    RATIOS: "Shape of the codes along each factor",
}


def distances(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    member: Annotated[
        int, typer.Option(help="Index of the model, if the run has several seeds.", min=0)
    ] = 0,
    loss: Annotated[
        str | None,
        typer.Option(
            help="Loss that measures image distance: gaussian (squared error), bernoulli, box, "
            "gaussian_blur, or the file of a learnt kernel.",
            show_default="the run's overlap loss, if it has one, else gaussian",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output folder.", show_default="RUN/distances")
    ] = None,
    traversals: Annotated[
        int, typer.Option(help="Maximum number of traversals per factor.", min=1)
    ] = 32,
    seed: Annotated[int, typer.Option(help="Random seed for the traversals.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:1.")] = "auto",
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of writing pictures.")
    ] = False,
) -> None:
    """Compare factor, image, code, posterior and reconstruction distances along each factor.

    Prints rank correlations between the mean distance matrices, and the linearity and axis
    alignment of the codes. The output folder gets pictures of the matrices, of the codes along
    traversals, and of the latents that an adaptive threshold treats as shared; distances.npz has
    the matrices.

    Example: `unknot distances runs/beta_vae-dsprites-1`
    """
    from unknot.cli.screen import beside, say, table
    from unknot.metrics.parts.traversal_distances import mean_matrices, rank_agreement
    from unknot.report import clouds, thresholds
    from unknot.report import distances as report
    from unknot.report.style import png
    from unknot.report.traversals import title
    from unknot.study.run import load

    folder = check_folder(out or run / "distances")
    trained = load(run, device=device)
    trained.dataset.require_factors("Distances along factors")
    sources = report.run_sources(trained, member, loss=loss)
    with beside.status("measuring distances"):
        matrices = mean_matrices(sources, trained.dataset.space, traversals=traversals, seed=seed)
        seen = clouds.factor_clouds(
            trained.representations()[member], traversals=traversals, seed=seed
        )
    numbers: list[dict[str, Any]] = [
        {
            "factor": cloud.name,
            **{
                f"with {one}": {
                    other: rank_agreement(matrices[cloud.name], one, other) for other in others
                }
                for one, others in COMPARED.items()
            },
            RATIOS: {
                "linearity": cloud.linearity,
                "axis": cloud.axis_alignment,
                "orientation": cloud.orientation,
            },
        }
        for cloud in seen
    ]
    if json:
        table([], numbers, True)
        return
    for part, words in SAID.items():
        rows = [
            {"factor": row["factor"], **{k: f"{v:.2f}" for k, v in row[part].items()}}
            for row in numbers
        ]
        say(f"[bold]{words}[/]")
        table(list(rows[0]), rows, False)
    whose = title(trained, member)
    across = -(-len(seen) // -(-len(seen) // ACROSS))
    grid = [seen[start : start + across] for start in range(0, len(seen), across)]
    files = {
        "matrices.png": png(
            report.matrices_figure(
                matrices,
                title=f"Mean distances along each factor: {whose}",
                lines=report.captions(loss or report.own_loss(trained)),
            )
        ),
        "clouds.png": png(
            clouds.cloud_figure(
                grid,
                title=f"Codes along traversals of one factor: {whose}",
                note="Codes along traversals, centred, in the two latents that vary most. Light "
                "to dark: increasing value of the factor.",
            )
        ),
        "thresholds.png": png(
            thresholds.threshold_figure(
                thresholds.pair_deltas(trained, member),
                title=f"Latents that Ada-GVAE would treat as shared: {whose}",
            )
        ),
    }
    for path in write(folder, files, matrices):
        say(str(path))


def check_folder(folder: Path) -> Path:
    """A folder to write into, checked before the work is done."""
    from unknot.core.errors import StoreError

    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file, not a folder; choose another with --out.")
    return folder


def write(folder: Path, files: Mapping[str, bytes], matrices: "Matrices") -> list[Path]:
    """Write pictures, and the matrices as arrays ``factor/source``."""
    import io

    import numpy as np

    from unknot.core.files import write_whole

    arrays = {
        f"{factor}/{source}": matrix.numpy()
        for factor, own in matrices.items()
        for source, matrix in own.items()
    }
    data = io.BytesIO()
    np.savez(data, **arrays)  # type: ignore[arg-type]
    everything = {**files, "distances.npz": data.getvalue()}
    for name, content in everything.items():
        write_whole(folder / name, content)
    return [folder / name for name in everything]
