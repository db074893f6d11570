"""``unknot show``: pictures and a page of a run."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import DataPlace, Device, Member, RunArgument, output_folder, parse_path


def show(
    run: RunArgument,
    member: Member = 0,
    out: Annotated[
        Path | None, typer.Option(help="Output folder.", show_default="RUN", parser=parse_path)
    ] = None,
    device: Device = "auto",
    data: DataPlace = None,
) -> None:
    """Visualise a run: traversals (PNG, GIF), reconstructions, matrices, curves, and an HTML page.

    Matrices of latents by factors are what DCI, SAP, CbD and MIG are made of, and correlations.
    Also shows reconstructions of out-of-distribution inputs: noise, a triangle, other colours. If
    the run's data is not there, it draws samples and traversals alone, around the prior.

    Example: `unknot show runs/beta_vae-dsprites-1`
    """
    from unknot.cli.screen import say
    from unknot.report.model.latents import check_member
    from unknot.report.model.matrices import measure_matrices
    from unknot.report.run.page import stored_scores, write_page, write_pictures
    from unknot.runs.verbs import load

    folder = run if out is None else output_folder(out, run, page="index.html")
    trained = load(run, device=device, data=data)
    scores = stored_scores(trained)  # damaged ones are refused before anything is written
    matrices = measure_matrices(trained, check_member(trained, member))
    for path in write_pictures(trained, folder, member, matrices=matrices):
        say(str(path))
    if not trained.has_data:
        reason = getattr(trained.dataset.images, "reason", "").rstrip(".")
        say(
            "Samples and traversals only, as the run's data is not here"
            f"{f' ({reason})' if reason else ''}. Say where with --data PATH."
        )
        return
    say(str(write_page(trained, folder, scores=scores, matrices=matrices)))
