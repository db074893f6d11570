"""``unknot evaluate``: score a run."""

from collections.abc import Iterator
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

    `unknot evaluate runs/beta_vae-dsprites-1 --metrics mig,dci@study2019`

    `unknot evaluate runs/beta_vae-dsprites-1 --metrics recon,mig --part test`

    `unknot evaluate runs/beta_vae-dsprites-1 --metrics mig --step all`

    `unknot evaluate runs/beta_vae-dsprites-1 --metrics mig,sap --baselines`
    """
    from unknot.cli.screen import print_json, print_text, say
    from unknot.core.errors import ConfigError, StoreError
    from unknot.runs import lock, records
    from unknot.runs.baselines import baseline_metrics
    from unknot.runs.evaluate import ScoringRequest
    from unknot.runs.metric_names import by_protocol, metric_names, model_metrics
    from unknot.runs.verbs import load

    if baselines and part is not None:
        raise ConfigError("--baselines are scored on all rows; leave --part out.")
    names = split_names(metrics)
    requests = [
        ScoringRequest(metric_names(some), wish, seed, strict=names is not None, part=part)
        for wish, some in by_protocol(names or model_metrics(part), protocol).items()
    ]
    of_codes = [request.only(baseline_metrics()) for request in requests]
    of_codes = [request for request in of_codes if request.metrics]
    if baselines and not of_codes:
        given = ", ".join(name for request in requests for name in request.metrics)
        raise ConfigError(f"--baselines needs metrics of codes, such as mig; {given} need a model.")
    all_scores: list[Record] = []
    new, refusal = 0, None
    for weights in steps_to_score(run, step):
        loaded = load(run, device=device, data=data, step=weights)
        for request in requests:
            for of_model in _scores(run, loaded.training, request, workers):
                all_scores += of_model
                try:
                    with lock.hold(run, f"Another process is at work in {run}.", patience=30.0):
                        new += records.append(run, of_model)
                except StoreError as error:  # shown all the same: they may have taken hours
                    refusal = error
    results = [record for record in all_scores if record.applies]
    floors = (
        {request.protocol: _baselines(loaded.training, request) for request in of_codes}
        if baselines
        else {}
    )
    if json:
        tables = [record.table() for record in results]
        by_name = {wish: floor.values for wish, floor in floors.items()}
        plain = by_name if len(by_name) > 1 else next(iter(by_name.values()), None)
        print_json({"scores": tables, "baselines": plain} if plain else tables)
    else:
        _print_scores(all_scores, protocol)
        used = ", ".join(request.protocol for request in requests)
        say(f"{new} new of {len(results)} records in {run / 'scores.jsonl'} ({used})")
        for wish, floor in floors.items():
            say("Baselines:" if len(requests) == 1 else f"Baselines ({wish}):")
            print_text(repr(floor))
            reasons = {n: why for t in floor.tables.values() for n, why in t.skipped.items()}
            for name in (name for name in reasons if name not in floor.metrics):
                say(f"No baselines of {name}: {reasons[name]}")
    if refusal:
        raise refusal


def _scores(
    run: Path, training: "Training", request: "ScoringRequest", workers: int | None
) -> "Iterator[list[Record]]":
    """The records of one model after the other."""
    from contextlib import closing

    from unknot.cli.score_meter import ScoreMeter
    from unknot.cli.screen import bar
    from unknot.runs import evaluate, records
    from unknot.studies.execute.score_models import score_models, scoring_processes

    meter = ScoreMeter()
    models = evaluate.models(training, request, meter.encoded)
    with (
        bar("score", len(models) * len(request.metrics), "scores") as meter.update,
        closing(
            score_models(
                models,
                request,
                stored=records.read(run),
                processes=workers or scoring_processes(),
                on_score=meter.scored,
            )
        ) as of_models,
    ):
        yield from of_models


def _baselines(training: "Training", request: "ScoringRequest") -> "Comparison":
    """Scores of baselines, by metrics of codes."""
    from unknot.runs.baselines import score_baselines

    return score_baselines(
        training.context.dataset,
        training.context.net,
        metrics=request.metrics,
        protocol=request.protocol,
        seed=request.seed,
    )


def _print_scores(all_scores: "list[Record]", protocol: str) -> None:
    """Scores as a table with numbers of their remarks, the remarks, and which do not apply.

    Args:
        all_scores: What was computed or read.
        protocol: The one that names need not say.
    """
    from unknot.cli.screen import print_table, say

    results = [record for record in all_scores if record.applies]
    remarks = [*dict.fromkeys(text for record in results for text in record.remarks)]
    rows = [
        {
            "seed": record.seed,
            "step": record.step or "last",
            "metric": key if (wish := record.protocol["name"]) == protocol else f"{key}@{wish}",
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
