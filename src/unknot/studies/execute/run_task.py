"""Tasks: train and score a population, or score one model, wherever a worker is.

The task of a population can be performed anywhere that sees the study's folder, any number of
times: what is there already is not done again, and what was interrupted is resumed from the
last checkpoint. Its folder, `populations/<key>`, is a `RunFolder`, with a line for each score of
each member in `scores.jsonl`.
"""

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import unknot
from unknot.core.errors import StoreError, UnknotError
from unknot.engine.device import threads
from unknot.engine.memory import is_out_of_memory
from unknot.runs import evaluate, features, lock, records
from unknot.runs.evaluate import Model, ScoringRequest
from unknot.runs.folder import RunFolder
from unknot.runs.loading import load_training
from unknot.runs.metric_names import by_place, model_metrics
from unknot.runs.spec import TrainSpec
from unknot.runs.training import Stopped, Training
from unknot.runs.writing import complete
from unknot.studies import database
from unknot.studies.execute.score_models import (
    ReportProgress,
    RequestCodes,
    no_codes,
    score_models,
    score_remote_model,
    scoring_processes,
)
from unknot.studies.execute.task import Outcome, ScoreTask, Task

PATIENCE = 300.0
"""Seconds that a task waits for whoever else is in its folder: a worker that its cluster believes
dead may be alive, and a file server frees the locks of a dead machine after a minute or two."""


def train_population(task: Task, *, tell: ReportProgress, stop: Callable[[], bool]) -> None:
    """Train a population to its end, into its folder, where that has not been done.

    Args:
        task: What to do.
        tell: Called after every few steps.
        stop: Asked after every few steps.
    """
    folder, specs = RunFolder(Path(task.folder)), task.specs()
    with folder.lock(patience=60.0), threads(task.threads):
        if folder.damage() or not folder.is_trained:
            _train(folder, specs, task.device, tell, stop)


