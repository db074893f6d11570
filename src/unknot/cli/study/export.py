"""``unknot study export``: a study in an experiment tracker."""

from typing import Annotated

import typer

from unknot.cli.options import StudyArgument


def export(
    study: StudyArgument,
    to: Annotated[str, typer.Option(help="Tracker: tensorboard, wandb or mlflow.")],
    out: Annotated[
        str | None,
        typer.Option(
            help="TensorBoard folder, W&B project or MLflow tracking URI.",
            show_default="STUDY/tensorboard; WANDB_PROJECT or the study's name; "
            "MLFLOW_TRACKING_URI",
        ),
    ] = None,
) -> None:
    """Export the settings, curves and scores of finished runs to an experiment tracker.

    Runs that the tracker already has are skipped. Each tracker needs its extra, e.g.
    `pip install 'unknot[tensorboard]'`, `[wandb]` or `[mlflow]`.

    Examples:
    `unknot study export studies/betas --to tensorboard`

    `unknot study export studies/betas --to mlflow --out sqlite:///runs.db`
    """
    from unknot.cli.screen import say
    from unknot.core.errors import ConfigError
    from unknot.core.registry import nearest
    from unknot.studies.study import Study
    from unknot.studies.tracking import TRACKERS

    if to not in TRACKERS:
        raise ConfigError(f"There is no tracker '{to}'{nearest(to, [*TRACKERS])}")
    say(f"Done: {TRACKERS[to](Study.open(study), out)}")
