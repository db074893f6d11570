"""``unknot study`` commands that read a study and change nothing in it."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.study_options import Device, Folder, Json


def status(study: Folder, json: Json = False) -> None:
    """Show the progress of a study.

    Example: `unknot study status studies/betas`
    """
    from unknot.cli.study_say import say_status
    from unknot.study.study import Study

    say_status(Study.open(study), json)


def table(
    study: Folder,
    csv: Annotated[Path | None, typer.Option(help="Write CSV to this file (- for stdout).")] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="Write Parquet to this file (needs unknot[parquet]).")
    ] = None,
    dropped: Annotated[
        bool, typer.Option("--dropped", help="Include runs that the study file no longer contains.")
    ] = False,
    json: Json = False,
) -> None:
    """Print one row per run: settings, status and scores.

    Example: `unknot study table studies/betas --csv betas.csv`
    """
    import json as text

    from unknot.cli.screen import say
    from unknot.cli.screen import table as shown
    from unknot.cli.study_say import MOST_LINES, short
    from unknot.core.csv_files import csv_text
    from unknot.core.files import write_whole
    from unknot.study import export
    from unknot.study.study import Study

    opened = Study.open(study)
    rows = opened.table(dropped=dropped)
    if csv:
        if str(csv) == "-":
            typer.echo(csv_text(rows), nl=False)
            return
        write_whole(csv, csv_text(rows))
    if parquet:
        export.write_parquet(rows, parquet)
    if csv or parquet:
        say(f"{len(rows):,} runs in {', '.join(str(path) for path in (csv, parquet) if path)}")
    elif json:
        typer.echo(text.dumps(rows))
    else:
        shown(*short(export.telling(rows, opened.scores()), rows), False)
        if len(rows) > MOST_LINES:
            say(f"... and {len(rows) - MOST_LINES:,} more; use --csv FILE or --json for all")


def export(
    study: Folder,
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
    from unknot.study.study import Study
    from unknot.study.tracking import TRACKERS

    if to not in TRACKERS:
        raise ConfigError(f"There is no tracker '{to}'{nearest(to, [*TRACKERS])}")
    say(f"Done: {TRACKERS[to](Study.open(study), out)}")


def extract(
    study: Folder,
    run: Annotated[str, typer.Argument(help="Run id, or its first characters.")],
    out: Annotated[Path | None, typer.Option(help="Run folder.", show_default="runs/ID")] = None,
    device: Device = "auto",
) -> None:
    """Extract one model of a study, with its scores, as a run folder.

    Example: `unknot study extract studies/betas 3f5a --out runs/best`
    """
    from unknot.cli.screen import say
    from unknot.study import export
    from unknot.study.study import Study

    folder = export.extract(Study.open(study), run, out, device=device)
    say(f"Done: {folder}. Next: unknot show {folder}")
