"""``unknot gallery``: every objective on one dataset, side by side."""

from pathlib import Path
from typing import Annotated

import typer


def gallery(
    objectives: Annotated[
        list[str] | None, typer.Argument(help="Objectives.", show_default="all")
    ] = None,
    data: Annotated[str, typer.Option(help="Dataset.")] = "dsprites",
    net: Annotated[str, typer.Option(help="Network architecture.")] = "conv64",
    steps: Annotated[int, typer.Option(help="Training steps per objective.", min=1)] = 2_000,
    batch: Annotated[int, typer.Option(help="Images per step.", min=2)] = 32,
    lr: Annotated[float, typer.Option(help="Adam learning rate.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Random seed, the same for all objectives.", min=0)] = 0,
    out: Annotated[Path, typer.Option(help="Output folder for the runs and the page.")] = Path(
        "gallery"
    ),
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:1.")] = "auto",
) -> None:
    """Train each objective for a few thousand steps and show the results on one page.

    Each objective gets its own run folder. If interrupted, run the same command again to resume.

    Examples: `unknot gallery`

    `unknot gallery vae beta_vae factor_vae --steps 10000 --out three`
    """
    from unknot.cli.screen import beside, say
    from unknot.cli.train import print_result, train_with_bar
    from unknot.core import registry
    from unknot.core.errors import ConfigError, StoreError
    from unknot.report.gallery import write_gallery
    from unknot.study import config, evaluate, records, run
    from unknot.study.folder import RunFolder
    from unknot.study.gallery import short

    names = objectives or registry.names("objectives")
    specs = {
        name: config.spec(
            {
                "data": data,
                "net": net,
                "objective": {"name": name, **short(name, steps)},
                "optim": {"lr": lr},
                "steps": steps,
                "batch": batch,
                "seeds": seed,
                "log_every": max(1, steps // 100),
            }
        )
        for name in names
    }
    if any((out / file).exists() for file in ("run.toml", "study.db")):
        raise StoreError(f"{out} is not a gallery folder; choose another with --out.")
    for name, spec in specs.items():
        if (out / name / "run.toml").exists() and RunFolder(out / name).spec().ids() != spec.ids():
            raise ConfigError(
                f"{out / name} was trained with other settings; choose another folder with --out."
            )
    runs: dict[str, run.Run] = {}
    scores: dict[str, dict[str, float]] = {}
    for name, spec in specs.items():
        folder = out / name
        done = (
            run.resume(folder, device=device)
            if folder.exists()
            else train_with_bar(spec, folder, device)
        )
        if done.status == "stopped":
            print_result(done, False)
        runs[name], scores[name] = done, {}
        if done.status == "diverged":  # which the page says
            continue
        with beside.status(f"scoring {name}"):
            known = records.read(folder)
            (found,) = evaluate.evaluate(done, metrics=("mig", "cbd"), known=known)
        records.append(folder, found)
        scores[name] = {record.metric: record.values[record.metric] for record in found}
    for path in write_gallery(runs, out, scores=scores):
        say(str(path))