def run_population_task(
    task: Task,
    *,
    tell: ReportProgress = lambda _, __: None,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Train a population to its end and score it.

    Args:
        task: What to do.
        tell: Called after every few steps and scores.
        stop: Asked after every few steps and scores.
    """
    folder, specs = RunFolder(Path(task.folder)), task.specs()
    # A killed driver's worker needs a moment to notice.
    with folder.lock(patience=60.0), threads(task.threads):
        training = _train(folder, specs, task.device, tell, stop)
        scores = [*_scores(task, training, folder.path, tell, stop)]
        for step in folder.kept_steps() if task.metrics != [] else []:
            earlier = load_training(folder, specs, task.device, step=step)
            scores += _scores(task, earlier, folder.path, lambda _, __: None, stop)
    record = folder.record_there()
    members = [{k: v for k, v in m.items() if k != "seed"} for m in record["members"]]
    facts = {name: record[name] for name in ("step", "seconds", "device", "versions")}
    return Outcome(key=task.key, members=members, scores=scores, **facts)


def _train(
    folder: RunFolder,
    specs: Sequence[TrainSpec],
    device: str,
    tell: ReportProgress,
    stop: Callable[[], bool],
) -> Training:
    damage = folder.damage()
    if not damage and folder.is_trained:
        folder.tidy()
        return load_training(folder, specs, device)
    folder.discard(damage)
    features.provide(folder.path, specs[0])
    training = Training.start(specs, device)
    complete(folder, training, watch=lambda progress: tell("train", progress.step), stop=stop)
    if not training.finished:
        raise Stopped
    folder.tidy()
    return training


def _scores(
    task: Task, training: Training, folder: Path, tell: ReportProgress, stop: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    """Scores of each member that did not diverge; those that the folder has are not computed."""
    if task.metrics == []:
        return
    done = 0

    def count(scores: int) -> None:
        tell("score", done + scores)

    count(0)
    metrics = model_metrics() if task.metrics is None else task.metrics
    for (protocol, part), names in by_place(metrics, task.protocol).items():
        # A score that does not apply to a run is a fact, not the study's end.
        request = ScoringRequest(names, protocol, task.score_seed, strict=False, part=part)
        yield from _scores_of(task, training, folder, request, count, stop)
        done += len(names) * len(training.ids)


def _scores_of(
    task: Task,
    training: Training,
    folder: Path,
    request: ScoringRequest,
    on_score: Callable[[int], None],
    stop: Callable[[], bool],
) -> Iterator[dict[str, Any]]:
    everybody = score_models(
        _models(training, request),
        request,
        stored=records.read(folder),
        processes=processes_for(task, training),
        on_score=on_score,
        stop=stop,
    )
    with closing(everybody):
        for scores in everybody:
            records.append(folder, scores)
            yield from map(asdict, sorted(scores, key=lambda record: not record.applies))


def _models(training: Training, request: ScoringRequest) -> Iterator[Model]:
    """Those that did not diverge.

    A GPU encodes rows for all of them in one pass. On a CPU that is no faster, and whoever stops it
    would lose more: there each is made when it is its turn.
    """
    healthy = [i for i in range(len(training.ids)) if i not in training.diverged]
    if healthy and not is_on_cpu(training):
        yield from evaluate.models(training, request)
        return
    for i in healthy:
        yield from evaluate.models(training.member(i), request)


def processes_for(task: Task, training: Training) -> int:
    """How many score. Beside a GPU the cores have nothing to do; on a CPU each has its worker."""
    return task.processes or (1 if is_on_cpu(training) else scoring_processes())


def is_on_cpu(training: Training) -> bool:
    """Whether a population lives on a CPU."""
    return training.context.runtime.device.type == "cpu"


def run_task(
    task: Task | ScoreTask,
    *,
    tell: ReportProgress,
    stop: Callable[[], bool],
    ask: RequestCodes = no_codes,
) -> dict[str, Any]:
    """Perform a task of either kind; whatever it does, others continue.

    Args:
        task: What to do.
        tell: Told how far it is.
        stop: Asked whether to stop.
        ask: Gives rows of codes to scores of a model that is elsewhere.
    """
    try:
        if isinstance(task, ScoreTask):
            scores = score_remote_model(task, ask=ask, tell=tell, stop=stop)
            return {"event": "scored", "records": [asdict(record) for record in scores]}
        if task.train_only:
            train_population(task, tell=tell, stop=stop)
            return {"event": "trained"}
        return {"event": "done", "outcome": asdict(run_population_task(task, tell=tell, stop=stop))}
    except Stopped:
        raise
    except UnknotError as error:
        return {"event": "failed", "error": str(error)}
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return {"event": "failed", "error": text, "memory": is_out_of_memory(error)}


def run_remote_task(
    task: Task, version: str, *, tell: ReportProgress, stop: Callable[[], bool]
) -> dict[str, Any]:
    """Perform a task on a node of a cluster, which may not be what the driver takes it for.

    Args:
        task: What to do.
        version: Of the driver.
        tell: Told how far it is.
        stop: Asked whether to stop.
    """
    folder = Path(task.folder)
    try:
        _check(folder.parent.parent, version)
    except UnknotError as error:
        return {"event": "failed", "error": str(error)}
    until = time.monotonic() + PATIENCE
    while lock.is_held(folder) and time.monotonic() < until:
        if stop():
            raise Stopped
        time.sleep(0.5)
    return run_task(task, tell=tell, stop=stop)


def _check(study: Path, version: str) -> None:
    node = socket.gethostname()
    if unknot.__version__ != version:
        raise UnknotError(
            f"Node {node} has unknot {unknot.__version__} and the driver {version}; "
            "install the same version on both."
        )
    if not (study / database.FILE).exists():  # or it would train into a folder that nobody reads
        raise StoreError(
            f"Node {node} does not see {study}; "
            "keep the study in a folder that all nodes have under the same path."
        )
