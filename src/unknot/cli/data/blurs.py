"""``unknot data blurs``: box and Gaussian kernels of many sizes and weights, compared."""

from pathlib import Path
from typing import Annotated, Any, get_args

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

MOST = 1e6
"""Of a radius, and of a weight: squares of larger ones leave float32."""


def blurs(
    name: DatasetArgument,
    kernel: Annotated[str, typer.Option(help="Kernels: box, gaussian.")] = "box,gaussian",
    radius: Annotated[str, typer.Option(help="Radii in pixels.")] = "3,7,15,31",
    weight: Annotated[
        str,
        typer.Option(
            help="Weights of the blurred part; 1 is the number of kernel elements, the default of "
            "overlap losses."
        ),
    ] = "0.01,0.1,1,10",
    out: Annotated[
        Path | None,
        typer.Option(help="Output folder.", show_default="NAME-blurs", parser=parse_path),
    ] = None,
    set_: DatasetSet = None,
    traversals: Traversals = 32,
    pairs: Pairs = 4096,
    seed: Annotated[int, typer.Option(help="Random seed for traversals and pairs.", min=0)] = 0,
    json: JsonOnly = False,
) -> None:
    """Compare box and Gaussian kernels of overlap losses over sizes and weights.

    Every combination is one loss (docs/losses.md). Its row has the correlations between image
    distance and factor distance: linear and rank, along factors and for random pairs of different
    images. The first row is the squared error of the pixels alone. The output folder gets the table
    (blurs.csv) and a figure (blurs.png).

    Example: `unknot data blurs xysquares --radius 7,15,31 --weight 0.1,1`
    """
    from dataclasses import asdict

    from unknot.cli.screen import bar, print_json, print_table, say
    from unknot.core.csv_files import csv_text
    from unknot.core.files import inside, write_whole
    from unknot.core.text import number
    from unknot.learnt_loss.blurs import plan_blurs, score_blurs
    from unknot.learnt_loss.learn import agreement
    from unknot.report.data.kernels import blurs_figure
    from unknot.report.style import png

    kernels: Any = _kernels(kernel)
    radii, weights = _numbers("--radius", radius, whole=True), _numbers("--weight", weight)
    dataset = load_dataset(name, set_)
    folder = output_folder(out or Path(f"{dataset.name}-blurs"))
    plan = plan_blurs(dataset, kernels, [int(each) for each in radii], weights)
    sampling = {"traversals": traversals, "pairs": pairs, "seed": seed}
    pixels = agreement(dataset, lambda x: x, **sampling)
    scores = []
    with bar("measure", len(plan), "losses") as update:
        for score in score_blurs(dataset, plan, **sampling):
            scores.append(score)
            update(len(scores), f"{score.kernel}, radius {score.radius}")
    rows: list[dict[str, Any]] = [{"kernel": "none", **asdict(pixels)}]
    rows += [
        {
            "kernel": score.kernel,
            "radius": score.radius,
            "weight": score.weight,
            "alpha": score.loss.alpha,
            "sigma": score.loss.sigma,
            **asdict(score.correlations),
        }
        for score in scores
    ]
    if json:
        print_json(rows)
        return
    shown = ("kernel", "radius", "weight", *asdict(pixels))
    print_table(
        [
            {n: number(v) if isinstance(v := row.get(n, ""), float) else v for n in shown}
            for row in rows
        ]
    )
    table, picture = inside(folder, "blurs.csv"), inside(folder, "blurs.png")
    write_whole(table, csv_text(rows, [*rows[1]]))
    title = f"{dataset.name}: blurs and distances"
    write_whole(picture, png(blurs_figure(scores, pixels, title=title)))
    say(str(table))
    say(str(picture))


def _kernels(text: str) -> list[str]:
    from unknot.core.errors import ConfigError
    from unknot.core.registry import nearest
    from unknot.losses.overlap import Kernel

    choices = [choice for choice in get_args(Kernel) if choice != "learnt"]
    names = [word.strip() for word in text.split(",")]
    for each in names:
        if each not in choices:
            raise ConfigError(f"There is no kernel '{each}'{nearest(each, choices)}")
    return [*dict.fromkeys(names)]


def _numbers(flag: str, text: str, *, whole: bool = False) -> list[float]:
    """Values with commas between, each once."""
    from unknot.core.border import parse_number
    from unknot.core.errors import ConfigError
    from unknot.core.text import shown

    kind, least, what = (int, 1, "whole numbers") if whole else (int | float, 0, "numbers")
    try:
        values = [parse_number(word.strip()) for word in text.split(",")]
    except ValueError:  # of too many digits
        values = [None]
    good = [v for v in values if isinstance(v, kind) and least <= v <= MOST]
    if len(good) < len(values):
        raise ConfigError(
            f"{flag} takes {what} from {least} to {MOST:,.0f} with commas between; got "
            f"'{shown(text)}'."
        )
    return [*dict.fromkeys(good)]
