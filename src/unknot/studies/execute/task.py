"""Tasks: what workers are told to do and what comes of it; plain data both ways.

A `Task` is one population of a study, trained and scored; a `ScoreTask` the scores of one model.
`unknot.studies.execute.run_task` does either.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from unknot.core.border import parse_json
from unknot.core.errors import StoreError
from unknot.runs import config
from unknot.runs.spec import TrainSpec
from unknot.studies.results import read_values, with_values
from unknot.studies.store import Store


@dataclass(frozen=True)
class Task:
    """One population to train and score; JSON and back gives the same."""

    key: str
    folder: str
    """Of the population, absolute."""
    configurations: list[dict[str, Any]]
    """Settings without seeds, each used by at least one member."""
    members: list[dict[str, Any]]
    """Of each member its ``id``, ``seed`` and ``configuration``, a place in the list above."""
    metrics: list[str] | None = field(default_factory=list)
    """None: all that apply."""
    protocol: str = "unknot"
    score_seed: int = 0
    device: str = "auto"
    threads: int | None = None
    """Of the CPU; the same for all tasks of a study, since another number gives other bits."""
    processes: int | None = None
    """That score members side by side; when None, one for each core beside a GPU, else one."""
    train_only: bool = False
    """Whether another task will score it."""

    def json(self) -> str:
        """As one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Task":
        """Back from a line."""
        return cls(**json.loads(line))

    def specs(self) -> list[TrainSpec]:
        """The members as runs of their own."""
        specs = [
            config.spec({**self.configurations[member["configuration"]], "seeds": member["seed"]})
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
class ScoreTask:
    """Scores of one model's codes; a worker asks whoever has the model for rows of them."""

    key: str
    """The id of the run."""
    seed: int
    space: list[list[Any]]
    """Names, sizes and kinds of the factors."""
    latents: int
    request: dict[str, Any]
    """The fields of a `ScoringRequest`."""


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
    runs = store.members(population)
    values = read_values(facts)
    # Of a configuration that takes results there is one run.
    tables = {run.spec: with_values(parse_json(run.spec), values.get(run.id, {})) for run in runs}
    specs = [*tables]
    return Task(
        population,
        str(store.place(population).absolute()),
        [*tables.values()],
        [{"id": run.id, "seed": run.seed, "configuration": specs.index(run.spec)} for run in runs],
        parse_json(facts["metrics"]),
        facts["protocol"],
        int(facts["score_seed"]),
        device,
        threads,
        processes,
    )
