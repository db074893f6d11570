"""``unknot resume``: resume a run that was stopped or killed."""

from contextlib import nullcontext

from unknot.cli.options import DataPlace, Device, Json, RunArgument


def resume(
    run: RunArgument, device: Device = "auto", data: DataPlace = None, json: Json = False
) -> None:
    """Resume a run from its last checkpoint and train the remaining steps.

    On the same machine the final weights are bit-identical to those of an uninterrupted run.
    Damaged weights and curves of a finished run are written again.

    Example: `unknot resume runs/beta_vae-dsprites-1`
    """
    from unknot.cli import screen
    from unknot.cli.train import print_result
    from unknot.runs import run as runs
    from unknot.runs.folder import RunFolder

    folder = RunFolder(run)
    steps = folder.spec().updates
    damage = folder.damage()
    if not json:
        if damage:
            screen.say(f"Damaged, to be written again: {', '.join(damage)}")
        elif folder.is_trained:
            screen.say(f"Nothing to do: {run} is finished.")
    with nullcontext() if json else screen.bar("resume", steps, "steps") as update:
        watch = screen.watcher(update) if update else lambda _: None
        resumed = runs.resume(run, device=device, data=data, watch=watch)
    print_result(resumed, json)
