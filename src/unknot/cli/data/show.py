"""``unknot data show``: the factors of a dataset, and a picture of them."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import DatasetArgument, DatasetSet, JsonOnly, load_dataset


def show(
    name: DatasetArgument,
    out: Annotated[
        Path | None, typer.Option(help="Output picture.", show_default="NAME.png")
    ] = None,
    set_: DatasetSet = None,
    json: JsonOnly = False,
) -> None:
    """Show the size and factors of a dataset, and draw a traversal of each factor.

    Example: `unknot data show xysquares --set spacing=4`
    """
    from rich.markup import escape

    from unknot.cli.screen import print_json, print_table, say
    from unknot.core import registry
    from unknot.core.files import write_whole
    from unknot.report.model.pictures import dataset_picture
    from unknot.report.style import png

    dataset = load_dataset(name, set_)
    space = dataset.space
    factors = [
        {"factor": factor, "values": size, "kind": kind}
        for factor, size, kind in zip(space.names, space.sizes, space.kinds, strict=True)
    ]
    if json:
        facts = {"name": name, "size": len(dataset), "shape": dataset.shape, "factors": factors}
        print_json([facts])
        return
    c, h, w = dataset.shape
    say(f"[bold]{name}[/]: {len(dataset):,} images, {h} x {w}, {c} channel{'s' * (c > 1)}")
    say(escape(registry.summary("datasets", name)))
    print_table(factors)
    path = out or Path(f"{name}.png")
    write_whole(path, png(dataset_picture(dataset)))
    say(f"Picture: {path}")
