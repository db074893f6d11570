"""``unknot study``: plan, run and resume grids of runs; `study_read` has the other commands."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unknot.cli import study_read
from unknot.cli.study_options import (
    Backend,
    BackendOption,
    Device,
    Grid,
    Json,
    Metrics,
    Protocol,
    Quick,
    Seeds,
    Set,
    Workers,
)

app = typer.Typer(
    help="Plan, run, resume and export studies (grids of runs).", no_args_is_help=True
)


@app.command("plan")
def plan(
    file: Annotated[
        Path | None, typer.Argument(help="Study file (TOML), or the name of a preset.")
    ] = None,
    quick: Quick = False,
    set_: Set = None,
    grid: Grid = None,
    seeds: Seeds = None,
    metrics: Metrics = None,
    protocol: Protocol = None,
    device: Device = "auto",
    workers: Workers = None,
    estimate: Annotated[
        bool, typer.Option(help="Time a few steps of each population and estimate the total.")
    ] = True,
    budget: Annotated[
        bool,
        typer.Option("--budget", help="Estimate the cost on one H200 GPU; nothing is timed here."),
    ] = False,
    json: Json = False,
) -> None:
    """Show what a study would run and estimate its training time. Nothing is written.

    Examples:
    `unknot study plan three-betas.toml`

    `unknot study plan hartmann2021 --budget`

    `unknot study plan --set train.steps=100 --grid objective.beta=1,2,4 --seeds 0..4`
    """
    from unknot.cli.study_say import say_plan
    from unknot.study.budget import budget as estimated_cost
    from unknot.study.estimate import estimate as measured
    from unknot.study.machine import machine
    from unknot.study.plan import plan as plan_study
    from unknot.study.plan import shards
    from unknot.study.study_file import read_study

    given = plan_study(
        read_study(
            file,
            assignments=set_ or (),
            grid=grid or (),
            seeds=seeds,
            metrics=metrics,
            protocol=protocol,
            quick=quick,
        )
    )
    here = machine(len(given.runs), device=device, workers=workers)
    members = given.sweep.members or here.members(len(given.runs))
    populations = shards(given, members=members)
    facts: dict[str, Any] = {
        "name": given.sweep.name,
        "runs": len(given.runs),
        "settings": len(given.settings),
        "seeds": len(given.sweep.seeds),
        "doubles": given.doubles,
        "populations": len(populations),
        "steps": given.steps,
        "metrics": given.sweep.metrics if given.sweep.metrics is not None else "all",
        "protocol": given.sweep.protocol,
        "device": here.device,
        "workers": here.workers,
        "threads": here.threads,
    }
    if budget:
        cost = estimated_cost(given)
        facts["budget_hours"] = {name: s / 3_600 for name, s in cost.seconds.items()}
        facts["budget"] = cost.words
    elif estimate:
        found = measured(given, populations, here)
        facts["seconds"] = found.seconds if found.measured else None
        facts["estimate"] = found.words
    say_plan(given, facts, here.words, json)


@app.command("run")
def run(
    study: Annotated[
        Path | None,
        typer.Argument(
            help="Study file (TOML), preset (see `unknot study list`) or study folder. Without it, "
            "the study is made from --set, --grid and --seeds."
        ),
    ] = None,
    quick: Quick = False,
    out: Annotated[
        Path | None, typer.Option(help="Study folder.", show_default="studies/NAME")
    ] = None,
    set_: Set = None,
    grid: Grid = None,
    seeds: Seeds = None,
    metrics: Metrics = None,
    protocol: Protocol = None,
    device: Device = "auto",
    workers: Workers = None,
    backend: Backend = "local",
    backend_option: BackendOption = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update", help="Apply changes of the study file or flags; finished runs are kept."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Run a study, or resume it. Finished runs and scores are kept.

    If interrupted (Ctrl-C, crash, kill), run the same command again to resume.

    Examples:
    `unknot study run three-betas.toml --out studies/betas`

    `unknot study run quickstart`

    `unknot study run --set train.steps=5000 --grid objective.beta=1,4,16 --seeds 0..4`

    `unknot study run studies/betas`

    `unknot study run three-betas.toml --backend ray --device cuda`

    `unknot study run three-betas.toml --backend slurm --device cuda --backend-option partition=gpu`
    """
    import signal

    from unknot.cli.study_say import say_status
    from unknot.cli.study_screen import watching
    from unknot.core.errors import ConfigError
    from unknot.study import execute
    from unknot.study.backends import connect
    from unknot.study.study_file import read_study

    file, folder = None, study
    if study is None or not study.is_dir():
        file = read_study(
            study,
            assignments=set_ or (),
            grid=grid or (),
            seeds=seeds,
            metrics=metrics,
            protocol=protocol,
            quick=quick,
        )
        folder = out or Path("studies") / file.folder_name
    elif set_ or grid or seeds or metrics or protocol or quick or out:
        raise ConfigError(
            f"Flags apply to a study file, not to a study folder: edit {study}/study.toml, then "
            "add --update."
        )
    with (
        connect(backend, _options(backend_option or []), workers) as performer,
        watching(quiet=json) as (begun, watch),
    ):
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            done = execute.run(
                folder or Path(),
                file,
                device=device,
                workers=workers,
                update=update,
                begun=begun,
                watch=watch,
                machine=performer.machine,
                pool=performer.pool,
            )
        except KeyboardInterrupt:
            same = f" --backend {backend}" * (backend != "local")
            typer.echo(f"Stopped. Resume with: unknot study run {folder}{same}", err=True)
            raise typer.Exit(130) from None
        finally:
            signal.signal(signal.SIGTERM, before)
    say_status(done, json)
    raise typer.Exit(1 if done.status()["failures"] else 0)


def _options(given: list[str]) -> dict[str, str]:
    """Options of a backend by name."""
    from unknot.core.errors import ConfigError

    options = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ConfigError(f"--backend-option takes NAME=VALUE, got '{word}'.")
        options[name] = value
    return options


@app.command("list")
def list_(json: Json = False) -> None:
    """List presets: published studies that `plan` and `run` accept by name.

    Example: `unknot study list`
    """
    from unknot.cli.screen import say
    from unknot.cli.screen import table as shown
    from unknot.study import presets
    from unknot.study.study_file import read_study

    rows: list[dict[str, Any]] = []
    for name in presets.names():
        row: dict[str, Any] = {"name": name}
        for key, quick in (("runs", False), ("quick", True)):
            sweep = read_study(Path(name), quick=quick).sweep
            row[key] = len(sweep.settings) * len(sweep.seeds)
        rows.append({**row, "about": presets.summary(name)})
    shown(["name", "runs", "quick", "about"], rows, json)
    if not json:
        say(f"The study files are in {presets.FOLDER}; copy one to change it.")


app.command("status")(study_read.status)
app.command("table")(study_read.table)
app.command("export")(study_read.export)
app.command("extract")(study_read.extract)
