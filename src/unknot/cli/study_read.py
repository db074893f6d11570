"""Verbs of ``unknot study`` that read a study and change nothing in it."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.study_options import Device, Folder, Json


def status(study: Folder, json: Json = False) -> None:
    """Say how far a study is.

    Example: `unknot study status studies/betas`
    """
    from unknot.cli.study_say import say_status
    from unknot.study.study import Study

    say_status(Study.open(study), json)


def table(
    study: Folder,
    csv: Annotated[Path | None, typer.Option(help="Write CSV to a file; - for the screen.")] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="Write Parquet; needs unknot[parquet].")
    ] = None,
    dropped: Annotated[
        bool, typer.Option("--dropped", help="Also runs the file no longer asks for.")
    ] = False,
    json: Json = False,
) -> None:
    """Give one line for each run: settings, how it ended, scores.

    Example: `unknot study table studies/betas --csv betas.csv`
    """
    import json as text

    from unknot.cli.screen import say
    from unknot.cli.screen import table as shown
    from unknot.cli.study_say import MOST_LINES, short
    from unknot.study import export
    from unknot.study.study import Study

    opened = Study.open(study)
    rows = opened.table(dropped=dropped)
    if csv:
        if str(csv) == "-":
            typer.echo(export.csv(rows), nl=False)
            return
        export.write_csv(rows, csv)
    if parquet:
        export.write_parquet(rows, parquet)
    if csv or parquet:
        say(f"{len(rows):,} runs in {', '.join(str(path) for path in (csv, parquet) if path)}")
    elif json:
        typer.echo(text.dumps(rows))
    else:
        shown(*short(export.telling(rows, opened.scores()), rows), False)
        if len(rows) > MOST_LINES:
            say(f"... and {len(rows) - MOST_LINES:,} more; all with --csv FILE or --json")


def export(
    study: Folder,
    to: Annotated[str, typer.Option(help="tensorboard, wandb or mlflow.")],
    out: Annotated[
        str | None,
        typer.Option(
            help="TensorBoard's folder [STUDY/tensorboard], a project of W&B, or a tracking URI "
            "of MLflow [what their own environment variables say]."
        ),
    ] = None,
) -> None:
    """Write ended runs to a tracker: settings, curves and scores; those it has are left alone.

    Each needs its own package: `pip install 'unknot[tensorboard]'`, `[wandb]` or `[mlflow]`.

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


def take(
    study: Folder,
    run: Annotated[str, typer.Argument(help="The id of a run, or its first digits.")],
    out: Annotated[Path | None, typer.Option(help="Run folder [runs/ID].")] = None,
    device: Device = "auto",
) -> None:
    """Write one model of a study as a run folder of its own, with its scores.

    Example: `unknot study take studies/betas 3f5a --out runs/best`
    """
    from unknot.cli.screen import say
    from unknot.study import export
    from unknot.study.study import Study

    folder = export.take(Study.open(study), run, out, device=device)
    say(f"Done: {folder}. Next: unknot show {folder}")
