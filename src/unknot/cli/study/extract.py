"""``unknot study extract``: one model of a study as a run folder."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import Device, StudyArgument, parse_path


def extract(
    study: StudyArgument,
    run: Annotated[str, typer.Argument(help="Run id, or its first characters.")],
    out: Annotated[
        Path | None, typer.Option(help="Run folder.", show_default="runs/ID", parser=parse_path)
    ] = None,
    device: Device = "auto",
) -> None:
    """Extract one model of a study, with its scores, as a run folder.

    Example: `unknot study extract studies/betas 3f5a --out runs/best`
    """
    from unknot.cli.screen import say
    from unknot.studies import export
    from unknot.studies.study import Study

    folder = export.extract(Study.open(study), run, out, device=device)
    say(f"Done: {folder}. Next: unknot show {folder}")
