"""``unknot data``: what the datasets hold and what they look like."""

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="List and look at datasets.", no_args_is_help=True)


@app.command("list")
def list_(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the datasets with their sizes and factors.

    Example: `unknot data list`
    """
    from unknot.cli.screen import table
    from unknot.core import registry

    rows: list[dict[str, Any]] = []
    for name in registry.names("datasets"):
        row: dict[str, Any] = {"name": name, "images": "", "shape": "", "factors": "of your file"}
        if "" not in registry.settings("datasets", name).values():  # needs nothing to be loaded
            dataset = registry.get("datasets", name)().load()
            pairs = zip(dataset.space.names, dataset.space.sizes, strict=True)
            row["images"] = len(dataset) if json else f"{len(dataset):,}"
            row["shape"] = " x ".join(map(str, dataset.shape))
            row["factors"] = ", ".join(f"{factor} {size}" for factor, size in pairs)
        rows.append(row)
    table(["name", "images", "shape", "factors"], rows, json)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A dataset by name.")],
    out: Annotated[Path | None, typer.Option(help="Picture to write [NAME.png].")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the dataset, such as spacing=4; may be repeated."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and draw nothing.")] = False,
) -> None:
    """Show a dataset's size, factors and a picture of what each factor does.

    Example: `unknot data show xysquares --set spacing=4`
    """
    from unknot.cli.screen import say, table
    from unknot.core import registry
    from unknot.study import config

    settings = config.assign({}, set_ or [])
    dataset = config.build(registry.get("datasets", name), settings).load()
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
    table(["factor", "values", "kind"], factors, False)
    from unknot.engine.checkpoint import write_whole
    from unknot.report.pictures import dataset_picture
    from unknot.report.style import png

    path = out or Path(f"{name}.png")
    write_whole(path, png(dataset_picture(dataset)))
    say(f"Picture: {path}")
