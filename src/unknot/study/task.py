"""Task: one population of a study, trained and scored; plain data in, plain data out.

A task can be performed anywhere that sees the study's folder, any number of times: what is there
already is not done again, and what was interrupted is resumed from the last checkpoint.

```
<study>/populations/<key>/
  checkpoints/step-N/     to continue from, until the weights are there
  weights.safetensors     one tensor per weight, members first
  curves.safetensors      the logged values, [log steps, members]
  status.json             who the members are, who diverged, versions, device; written last
  scores.jsonl            one line for each score of each member
```
"""

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from unknot.core.errors import StoreError
from unknot.engine.device import threads
from unknot.study import config, evaluate, records, scoring
from unknot.study.evaluate import Model, ScoringRequest
from unknot.study.folder import RunFolder
from unknot.study.spec import TrainSpec
from unknot.study.store import Store
from unknot.study.training import Stopped, Training


@dataclass(frozen=True)
class Task:
    """What a worker is told; JSON and back gives the same."""

    key: str
    folder: str
    """Of the population, absolute."""
    settings: list[dict[str, Any]]
    """Settings without seeds, each used by at least one member."""
    members: list[dict[str, Any]]
    """Of each member its ``id``, ``seed`` and ``setting``, a place in the list above."""
    metrics: list[str] | None = field(default_factory=list)
    """None: all that apply."""
    protocol: str = "unknot"
    score_seed: int = 0
    device: str = "auto"
    threads: int | None = None
    """Of the CPU; the same for all tasks of a study, since another number gives other bits."""
    processes: int | None = None
    """That score members side by side; when None, one for each core beside a GPU, else one."""

    def json(self) -> str:
        """As one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Task":
        """Back from a line."""
        return cls(**json.loads(line))

    def specs(self) -> list[TrainSpec]:
        """The members as runs of their own.

        Raises:
            StoreError: They have other ids than in the plan.
        """
        specs = [
            config.spec({**self.settings[member["setting"]], "seeds": member["seed"]})
            for member in self.members
        ]
        for spec, member in zip(specs, self.members, strict=True):
            if spec.ids() != [member["id"]]:
                raise StoreError(
                    f"Run {member['id']} was planned by another version of unknot, whose settings "
                    "have other names; finish the study with that version."
                )
        return specs


@dataclass(frozen=True)
class Outcome:
    """What came of a task, as plain values."""

    key: str
    step: int
    seconds: float
    device: str
    versions: dict[str, Any]
    members: list[dict[str, Any]]
    """Of each member: ``id``, ``status`` (done or diverged), ``diverged_at`` and ``last``, the
    values of the last log step by name."""
    scores: list[dict[str, Any]]
    """The fields of a `Record` each."""

    def json(self) -> str:
        """As one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Outcome":
        """Back from a line."""
        return cls(**json.loads(line))


def from_store(
    store: Store,
    population: str,
    *,
    device: str = "auto",
    threads: int | None = None,
    processes: int | None = None,
) -> Task:
    """The task of a planned population."""
    facts = store.facts()
    runs = store.plan(population=population)
    specs = [*dict.fromkeys(run.spec for run in runs)]
    return Task(
        population,
        str((store.folder / "populations" / population).absolute()),
        [json.loads(spec) for spec in specs],
        [{"id": run.id, "seed": run.seed, "setting": specs.index(run.spec)} for run in runs],
        json.loads(facts["metrics"]),
        facts["protocol"],
        int(facts["score_seed"]),
        device,
        threads,
        processes,
    )


Tell = Callable[[str, int], None]
"""Told what is being done (``train`` or ``score``) and how far: steps, or scores of all members."""


def perform(
    task: Task, *, tell: Tell = lambda _, __: None, stop: Callable[[], bool] = lambda: False
) -> Outcome:
    """Train a population to its end and score it.

    Args:
        task: What to do.
        tell: Called after every few steps and scores.
        stop: Asked after every few steps and scores.

    Raises:
        Stopped: Asked to stop; what is on the disk is enough to go on from.
        UnknotError: A setting, the data or the disk refused.
    """
    folder, specs = RunFolder(Path(task.folder)), task.specs()
    # A killed driver's worker needs a moment to notice.
    with folder.lock(patience=60.0), threads(task.threads):
        training = _train(folder, specs, task.device, tell, stop)
        scores = [*_scores(task, training, folder.path, tell, stop)]
    record = folder.record()
    members = [{k: v for k, v in m.items() if k != "seed"} for m in record["members"]]
    kept = {name: record[name] for name in ("step", "seconds", "device", "versions")}
    return Outcome(key=task.key, members=members, scores=scores, **kept)


def _train(
    folder: RunFolder,
    specs: Sequence[TrainSpec],
    device: str,
    tell: Tell,
    stop: Callable[[], bool],
) -> Training:
    if folder.is_trained:
        folder.tidy()
        return folder.load(specs, device)
    training = Training.start(specs, device)
    folder.restore(training)
    training.run(
        watch=lambda progress: tell("train", progress.step),
        save=folder.save_checkpoint,
        stop=stop,
    )
    if not training.finished:
        raise Stopped
    folder.save(training)
    folder.tidy()
    return training


def _scores(
    task: Task, training: Training, folder: Path, tell: Tell, stop: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    """Scores of each member that did not diverge; those that the folder has are not computed."""
    if task.metrics == []:
        return
    metrics = evaluate.everything() if task.metrics is None else task.metrics
    # A score that does not apply to a run is a fact, not the study's end.
    wanted = ScoringRequest(metrics, task.protocol, task.score_seed, strict=False)
    everybody = scoring.score(
        _models(training, wanted),
        wanted,
        known=records.read(folder),
        processes=_processes(task, training),
        on_score=lambda done: tell("score", done),
        stop=stop,
    )
    with closing(everybody):
        for found in everybody:
            applying = [record for record in found if record.applies]
            records.append(folder, applying)
            yield from map(asdict, [*applying, *(r for r in found if not r.applies)])


def _models(training: Training, wanted: ScoringRequest) -> list[Callable[[], Model]]:
    """Those that did not diverge.

    A GPU encodes rows for all of them in one pass. On a CPU that is no faster, and whoever stops it
    would lose more: there each is made when it is its turn.
    """

    def alone(member: int) -> Model:
        (one,) = evaluate.models(training.member(member), wanted)
        return one

    sound = [i for i in range(len(training.ids)) if i not in training.diverged]
    if _on_cpu(training) or not sound:
        return [functools.partial(alone, i) for i in sound]
    together = evaluate.models(training, wanted)
    return [functools.partial(together.__getitem__, i) for i in range(len(together))]


def _processes(task: Task, training: Training) -> int:
    """How many score. Beside a GPU the cores have nothing to do; on a CPU each has its worker."""
    return task.processes or (1 if _on_cpu(training) else scoring.spare())


def _on_cpu(training: Training) -> bool:
    return training.context.runtime.device.type == "cpu"
