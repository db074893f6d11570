"""``unknot resume``: resume a run that was stopped or killed."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.options import DataPlace, Device, Json, RunArgument

if TYPE_CHECKING:
    from unknot.runs.folder import RunFolder


def resume(
    run: RunArgument,
    steps: Annotated[
        int | None,
        typer.Option(help="Train a finished run until it has so many steps, in all.", min=1),
    ] = None,
    keep_schedule: Annotated[
        bool,
        typer.Option(
            "--keep-schedule",
            help="With --steps, let a schedule that ended with the run end where it did.",
        ),
    ] = False,
    device: Device = "auto",
    data: DataPlace = None,
    json: Json = False,
) -> None:
    """Resume a run from its last checkpoint and train the remaining steps.

    On the same machine the final weights are bit-identical to those of an uninterrupted run.
    Damaged weights and curves of a finished run are written again.

    With `--steps` a finished run is trained for more steps, in its folder, as if it had been asked
    for so many at once. It gets the id of such a run; its weights and scores so far stay as those
    of their step.

    Examples:
    `unknot resume runs/beta_vae-dsprites-1`

    `unknot resume runs/beta_vae-dsprites-1 --steps 60000`
    """
    from unknot.cli import screen
    from unknot.cli.train import print_result
    from unknot.runs import verbs
    from unknot.runs.folder import RunFolder

    folder = RunFolder(run)
    if steps is not None and folder.is_trained and steps != folder.spec().steps:
        _train_longer(folder, steps, keep_schedule, device, data, json)
    updates = folder.spec().updates
    damage = folder.damage()
    if not json:
        if damage:
            screen.say(f"Damaged, to be written again: {', '.join(damage)}")
        elif folder.is_trained:
            screen.say(f"Nothing to do: {run} is finished.")
    with nullcontext() if json else screen.bar("resume", updates, "steps") as update:
        watch = screen.watcher(update) if update else lambda _: None
        resumed = verbs.resume(run, device=device, data=data, watch=watch)
    print_result(resumed, json)


def _train_longer(
    folder: "RunFolder", steps: int, keep_schedule: bool, device: str, data: str | None, json: bool
) -> None:
    from unknot.cli import screen
    from unknot.cli.train import print_result
    from unknot.runs import longer
    from unknot.runs.own_data import data_of_run
    from unknot.runs.run import Run
    from unknot.runs.signals import stop_on_signal

    spec = longer.longer_spec(folder.spec(), steps, keep_schedule=keep_schedule)
    with (
        nullcontext() if json else screen.bar("train", spec.updates, "steps") as update,
        stop_on_signal() as stop,
    ):
        training = longer.train_longer(
            folder,
            steps,
            keep_schedule=keep_schedule,
            device=device,
            data=data_of_run(data, spec.data),
            watch=screen.watcher(update) if update else lambda _: None,
            stop=stop.is_set,
        )
    print_result(Run(training, folder.path), json)
