"""``unknot study``: grids of runs, planned, run, continued and read."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unknot.study.machine import Cluster
    from unknot.study.plan import Plan
    from unknot.study.study import Study

app = typer.Typer(help="Plan, run and read studies: grids of runs.", no_args_is_help=True)

Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting, such as train.steps=100; may be repeated."),
]
Grid = Annotated[
    list[str] | None,
    typer.Option("--grid", help="An axis, such as objective.beta=1,2,4; may be repeated."),
]
Seeds = Annotated[str | None, typer.Option(help="7, or 0,3,5, or 0..9.")]
Metrics = Annotated[str | None, typer.Option(help="Scores with commas between, or all.")]
Protocol = Annotated[str | None, typer.Option(help="Of the scores, such as study2019.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")]
Workers = Annotated[
    int | None, typer.Option(help="Processes [one for each core; one on a GPU].", min=1)
]
On = Annotated[str, typer.Option(help="Where: local, ray or slurm.")]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        help="For --on ray: address=HOST:PORT. For --on slurm: an option of sbatch, such as "
        "partition=gpu or time=4:00:00; may be repeated.",
    ),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Its short version: what the file has under [quick].")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Folder = Annotated[Path, typer.Argument(help="A study's folder.")]


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
    _say_plan(given, facts, here.words, json)


def _say_plan(given: "Plan", facts: dict[str, Any], here: str, json: bool) -> None:
    import json as text

    from unknot.cli.screen import say, table
    from unknot.study import export
    from unknot.study.plan import setting_table
    from unknot.study.study import flat

    settings = [flat(setting_table(spec)) for spec in given.settings]
    if json:
        typer.echo(text.dumps({**facts, "plan": settings, "ids": [r.id for r in given.runs]}))
        return
    if varied := export.varied(settings):
        table(*_short(varied, settings), False)
        if len(settings) > MOST_LINES:
            say(f"... and {len(settings) - MOST_LINES:,} more settings")
    say(
        f"{facts['name']}: {facts['runs']:,} runs ({facts['settings']:,} settings x "
        f"{facts['seeds']:,} seeds) in {facts['populations']:,} populations, "
        f"{facts['steps']:,} steps"
    )
    if facts["doubles"]:
        say(f"{facts['doubles']:,} settings were asked for more than once and count once.")
    say(f"On {here}.")
    if "estimate" in facts:
        say(f"Time: {facts['estimate']}.")
    if "budget" in facts:
        say(f"Budget: {facts['budget']}.")


MOST_LINES = 40
"""Of a table for people; files and --json have all."""


def _short(
    names: list[str], rows: "Sequence[Mapping[str, Any]]"
) -> tuple[list[str], list[dict[str, str]]]:
    """A table for people: the first lines, and short names where they are clear."""
    from unknot.study.export import cell

    brief = [name.removeprefix("objective.") for name in names]
    heads = [b if brief.count(b) == 1 else n for n, b in zip(names, brief, strict=True)]
    pairs = [*zip(heads, names, strict=True)]
    return heads, [{head: cell(row.get(n)) for head, n in pairs} for row in rows[:MOST_LINES]]


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
    _say_status(done, json)
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


@app.command("status")
def status(study: Folder, json: Json = False) -> None:
    """Say how far a study is.

    Example: `unknot study status studies/betas`
    """
    from unknot.study.study import Study

    _say_status(Study.open(study), json)


def _say_status(study: "Study", json: bool) -> None:
    import json as text

    from rich.markup import escape

    from unknot.cli.screen import say

    facts = study.status()
    if json:
        typer.echo(text.dumps(facts, indent=1))
        return
    for what in ("runs", "populations"):
        counts = [f"{n:,} {name}" for name, n in facts[what].items() if name != "all"]
        say(f"{facts[what]['all']:,} {what}: {', '.join(counts)}")
    done, steps = facts["steps"]["done"], facts["steps"]["all"]
    say(f"{done:,} of {steps:,} steps ({done / max(steps, 1):.0%}), {facts['scores']:,} scores")
    for failure in facts["failures"]:
        say(escape(f"{failure['populations']} failed: {failure['error']}"))
    if facts["driver"]:
        say("A process is at work on it.")
    elif facts["runs"].get("waiting") or facts["failures"]:
        say(f"Go on with: unknot study run {study.path}")


@app.command("table")
def table(
    study: Folder,
    csv: Annotated[Path | None, typer.Option(help="Write CSV to a file; - for the screen.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write Parquet; needs pyarrow.")] = None,
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
        shown(*_short(export.telling(rows, opened.scores()), rows), False)
        if len(rows) > MOST_LINES:
            say(f"... and {len(rows) - MOST_LINES:,} more; all with --csv FILE or --json")


@app.command("export")
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


@app.command("take")
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
