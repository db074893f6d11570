"""``unknot data show``: the factors of a dataset, and a picture of them."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import (
    DatasetArgument,
    DatasetSet,
    JsonOnly,
    Kinds,
    Labels,
    SkipBroken,
    load_dataset,
    parse_path,
)

MOST_COLUMNS = 200
"""Of a table, that are listed."""


def show(
    name: DatasetArgument,
    out: Annotated[
        Path | None,
        typer.Option(help="Output picture.", show_default="NAME.png", parser=parse_path),
    ] = None,
    set_: DatasetSet = None,
    labels: Labels = None,
    kind: Kinds = None,
    skip_broken: SkipBroken = False,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Draw each traversal also through a kernel: `box`, `gaussian_blur`, or the file "
            "of a learnt one.",
            show_default=False,
        ),
    ] = None,
    json: JsonOnly = False,
) -> None:
    """Show the size and factors of a dataset, and draw a traversal of each factor.

    Examples: `unknot data show xysquares --set spacing=4`, `unknot data show photos/`

    `unknot data show xysquares --kernel kernel.safetensors`
    """
    from unknot.cli.screen import print_json, print_table, say
    from unknot.core import registry
    from unknot.metrics.parts.distance_sources import overlap_by_name
    from unknot.report.model.pictures import check_blur, dataset_picture
    from unknot.report.picture import Picture

    choices = {"skip_broken": skip_broken, "labels": labels, "kinds": kind}
    flags = {name: value for name, value in choices.items() if value}
    through = None if kernel is None else overlap_by_name(kernel)
    dataset = load_dataset(name, set_, **flags)
    if through is not None:
        check_blur(dataset, through)
    space = dataset.space
    factors = [
        {"factor": factor, "values": size, "kind": kind}
        for factor, size, kind in zip(space.names, space.sizes, space.kinds, strict=True)
    ]
    if json:
        facts = {
            "name": name,
            "size": len(dataset),
            "shape": dataset.shape,
            "factors": factors,
            "summary": dataset.summary,
        }
        print_json([facts])
        return
    say((dataset.name, "bold"), f": {dataset.summary}")
    if name in registry.names("datasets"):
        say(registry.summary("datasets", name))
    if not space.stands_in:
        print_table(factors)
    if dataset.columns:
        print_table([{"column": name} for name in dataset.columns[:MOST_COLUMNS]])
        if len(dataset.columns) > MOST_COLUMNS:
            say(f"... and {len(dataset.columns) - MOST_COLUMNS:,} more columns.")
        return
    picture = Picture(dataset_picture(dataset, kernel=through))
    say(f"Picture: {picture.save(out or f'{dataset.name}.png')}")
