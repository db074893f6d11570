"""``unknot show``: pictures and a page of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unknot.study.run import Run


def show(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    member: Annotated[
        int, typer.Option(help="Index of the model, if the run has several seeds.", min=0)
    ] = 0,
    out: Annotated[Path | None, typer.Option(help="Output folder.", show_default="RUN")] = None,
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:1.")] = "auto",
) -> None:
    """Visualise a run: traversals (PNG, GIF), reconstructions, samples, curves, and an HTML page.

    Also shows reconstructions of out-of-distribution inputs: noise, a triangle, other colours.

    Example: `unknot show runs/beta_vae-dsprites-1`
    """
    from unknot.cli.screen import say
    from unknot.study.run import load

    for path in draw(load(run, device=device), out or run, member):
        say(str(path))


def draw(run: "Run", folder: Path, member: int = 0) -> list[Path]:
    """Write pictures and page; the page has the scores that the run's folder holds."""
    from unknot.report.page import write_page, write_pictures
    from unknot.study import records

    scores: list[dict[str, float]] = [{} for _ in run.spec.seed_list]
    ids = run.spec.ids()
    for record in records.read(run.path) if run.path else []:
        if record.id in ids:
            name = record.protocol["name"]
            scores[ids.index(record.id)] |= {
                key if name == "unknot" else f"{key} ({name})": value
                for key, value in record.values.items()
            }
    return [*write_pictures(run, folder, member), write_page(run, folder, scores=scores)]
