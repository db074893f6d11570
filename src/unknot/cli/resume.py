"""``unknot resume``: continue a run that was stopped or killed."""

from pathlib import Path
from typing import Annotated

import typer


def resume(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:1.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Resume a run from its last checkpoint and train the remaining steps.

    On the same machine the final weights are bit-identical to those of an uninterrupted run.

    Example: `unknot resume runs/beta_vae-dsprites-1`
    """
    from unknot.cli.screen import bar, say, watcher
    from unknot.cli.train import finish
    from unknot.study import run as runs
    from unknot.study.folder import Folder

    folder = Folder(run)
    steps = folder.spec().updates
    if folder.status().get("status") == "done" and folder.weights.exists():
        if not json:
            say(f"Nothing to do: {run} is finished.")
        finish(runs.load(run, device=device), json)
    if json:
        finish(runs.resume(run, device=device), json)
    with bar("resume", steps, "steps") as update:
        resumed = runs.resume(run, device=device, watch=watcher(update))
    finish(resumed, json)
