"""``unknot evaluate``: score a run."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.options import (
    DataPlace,
    Device,
    Json,
    Metrics,
    MetricSeed,
    Protocol,
    RunArgument,
    split_names,
)

if TYPE_CHECKING:
    from unknot.metrics import Comparison
    from unknot.runs.evaluate import ScoringRequest
    from unknot.runs.records import Record
    from unknot.runs.training import Training


def evaluate(
    run: RunArgument,
    metrics: Metrics = None,
    protocol: Protocol = "unknot",
    seed: MetricSeed = 0,
    device: Device = "auto",
    data: DataPlace = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Worker processes, if the run has several models.",
            show_default="one per core",
            min=1,
            max=1024,
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
    step: Annotated[
        str | None,
        typer.Option(
            help="Step whose weights to score, if the run kept them (score_at, score_every): a "
            "number, best, or all.",
            show_default="the last step",
        ),
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option(
            "--baselines",
            help="Also score codes that nobody trained: the factors, PCA, ICA, pixels and the "
            "network before its first step. Shown, not stored.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Compute metrics for the models of a run and add the scores to its scores.jsonl.

    Scores that the file already has are not computed again.

    Examples:
    `unknot evaluate runs/beta_vae-dsprites-1 --metrics mig,sap --protocol study2019`

    `unknot evaluate runs/beta_vae-dsprites-1 --metrics recon,mig --part test`

    `unknot evaluate runs/beta_vae-dsprites-1 --metrics mig --step all`

    `unknot evaluate runs/beta_vae-dsprites-1 --metrics mig,sap --baselines`
    """
    from contextlib import closing

    from unknot.cli.screen import bar, print_json, say
    from unknot.core.errors import ConfigError, StoreError
    from unknot.runs import evaluate as scores
    from unknot.runs import lock, records
    from unknot.runs.baselines import baseline_metrics
    from unknot.runs.metric_names import metric_names, model_metrics
    from unknot.runs.verbs import load
    from unknot.studies.execute.score_models import score_models, scoring_processes

    if baselines and part is not None:
        raise ConfigError("--baselines are scored on all rows; leave --part out.")
    names = split_names(metrics)
    request = scores.ScoringRequest(
        metric_names(names) if names else model_metrics(part),
        protocol,
        seed,
        strict=names is not None,
        part=part,
    )
    of_codes = [name for name in request.metrics if name in baseline_metrics()]
    if baselines and not of_codes:
        raise ConfigError(
            f"--baselines needs metrics of codes, such as mig; {', '.join(request.metrics)} need a "
            "model."
        )
    all_scores: list[Record] = []
    new, refusal = 0, None
    for weights in steps_to_score(run, step):
        loaded = load(run, device=device, data=data, step=weights)
        models = scores.models(loaded.training, request)
        with (
            bar("score", len(models) * len(request.metrics), "scores") as update,
            closing(
                score_models(
                    models,
                    request,
                    stored=records.read(run),
                    processes=workers or scoring_processes(),
                    on_score=counter(update),
                )
            ) as of_models,
        ):
            for of_model in of_models:
                all_scores += of_model
                try:
                    with lock.hold(run, f"Another process is at work in {run}.", patience=30.0):
                        new += records.append(run, of_model)
                except StoreError as error:  # shown all the same: they may have taken hours
                    refusal = error
    results = [record for record in all_scores if record.applies]
    floors = _baselines(loaded.training, request, of_codes) if baselines else None
    if json:
        tables = [record.table() for record in results]
        print_json({"scores": tables, "baselines": floors.values} if floors else tables)
    else:
        _print_scores(all_scores)
        say(f"{new} new of {len(results)} records in {run / 'scores.jsonl'} ({protocol})")
        if floors:
            say("Baselines:")
            say(repr(floors))
    if refusal:
        raise refusal


def _baselines(
    training: "Training", request: "ScoringRequest", metrics: Sequence[str]
) -> "Comparison":
    """Scores of baselines by some of the metrics, which are of codes."""
    from unknot.runs.baselines import score_baselines

    return score_baselines(
        training.context.dataset,
        training.context.net,
        metrics=metrics,
        protocol=request.protocol,
        seed=request.seed,
    )


def _print_scores(all_scores: "list[Record]") -> None:
    """Scores as a table with numbers of their remarks, the remarks, and which do not apply."""
    from unknot.cli.screen import print_table, say

    results = [record for record in all_scores if record.applies]
    remarks = [*dict.fromkeys(text for record in results for text in record.remarks)]
    rows = [
        {
            "seed": record.seed,
            "step": record.step or "last",
            "metric": key,
            "score": f"{value:.4f}",
            "remarks": " ".join(f"[{remarks.index(text) + 1}]" for text in record.remarks),
        }
        for record in results
        for key, value in record.values.items()
    ]
    steps = ["step"] if any(record.step for record in results) else []
    print_table(rows, ["seed", *steps, "metric", "score", *(["remarks"] if remarks else [])])
    for number, text in enumerate(remarks, 1):
        say(f"[{number}] {text}")
    skipped: dict[str, list[str]] = {}
    for record in all_scores:
        if not record.applies:
            reason = record.remarks[0].removeprefix(f"{record.metric} ")
            skipped.setdefault(reason, []).append(record.metric)
    for reason, without in skipped.items():
        say(f"Skipped {', '.join(dict.fromkeys(without))}: {reason}")


def counter(update: Callable[[int, str], None]) -> Callable[[int], None]:
    """Moves a bar on without a note."""
    return lambda done: update(done, " ")


def steps_to_score(run: Path, text: str | None) -> list[int | str | None]:
    """Steps whose weights are asked for; None is the last."""
    from unknot.core.errors import ConfigError
    from unknot.runs.folder import RunFolder

    if text == "all":
        return [*RunFolder(run).kept_steps(), None]
    if text in (None, "best"):
        return [text]
    if not text.replace("_", "").isdecimal():
        raise ConfigError(f"--step is a number, best or all; got '{text}'.")
    return [None if int(text) == RunFolder(run).record().get("step") else int(text)]
