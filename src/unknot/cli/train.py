"""``unknot train``: from a file or flags to a run folder."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.cli.options import (
    Device,
    Json,
    Kinds,
    Labels,
    SkipBroken,
    override,
    parse_path,
    split_words,
)

if TYPE_CHECKING:
    from unknot.runs.run import Run
    from unknot.runs.spec import TrainSpec
    from unknot.runs.training import Training


def train(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE] [KEY=VALUE]...",
            help="TOML file with settings, and settings such as steps=20000 or beta=4.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Dataset (see `unknot list datasets`), or your own images: a folder or a file.",
            show_default="dsprites",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(help="Objective; see `unknot list objectives`.", show_default="beta_vae"),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Named settings of the objective, e.g. study2019 (Locatello et al. 2019)."
        ),
    ] = None,
    net: Annotated[
        str | None,
        typer.Option(
            help="Network architecture; see `unknot list nets`.",
            show_default="conv64; conv for images of other sizes",
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps.", show_default="20000")] = None,
    batch: Annotated[
        int | None, typer.Option(help="Images per step, for each model.", show_default="64")
    ] = None,
    lr: Annotated[
        float | None, typer.Option(help="Learning rate.", show_default="0.0001 for Adam")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            help="Train one model per seed: 7 (only seed 7), 0,3,5 (a list) or 0..9 (a range).",
            show_default="0",
        ),
    ] = None,
    device: Device = "auto",
    precision: Annotated[
        str | None,
        typer.Option(
            help="Numerical precision: float32, tf32, bf16 or float64.", show_default="float32"
        ),
    ] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(help="Steps between checkpoints.", show_default="1000")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Run folder.", show_default="runs/OBJECTIVE-DATA-N", parser=parse_path),
    ] = None,
    labels: Labels = None,
    kind: Kinds = None,
    skip_broken: SkipBroken = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="The same as a word KEY=VALUE. Repeatable."),
    ] = None,
    json: Json = False,
) -> None:
    """Train one model, or one per seed, and write a run folder.

    Several seeds are trained together on a GPU and one after the other on a CPU. Flags override
    the file; words and `--set` override both. Ctrl-C stops the run; resume it with
    `unknot resume`.

    Examples:
    `unknot train --objective beta_vae --set objective.beta=4 --steps 20000`

    `unknot train data=xysquares objective=beta_vae beta=4 latents=6`

    `unknot train --seeds 0..9 --precision bf16 --device cuda --out runs/ten`

    `unknot train settings.toml --set 'objective.beta={kind="linear", start=0, end=4, steps=5000}'`

    `unknot train --data photos/ --labels people.csv --set data.size=64`

    `unknot train --objective ada_gvae --data xysquares --set sampler.changed=1`

    `unknot train beta=0.1 --set 'objective.likelihood={kind="features", path="runs/first"}'`
    """
    from unknot.cli.screen import counting_bar
    from unknot.data.parts.published_images import decode_files
    from unknot.runs import config
    from unknot.runs.free_folder import free_folder
    from unknot.runs.words import apply as apply_words

    flags: dict[str, Any] = {
        "data.name": data,
        "data.skip_broken": skip_broken or None,
        "data.labels": labels,
        "data.kinds": kind or None,
        "objective.name": objective,
        "objective.preset": preset,
        "net.name": net,
        "optim.lr": lr,
        "steps": steps,
        "batch": batch,
        "precision": precision,
        "checkpoint_every": checkpoint_every,
        "seeds": None if seeds is None else config.seeds(seeds),
    }
    file, settings = split_words(words or [])
    table = override(_read_settings(file) if file else {}, flags, None)
    table = apply_words(table, [*settings, *(set_ or [])])
    with counting_bar("read", "images") as update:
        spec = config.spec(table, on_progress=update)
        decode_files(spec.data.settings, update)
    name = f"{spec.objective.name.rpartition(':')[2]}-{spec.data.title}"
    with nullcontext(out) if out else free_folder(name) as folder:
        print_result(train_with_bar(spec, folder, device, quiet=json), json)


def _read_settings(file: Path) -> dict[str, Any]:
    """The settings of a file; other words are told where they belong."""
    from unknot.core import registry
    from unknot.core.errors import ConfigError
    from unknot.core.toml import read_toml

    if file.suffix != ".toml" and (file.is_dir() or not file.exists()):
        flags: dict[registry.Room, str] = {
            "datasets": "data",
            "objectives": "objective",
            "nets": "net",
        }
        flag = next((flag for room, flag in flags.items() if str(file) in registry.names(room)), "")
        data = f" For data: --data {file}." if file.is_dir() else ""
        data = f" It is a name: --{flag} {file}." if flag else data
        raise ConfigError(
            f"Expected a TOML file of settings, or settings such as beta=4; got '{file}'.{data}"
        )
    table = read_toml(file)
    if {"train", "across", "grid"} & {*table}:
        raise ConfigError(f"{file} is a study file; use `unknot study run {file}`.")
    return table


def train_with_bar(spec: "TrainSpec", folder: Path, device: str, *, quiet: bool = False) -> "Run":
    """Train into a folder and show how far it is."""
    from unknot.cli.screen import bar, say, watcher
    from unknot.runs.verbs import train

    if quiet:
        return train(spec, out=folder, device=device)
    with bar("train", spec.updates, "steps") as update:

        def announce(training: "Training") -> None:
            dataset = training.context.dataset
            say(dataset.summary)
            say(
                f"Training {len(spec.seed_list)} x ",
                (spec.objective.name, "bold"),
                f" ({spec.net.name}) on ",
                (spec.data.title, "bold"),
                f", {spec.updates:,} steps of {spec.batch} {dataset.noun}, into {folder}",
            )
            if spec.updates != spec.steps:
                say(f"As published, {spec.steps:,} steps count both optimisers: an update is two.")
            update(0, "")

        watch = watcher(update)
        return train(spec, out=folder, device=device, watch=watch, on_start=announce)


def print_result(run: "Run", as_json: bool) -> None:
    """Say how it ended, and end with the exit code that says it too."""
    from math import isfinite

    from unknot.cli.screen import print_json, say

    last = {name: rows[-1] for name, rows in run.training.curves.values.items()}
    facts = {
        "run": str(run.path),
        "status": run.status,
        "step": run.step,
        "ids": run.spec.ids(),
        "diverged": run.diverged,
        "last": {
            name: [number if isfinite(number) else None for number in value.tolist()]
            for name, value in last.items()
            if not name.endswith(".weight")
        },
    }
    if as_json:
        print_json(facts)
    elif run.status == "stopped":
        say(f"Stopped at step {run.step:,}. Resume with: unknot resume {run.path}")
    elif run.status == "diverged":
        say(f"All models diverged; see {run.path}. Try a lower learning rate (--lr).")
    else:
        if run.diverged:
            say(f"{len(run.diverged)} of {len(run.spec.seed_list)} models diverged.")
        say(f"Done: {run.path}. Next: unknot show {run.path}")
    codes = {"done": 0, "stopped": 130, "diverged": 1, "running": 1}
    raise typer.Exit(codes[run.status])
