"""``unknot gallery``: every objective on one dataset, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import Device, output_folder, parse_path


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
    out: Annotated[
        Path, typer.Option(help="Output folder for the runs and the page.", parser=parse_path)
    ] = Path("gallery"),
    device: Device = "auto",
) -> None:
    """Train each objective for a few thousand steps and show the results on one page.

    Each objective gets its own run folder. If interrupted, run the same command again to resume.

    Examples: `unknot gallery`

    `unknot gallery vae beta_vae factor_vae --steps 10000 --out three`
    """
    from unknot.cli.screen import say, stderr
    from unknot.cli.train import print_result, train_with_bar
    from unknot.report.gallery import write_gallery
    from unknot.runs import evaluate, records, verbs
    from unknot.runs.run import Run
    from unknot.studies.gallery import check_folder, specs

    output_folder(out, page="index.html")
    settings = specs(objectives, data=data, net=net, steps=steps, batch=batch, lr=lr, seed=seed)
    check_folder(out, settings)
    runs: dict[str, Run] = {}
    scores: dict[str, dict[str, float]] = {}
    for name, spec in settings.items():
        folder = out / name
        done = (
            verbs.resume(folder, device=device)
            if folder.exists()
            else train_with_bar(spec, folder, device)
        )
        if done.status == "stopped":
            print_result(done, False)
        runs[name], scores[name] = done, {}
        if done.status == "diverged":  # which the page says
            continue
        with stderr.status(f"scoring {name}"):
            stored = records.read(folder)
            (new,) = evaluate.evaluate(  # images without labels have no scores
                done, metrics=("mig", "cbd"), strict=False, stored=stored
            )
        records.append(folder, new)
        scores[name] = {record.metric: record.values[record.metric] for record in new}
    for path in write_gallery(runs, out, scores=scores):
        say(str(path))
