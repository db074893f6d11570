"""``unknot figures``: figures that explain methods, of formulas and toy models."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import output_folder, parse_path


def figures(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of figures.", show_default="all")
    ] = None,
    out: Annotated[Path, typer.Option(help="Output folder.", parser=parse_path)] = Path("figures"),
) -> None:
    """Write figures that explain methods: bounds, gaps, gradients, distances, families.

    They are of formulas, toy models and the catalogue of objectives, need no data and no training,
    and are written as PNG and SVG, with their numbers as CSV.

    Examples:
    `unknot figures`

    `unknot figures iwae_bound amortisation_gap --out lecture`
    """
    from unknot.cli.screen import say
    from unknot.report.teaching import NAMES, figure_module

    modules = {name: figure_module(name) for name in names or NAMES}  # refuses a wrong name first
    folder = output_folder(out)
    for name, module in modules.items():
        module.draw().save(folder, name)
        say(f"{folder / name}.png: {(module.__doc__ or '').splitlines()[0]}")
