"""``unknot study``: grids of runs, planned, run and continued; `study_read` has the rest."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.cli import study_read
from unknot.cli.study_options import (
    Device,
    Grid,
    Json,
    Metrics,
    On,
    Protocol,
    Quick,
    Seeds,
    Set,
    With,
    Workers,
)

if TYPE_CHECKING:
    from unknot.study.machine import Cluster

app = typer.Typer(help="Plan, run and read studies: grids of runs.", no_args_is_help=True)


@app.command("plan")
def plan(
    file: Annotated[Path | None, typer.Argument(help="A study file, or a preset.")] = None,
    quick: Quick = False,
    set_: Set = None,
    grid: Grid = None,
    seeds: Seeds = None,
    metrics: Metrics = None,
    protocol: Protocol = None,
    device: Device = "auto",
    workers: Workers = None,
    estimate: Annotated[
        bool, typer.Option(help="Time a few steps of each kind of run, to say how long.")
    ] = True,
    budget: Annotated[
        bool, typer.Option("--budget", help="Say what it costs on one H200; times nothing here.")
    ] = False,
    json: Json = False,
) -> None:
    """Say what a study would run, and how long that would take here; nothing is written.

    Examples:
    `unknot study plan three-betas.toml`

    `unknot study plan hartmann2021 --budget`

    `unknot study plan --set train.steps=100 --grid objective.beta=1,2,4 --seeds 0..4`
    """
    from unknot.cli.study_say import say_plan
    from unknot.study.budget import budget as reckoned
    from unknot.study.estimate import estimate as measured
    from unknot.study.execute import planned
    from unknot.study.machine import machine
    from unknot.study.plan import shards
    from unknot.study.study_file import asked

    words = {"set_": set_ or [], "grid": grid or [], "seeds": seeds}
    given = planned(asked(file, **words, metrics=metrics, protocol=protocol, quick=quick))  # type: ignore[arg-type]
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
        cost = reckoned(given)
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
        Path | None, typer.Argument(help="A study file, a preset, or a study's folder.")
    ] = None,
    quick: Quick = False,
    out: Annotated[Path | None, typer.Option(help="Folder [studies/NAME].")] = None,
    set_: Set = None,
    grid: Grid = None,
    seeds: Seeds = None,
    metrics: Metrics = None,
    protocol: Protocol = None,
    device: Device = "auto",
    workers: Workers = None,
    on: On = "local",
    with_: With = None,
    update: Annotated[
        bool, typer.Option("--update", help="Go on with a study file that has changed.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a study, or go on with it: what is done is not done again.

    Ctrl-C stops with a state to go on from, and so does any other end.

    Examples:
    `unknot study run three-betas.toml --out studies/betas`

    `unknot study run quickstart`

    `unknot study run studies/betas`

    `unknot study run three-betas.toml --on ray --device cuda`

    `unknot study run three-betas.toml --on slurm --device cuda --with partition=gpu`
    """
    import signal

    from unknot.cli.study_say import say_status
    from unknot.cli.study_screen import watching
    from unknot.core.errors import ConfigError
    from unknot.study import execute
    from unknot.study.machine import machine
    from unknot.study.study_file import asked, slug

    text, folder = None, study
    if study is None or not study.is_dir():
        words = {"set_": set_ or [], "grid": grid or [], "seeds": seeds}
        text = asked(study, **words, metrics=metrics, protocol=protocol, quick=quick)  # type: ignore[arg-type]
        folder = out or Path("studies") / slug(text)
    elif set_ or grid or seeds or metrics or protocol or quick or out:
        raise ConfigError(
            f"Flags change a study file, not a folder: edit {study}/study.toml and say --update."
        )
    with _cluster(on, with_ or [], workers) as cluster, watching(quiet=json) as (begun, watch):
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            done = execute.run(
                folder or Path(),
                text,
                device=device,
                workers=workers,
                update=update,
                begun=begun,
                watch=watch,
                machine=cluster.machine if cluster else machine,
                pool=cluster.pool if cluster else None,
            )
        except KeyboardInterrupt:
            same = f" --on {on}" * (on != "local")
            typer.echo(f"Stopped. Go on with: unknot study run {folder}{same}", err=True)
            raise typer.Exit(130) from None
        finally:
            signal.signal(signal.SIGTERM, before)
    say_status(done, json)
    raise typer.Exit(1 if done.status()["failures"] else 0)


def _cluster(
    on: str, given: list[str], workers: int | None
) -> "AbstractContextManager[Cluster | None]":
    """The cluster that a study runs on; None for this machine."""
    from unknot.core.errors import ConfigError

    options = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ConfigError(f"--with takes NAME=VALUE, got '{word}'.")
        options[name] = value
    if on == "slurm":
        from unknot.study import slurm_pool

        return nullcontext(slurm_pool.slurm(options, workers=workers))
    known = {"ray": ["address"], "local": []}
    if on not in known:
        raise ConfigError(f"--on takes local, ray or slurm, got '{on}'.")
    if unknown := [name for name in options if name not in known[on]]:
        raise ConfigError(f"--on {on} has no option '{unknown[0]}'; see --help.")
    if on == "local":
        return nullcontext(None)
    from unknot.study import ray_pool

    return ray_pool.connected(options.get("address"), workers=workers)


@app.command("list")
def list_(json: Json = False) -> None:
    """List the presets: published studies that `plan` and `run` take by name.

    Example: `unknot study list`
    """
    import tomllib

    from unknot.cli.screen import say
    from unknot.cli.screen import table as shown
    from unknot.study import presets
    from unknot.study.study_file import asked
    from unknot.study.sweep import expand

    rows: list[dict[str, Any]] = []
    for name in presets.names():
        row: dict[str, Any] = {"name": name}
        for key, quick in (("runs", False), ("quick", True)):
            sweep = expand(tomllib.loads(asked(Path(name), quick=quick)))
            row[key] = len(sweep.settings) * len(sweep.seeds)
        rows.append({**row, "about": presets.summary(name)})
    shown(["name", "runs", "quick", "about"], rows, json)
    if not json:
        say(f"Files to copy and change: {presets.FOLDER}")


app.command("status")(study_read.status)
app.command("table")(study_read.table)
app.command("export")(study_read.export)
app.command("take")(study_read.take)
