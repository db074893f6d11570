"""``unknot data``: list and inspect datasets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from torch import Tensor

    from unknot.core.dataset import FactorDataset

app = typer.Typer(help="List and inspect datasets.", no_args_is_help=True)


@app.command("list")
def list_(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the datasets with their image shapes and factors.

    Example: `unknot data list`
    """
    from unknot.cli.screen import table
    from unknot.core import registry

    rows: list[dict[str, Any]] = []
    for name in registry.names("datasets"):
        row: dict[str, Any] = {"name": name, "images": "", "shape": "", "factors": "from your file"}
        row["what"] = registry.summary("datasets", name)
        if "" not in registry.settings("datasets", name).values():  # needs nothing to be loaded
            dataset = registry.get("datasets", name)().load()
            pairs = zip(dataset.space.names, dataset.space.sizes, strict=True)
            row["images"] = len(dataset) if json else f"{len(dataset):,}"
            row["shape"] = " x ".join(map(str, dataset.shape))
            row["factors"] = ", ".join(f"{factor} {size}" for factor, size in pairs)
        rows.append(row)
    table(["name", "images", "shape", "factors", "what"], rows, json)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="Dataset name.")],
    out: Annotated[
        Path | None, typer.Option(help="Output picture.", show_default="NAME.png")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting of the dataset, e.g. spacing=4. Repeatable."),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of writing pictures.")
    ] = False,
) -> None:
    """Show the size and factors of a dataset, and draw a traversal of each factor.

    Example: `unknot data show xysquares --set spacing=4`
    """
    from rich.markup import escape

    from unknot.cli.screen import say, table
    from unknot.core import registry

    dataset = _load(name, set_ or [])
    factors: list[dict[str, Any]] = [
        {"factor": n, "values": s, "kind": k}
        for n, s, k in zip(
            dataset.space.names, dataset.space.sizes, dataset.space.kinds, strict=True
        )
    ]
    if json:
        table(
            [],
            [{"name": name, "size": len(dataset), "shape": dataset.shape, "factors": factors}],
            True,
        )
        return
    c, h, w = dataset.shape
    say(f"[bold]{name}[/]: {len(dataset):,} images, {h} x {w}, {c} channel{'s' * (c > 1)}")
    say(escape(registry.summary("datasets", name)))
    table(["factor", "values", "kind"], factors, False)
    from unknot.core.files import write_whole
    from unknot.report.pictures import dataset_picture
    from unknot.report.style import png

    path = out or Path(f"{name}.png")
    write_whole(path, png(dataset_picture(dataset)))
    say(f"Picture: {path}")


@app.command("distances")
def distances(
    name: Annotated[str, typer.Argument(help="Dataset name.")],
    loss: Annotated[
        str,
        typer.Option(
            help="Loss that measures distance: gaussian (squared error), bernoulli, box or "
            "gaussian_blur (squared error plus that of blurred images), or the file of a learnt "
            "kernel."
        ),
    ] = "gaussian",
    out: Annotated[
        Path | None, typer.Option(help="Output folder.", show_default="NAME-distances")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting of the dataset, e.g. spacing=4. Repeatable."),
    ] = None,
    traversals: Annotated[
        int, typer.Option(help="Maximum number of traversals per factor.", min=1)
    ] = 512,
    pairs: Annotated[int, typer.Option(help="Number of random pairs.", min=2)] = 10_000,
    published: Annotated[
        bool,
        typer.Option(
            "--published-pairs",
            help="Sample random pairs within batches of 32, as in Michlo 2022 (some pairs are the "
            "same image twice).",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed for traversals and pairs.", min=0)] = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of writing pictures.")
    ] = False,
) -> None:
    """Measure how far apart the images of a dataset are along each factor.

    Factors are sorted by mean distance: a VAE tends to learn those with large distances first. The
    columns linear and rank are correlations between image distance and factor distance. The output
    folder gets pictures of the mean distance matrices and of the distributions, and the matrices
    themselves as distances.npz.

    Example: `unknot data distances xysquares --set spacing=4 --loss box`
    """
    from unknot.cli.distances import check_folder, write
    from unknot.cli.screen import beside, say, table
    from unknot.core.text import number
    from unknot.metrics.parts.distances import correlations, importance
    from unknot.metrics.parts.traversal_distances import mean_matrices
    from unknot.report import distances as report
    from unknot.report.style import png

    folder = check_folder(out or Path(f"{name}-distances"))
    dataset = _load(name, set_ or [])
    dataset.require_factors("Distances along factors")
    sources = report.data_sources(dataset, loss)
    images, space = sources["images"], dataset.space
    with beside.status(f"measuring {name}"):
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
        facts = [
            {"factor": factor, **numbers[factor], "quantiles": _quantiles(spread.distances)}
            for factor, spread in spreads.items()
        ]
        table([], facts, True)
        return
    rows = [
        {
            "factor": factor,
            **{key: number(value) for key, value in numbers[factor].items()},
        }
        for factor in numbers
    ]
    table(["factor", "mean", "deviation", "linear", "rank"], rows, False)
    matrices = mean_matrices(sources, space, traversals=traversals, seed=seed)
    what = f"{name}: mean distances along each factor"
    files = {
        "matrices.png": png(
            report.matrices_figure(matrices, title=what, lines=report.captions(loss))
        ),
        "importance.png": png(
            report.importance_figure(spreads, title=f"{name}: distances of images")
        ),
    }
    for path in write(folder, files, matrices):
        say(str(path))


def _load(name: str, words: list[str]) -> "FactorDataset":
    """A dataset by name, with words such as ``spacing=4``, or ``data.spacing=4`` as in train."""
    from unknot.study import config

    settings = config.assign({}, words)
    if isinstance(inner := settings.pop("data", {}), dict):
        settings |= inner
    loaded: FactorDataset = config.spec({"data": {**settings, "name": name}}).data.settings.load()
    return loaded


def _quantiles(distances: "Tensor") -> dict[str, float]:
    """Of sorted distances, at every twentieth part: their distribution for other programs."""
    last = len(distances) - 1
    return {f"{part / 20:g}": float(distances[round(last * part / 20)]) for part in range(21)}
