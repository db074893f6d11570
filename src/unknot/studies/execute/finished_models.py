"""Finished models of a population that is still being scored, as its folder has them.

Any backend leaves them there, so that nothing has to be sent.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unknot.core.errors import UnknotError
from unknot.runs import records
from unknot.runs.folder import RunFolder
from unknot.runs.metric_names import by_place, model_metrics
from unknot.studies.execute.task import Outcome, Task

PAUSE = 5.0
"""Seconds between two looks into a folder."""


def finished_models(task: Task) -> Outcome | None:
    """What came of those members whose scores are there; None while there are none.

    All scores of a model by one protocol are written at once. A score that does not apply is not in
    the folder, so it comes with the end of the task; and a model of which no score by a protocol
    applies counts as finished then.
    """
    folder = RunFolder(Path(task.folder))
    try:
        if not folder.is_trained:
            return None
        record, scores = folder.record_there(), records.read(folder.path)
    except UnknotError:  # whoever finishes the task will say what is wrong
        return None
    metrics = model_metrics() if task.metrics is None else task.metrics
    places = {*by_place(metrics, task.protocol)}
    scored: dict[str, set[tuple[str, str | None]]] = {}
    for score in scores:
        if score.step is None:
            scored.setdefault(score.id, set()).add((score.protocol["name"], score.part))
    ended = {
        member["id"]
        for member in record["members"]
        if member["status"] == "diverged" or scored.get(member["id"], set()) >= places
    }
    if not ended:
        return None
    facts: dict[str, Any] = {name: record[name] for name in ("step", "device", "versions")}
    return Outcome(
        key=task.key,
        seconds=record["seconds"],
        members=[
            {k: v for k, v in member.items() if k != "seed"}
            for member in record["members"]
            if member["id"] in ended
        ],
        scores=[asdict(score) for score in scores if score.id in ended],
        **facts,
    )


class Lookout:
    """Which models of the tasks at work are finished, looked up now and then."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.last: dict[str, float] = {}
        self.known: dict[str, int] = {}

    def look(self, task: Task) -> Outcome | None:
        """What came of finished models, where there are more of them than the last time."""
        now = self.clock()
        if now - self.last.get(task.key, -PAUSE) < PAUSE:
            return None
        self.last[task.key] = now
        outcome = finished_models(task)
        if outcome is None or len(outcome.members) <= self.known.get(task.key, 0):
            return None
        self.known[task.key] = len(outcome.members)
        return outcome
