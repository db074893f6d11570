"""``unknot evaluate``: score a run."""

from typing import Annotated

import typer

from unknot.cli.options import (
    Device,
    Json,
    Metrics,
    MetricSeed,
    Protocol,
    RunArgument,
    split_names,
)


def evaluate(
    run: RunArgument,
    metrics: Metrics = None,
    protocol: Protocol = "unknot",
    seed: MetricSeed = 0,
    device: Device = "auto",
    workers: Annotated[
        int | None,
        typer.Option(
            help="Worker processes, if the run has several models.",
            show_default="one per core",
            min=1,
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            help="Part of the run's split to score: train, validation or test. Adds recon, the "
            "error of reconstructions.",
            show_default="all rows",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compute metrics for the models of a run and add the scores to its scores.jsonl.

    Scores that the file already has are not computed again.

    Examples:
    `unknot evaluate runs/beta_vae-dsprites-1 --metrics mig,sap --protocol study2019`

    `unknot evaluate runs/beta_vae-dsprites-1 --metrics recon,mig --part test`
    """
    from contextlib import closing

    from rich.markup import escape

    from unknot.cli.screen import bar, print_json, print_table, say
    from unknot.runs import evaluate as scores
    from unknot.runs import lock, records
    from unknot.runs.run import load
    from unknot.studies.execute.score_models import score_models, scoring_processes

    names = split_names(metrics)
    request = scores.ScoringRequest(
        scores.metric_names(names) if names else scores.model_metrics(part),
        protocol,
        seed,
        strict=names is not None,
        part=part,
    )
    models = scores.models(load(run, device=device).training, request)
    all_scores, new = [], 0
    with (
        bar("score", len(models) * len(request.metrics), "scores") as update,
        closing(
            score_models(
                models,
                request,
                stored=records.read(run),
                processes=workers or scoring_processes(),
                on_score=lambda done: update(done, " "),
            )
        ) as of_models,
    ):
        for of_model in of_models:
            with lock.hold(run, f"Another process is at work in {run}.", patience=30.0):
                new += records.append(run, of_model)
            all_scores += of_model
    results = [record for record in all_scores if record.applies]
    if json:
        print_json([record.table() for record in results])
        return
    rows = [
        {"seed": record.seed, "score": key, "value": f"{value:.4f}"}
        for record in results
        for key, value in record.values.items()
    ]
    print_table(rows, ["seed", "score", "value"])
    for remark in dict.fromkeys(f"{r.metric}: {text}" for r in results for text in r.remarks):
        say(escape(remark))
    skipped: dict[str, list[str]] = {}
    for record in all_scores:
        if not record.applies:
            reason = record.remarks[0].removeprefix(f"{record.metric} ")
            skipped.setdefault(reason, []).append(record.metric)
    for reason, without in skipped.items():
        say(escape(f"Skipped {', '.join(dict.fromkeys(without))}: {reason}"))
    say(f"{new} new of {len(results)} records in {run / 'scores.jsonl'} ({protocol})")
