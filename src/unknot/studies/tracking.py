"""A study in a tracker: TensorBoard, Weights & Biases or MLflow, each through its own client.

Every ended run becomes a run there, under its own id: its settings, its curves by step, its
scores. What is there already is not written twice.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unknot.core.dotted import is_setting
from unknot.core.errors import UnknotError, WriteError
from unknot.runs.tracking import open_tracker
from unknot.studies.study import Study

BATCH = 500
"""Values sent to MLflow at a time; a server takes at most 1,000."""


@dataclass(frozen=True)
class TrackedRun:
    """One run as trackers see it."""

    id: str
    status: str
    settings: dict[str, Any]
    scores: dict[str, float]
    curves: dict[int, dict[str, float]]
    """Logged values by step."""


def ended_runs(study: Study) -> Iterator[TrackedRun]:
    """The ended runs of a study, in the order of its plan."""
    names = study.scores()
    for row in study.table():
        if row["status"] not in ("done", "diverged"):
            continue
        curves = study.curves(row["id"])
        values = {name: curves[name][:, 0].tolist() for name in curves.values}
        settings = {k: v for k, v in row.items() if is_setting(k)}
        yield TrackedRun(
            row["id"],
            row["status"],
            {"study": study.name, "seed": row["seed"], **settings},
            {name: row[name] for name in names if row.get(name) is not None},
            {s: {n: v[i] for n, v in values.items()} for i, s in enumerate(curves.steps)},
        )


def to_tensorboard(study: Study, out: str | None = None) -> str:
    """Write a folder of events for each run, and say where.

    Args:
        study: The study.
        out: A folder; ``tensorboard`` in the study's when None.
    """
    board = open_tracker("tensorboard", "torch.utils.tensorboard")
    folder = Path(out) if out else study.path / "tensorboard"
    for run in ended_runs(study):
        if (folder / run.id).exists():
            continue
        hidden = folder / f".{run.id}"  # where TensorBoard does not look until it is whole
        try:
            shutil.rmtree(hidden, ignore_errors=True)
            with board.SummaryWriter(str(hidden)) as writer:
                for step, values in run.curves.items():
                    for name, value in values.items():
                        writer.add_scalar(name, value, step)
                scores = {f"score/{name}": value for name, value in run.scores.items()}
                settings = {name: _plain(value) for name, value in run.settings.items()}
                writer.add_hparams(settings, scores, run_name=".")
            hidden.replace(folder / run.id)
        except OSError as error:
            raise WriteError(f"Could not write to {folder}: {error.strerror}.") from error
    return f"tensorboard --logdir {folder}"


def to_wandb(study: Study, out: str | None = None) -> str:
    """Send runs to Weights & Biases, as its own environment variables say, and say where.

    Args:
        study: The study.
        out: The project; the environment's ``WANDB_PROJECT``, or the study's name, when None.
    """
    wandb = open_tracker("wandb", "wandb")
    project = out or os.environ.get("WANDB_PROJECT") or study.name
    try:
        for run in ended_runs(study):
            with wandb.init(
                project=project,
                id=run.id,
                name=run.id,
                tags=[run.status],
                config=run.settings,
                dir=str(study.path),
                resume="allow",
                reinit="finish_previous",
                settings=wandb.Settings(console="off", silent=True),
            ) as sent:
                for step, values in run.curves.items():
                    sent.log(values, step=step)
                sent.summary.update({f"score/{name}": v for name, v in run.scores.items()})
    except wandb.errors.Error as error:
        raise UnknotError(
            f"Weights & Biases refuses ({error}); log in with `wandb login`, or set "
            "WANDB_MODE=offline to keep its files here."
        ) from error
    return f"project '{project}' of Weights & Biases"


def to_mlflow(study: Study, out: str | None = None) -> str:
    """Log runs to an experiment of MLflow that has the study's name, and say where.

    Args:
        study: The study.
        out: A tracking URI, such as ``sqlite:///runs.db``; MLflow's own choice when None, which
            the environment's ``MLFLOW_TRACKING_URI`` is.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = open_tracker("mlflow", "mlflow")
    try:
        client = mlflow.MlflowClient(out)
        experiment = client.get_experiment_by_name(study.name)
        number = experiment.experiment_id if experiment else client.create_experiment(study.name)
        for run in ended_runs(study):
            same = client.search_runs([number], f"tags.`unknot.id` = '{run.id}'")
            if any(logged.info.status == "FINISHED" for logged in same):
                continue
            for half in same:
                client.delete_run(half.info.run_id)
            _log(mlflow, client, number, run)
        where = client.tracking_uri
    except mlflow.exceptions.MlflowException as error:
        reason = str(error).partition("\n")[0]
        raise UnknotError(f"MLflow refuses ({reason}); give its address with --out URI.") from error
    return f"experiment '{study.name}' of MLflow at {where}"


def _log(mlflow: Any, client: Any, number: str, run: TrackedRun) -> None:
    entities = mlflow.entities
    tags = {"mlflow.runName": run.id, "unknot.id": run.id, "unknot.status": run.status}
    info = client.create_run(number, tags=tags).info
    name = info.run_id
    settings = [entities.Param(k, str(v)) for k, v in run.settings.items()]
    for i in range(0, len(settings), 100):
        client.log_batch(name, params=settings[i : i + 100])
    values = [
        entities.Metric(key, value, info.start_time, step)
        for step, row in run.curves.items()
        for key, value in row.items()
    ]
    last = max(run.curves, default=0)
    # It takes no @ in a name.
    values += [
        entities.Metric(f"score/{k.replace('@', '/')}", v, info.start_time, last)
        for k, v in run.scores.items()
    ]
    for i in range(0, len(values), BATCH):
        client.log_batch(name, metrics=values[i : i + BATCH])
    client.set_terminated(name)


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)


Export = Callable[[Study, str | None], str]
TRACKERS: Mapping[str, Export] = {
    "tensorboard": to_tensorboard,
    "wandb": to_wandb,
    "mlflow": to_mlflow,
}
