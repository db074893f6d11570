"""``unknot resume``: resume a run that was stopped or killed."""

from contextlib import nullcontext
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
    from unknot.cli.train import print_result
    from unknot.study import run as runs
    from unknot.study.folder import RunFolder

    folder = RunFolder(run)
    steps = folder.spec().updates
    if folder.is_trained and not json:
        say(f"Nothing to do: {run} is finished.")
    with nullcontext() if json else bar("resume", steps, "steps") as update:
        watch = watcher(update) if update else lambda _: None
        resumed = runs.resume(run, device=device, watch=watch)
    print_result(resumed, json)
