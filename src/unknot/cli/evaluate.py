"""``unknot evaluate``: score a run."""

from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    metrics: Annotated[
        str | None,
        typer.Option(help="Metrics, separated by commas, e.g. mig,dci.", show_default="all"),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="Metric protocol (named settings): unknot (our choice), study2019 (Locatello et "
            "al. 2019), study2019_fast (with DCI in float32), carbonneau (Carbonneau et al. 2022) "
            "or paper (the paper that introduced the metric)."
        ),
    ] = "unknot",
    seed: Annotated[int, typer.Option(help="Random seed for the metrics.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:1.")] = "auto",
    workers: Annotated[
        int | None,
        typer.Option(
            help="Worker processes, if the run has several models.",
            show_default="one per core",
            min=1,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compute metrics for the models of a run and add the scores to its scores.jsonl.

    Scores that the file already has are not computed again.

    Example: `unknot evaluate runs/beta_vae-dsprites-1 --metrics mig,sap --protocol study2019`
    """
    from contextlib import closing
    from dataclasses import asdict

    from rich.markup import escape

    from unknot.cli.screen import bar, say, table
    from unknot.study import evaluate as scores
    from unknot.study import lock, scoring
    from unknot.study import records as kept
    from unknot.study.run import load

    names = scores.known([name.strip() for name in metrics.split(",")]) if metrics else None
    request = scores.ScoringRequest(
        names or scores.everything(), protocol, seed, strict=names is not None
    )
    models = scores.models(load(run, device=device).training, request)
    records, new = [], 0
    with (
        bar("score", len(models) * len(request.metrics), "scores") as update,
        closing(
            scoring.score(
                models,
                request,
                known=kept.read(run),
                processes=workers or scoring.spare(),
                on_score=lambda done: update(done, " "),
            )
        ) as scored,
    ):
        for of_model in scored:
            with lock.hold(run, f"Another process is at work in {run}.", patience=30.0):
                new += kept.append(run, of_model)
            records += of_model
    skipped: dict[str, list[str]] = {}
    for record in records:
        if not record.applies:
            reason = record.remarks[0].removeprefix(f"{record.metric} ")
            skipped.setdefault(reason, []).append(record.metric)
    records = [record for record in records if record.applies]
    if json:
        table([], [asdict(record) for record in records], True)
        return
    rows = [
        {"seed": r.seed, "score": key, "value": f"{value:.4f}"}
        for r in records
        for key, value in r.values.items()
    ]
    table(["seed", "score", "value"], rows, False)
    for remark in dict.fromkeys(f"{r.metric}: {text}" for r in records for text in r.remarks):
        say(escape(remark))
    for reason, without in skipped.items():
        say(escape(f"Skipped {', '.join(dict.fromkeys(without))}: {reason}"))
    say(f"{new} new of {len(records)} records in {run / 'scores.jsonl'} ({protocol})")
