"""``unknot study run``: run a grid of runs, or resume it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.options import (
    Grid,
    Json,
    Quick,
    ScoreEvery,
    SkipMissing,
    StudyData,
    StudyDevice,
    StudyMetrics,
    StudyObjective,
    StudyProtocol,
    StudySeeds,
    StudySet,
    StudyWords,
    StudyWorkers,
    parse_path,
    read_study_flags,
)

if TYPE_CHECKING:
    from unknot.studies.execute.machine import Machine
    from unknot.studies.store import Store


def run(
    words: StudyWords = None,
    quick: Quick = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Study folder.", show_default="studies/NAME", parser=parse_path),
    ] = None,
    set_: StudySet = None,
    data: StudyData = None,
    objective: StudyObjective = None,
    grid: Grid = None,
    seeds: StudySeeds = None,
    metrics: StudyMetrics = None,
    protocol: StudyProtocol = None,
    score_every: ScoreEvery = None,
    device: StudyDevice = "auto",
    workers: StudyWorkers = None,
    backend: Annotated[str, typer.Option(help="Where to run: local, ray or slurm.")] = "local",
    backend_option: Annotated[
        list[str] | None,
        typer.Option(
            "--backend-option",
            help="Option of the backend. For ray: address=HOST:PORT. For slurm: any sbatch option, "
            "e.g. partition=gpu or time=4:00:00. Repeatable.",
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update", help="Apply changes of the study file or flags; finished runs are kept."
        ),
    ] = False,
    skip_missing: SkipMissing = False,
    json: Json = False,
) -> None:
    """Run a study, or resume it. Finished runs and scores are kept.

    If interrupted (Ctrl-C, crash, kill), run the same command again to resume.

    Examples:
    `unknot study run three-betas.toml --out studies/betas`

    `unknot study run quickstart`

    `unknot study run data=xysquares steps=5000 --grid objective.beta=1,4,16 --seeds 0..4`

    `unknot study run studies/betas`

    `unknot study run hartmann2021 --skip-missing`

    `unknot study run three-betas.toml --backend ray --device cuda`

    `unknot study run three-betas.toml --backend slurm --device cuda --backend-option partition=gpu`
    """
    from unknot.cli import interrupts
    from unknot.cli.screen import say, stderr
    from unknot.cli.study.board import watching
    from unknot.cli.study.status import print_status
    from unknot.core.errors import ConfigError
    from unknot.runs.training import Stopped
    from unknot.studies.execute import driver
    from unknot.studies.execute.backends import connect

    folder, file = read_study_flags(
        words,
        set_,
        data=data,
        objective=objective,
        score_every=score_every,
        grid=grid or (),
        seeds=seeds,
        metrics=metrics,
        protocol=protocol,
        quick=quick,
    )
    if file is not None:
        folder = out or Path("studies") / file.folder_name
    elif out is not None:
        raise ConfigError(f"{folder} is a study folder already; --out is for a study file.")
    try:
        with (
            interrupts.keep_handlers(),
            connect(backend, _options(backend_option or []), workers) as performer,
            watching(quiet=json) as (announce, watch),
        ):
            # Until the plan is written nothing is lost, and libraries are still being imported.
            interrupts.listen(at_once=True)

            def begin(store: "Store", machine: "Machine") -> None:
                announce(store, machine)
                interrupts.listen()

            done = driver.run(
                folder or Path(),
                file,
                device=device,
                workers=workers,
                update=update,
                skip_missing=skip_missing,
                on_start=begin,
                watch=watch,
                machine=performer.machine,
                pool=performer.pool,
                stop=interrupts.requested.is_set,
            )
    except (KeyboardInterrupt, Stopped):
        interrupts.requested.clear()
        same = f" --backend {backend}" * (backend != "local") + " --skip-missing" * skip_missing
        stderr.print(f"Stopped. Resume with: unknot study run {folder}{same}", soft_wrap=True)
        raise typer.Exit(interrupts.STOPPED) from None
    print_status(done, json)
    failures = done.status()["failures"]
    if not (json or failures):
        say(f"Next: unknot report {folder}")
    raise typer.Exit(1 if failures else 0)


def _options(assignments: list[str]) -> dict[str, str]:
    """Options of a backend by name."""
    from unknot.core.errors import ConfigError

    options = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise ConfigError(f"--backend-option takes NAME=VALUE, got '{assignment}'.")
        options[name] = value
    return options
