"""Events: what a backend that performs tasks tells whoever gave them, and when it gives one up."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from unknot.runs.records import Record
from unknot.studies.execute.task import Outcome, Task

DEATHS = 3
"""A task whose worker dies so often without getting any further is given up."""


@dataclass(frozen=True)
class Progress:
    """A task is on its way."""

    key: str
    phase: str
    """``train`` or ``score``."""
    done: int
    """Steps, or scores of all members."""


@dataclass(frozen=True)
class Finished:
    """Some models of a population that is being scored have all their scores."""

    key: str
    models: int
    """How many by now."""


@dataclass(frozen=True)
class Done:
    """A population is trained and scored."""

    key: str
    outcome: Outcome


@dataclass(frozen=True)
class Scored:
    """A model is scored."""

    key: str
    records: list[Record]


@dataclass(frozen=True)
class Failed:
    """A task cannot be performed."""

    key: str
    error: str
    memory: bool = False
    """Whether there may be too little memory for it."""


@dataclass(frozen=True)
class Lost:
    """The worker of a task died; another resumes from its last checkpoint."""

    key: str
    how: str


@dataclass(frozen=True)
class Warned:
    """A worker has something to say that stops nothing; said once, whoever else says it too."""

    key: str
    """Of the task that it was at."""
    text: str


@dataclass(frozen=True)
class Divided:
    """A population is now several, as some of its runs, or all at once, cannot be trained."""

    key: str
    parts: Mapping[str, int]
    """Models of each of them, by key."""
    why: str = ""
    """What was wrong with it; empty where the failed parts say so."""


Event: TypeAlias = Progress | Finished | Done | Scored | Failed | Lost | Warned | Divided
"""Each task ends with one `Done` or `Scored`, or one `Failed`."""
Pool: TypeAlias = Callable[[Sequence[Task]], Iterator[Event]]
"""Whoever performs tasks: processes of this machine, or a cluster. Events may come in any order."""
Place: TypeAlias = tuple[str, int]
"""How far a task is: phase and number."""


def end_event(key: str, fact: Mapping[str, Any]) -> Done | Scored | Failed:
    """What `run_task` gave, as an event."""
    if fact["event"] == "done":
        return Done(key, Outcome(**fact["outcome"]))
    if fact["event"] == "scored":
        return Scored(key, [Record(**record) for record in fact["records"]])
    return Failed(key, fact["error"], fact.get("memory", False))


class DeathPolicy:
    """How far tasks were and where their workers died: who is tried again, and who given up."""

    def __init__(self) -> None:
        self.reached: dict[str, Place] = {}
        self.places: dict[str, list[Place]] = {}

    def progress(self, key: str, phase: str, done: int) -> Progress:
        """A worker says how far it is."""
        before = self.reached.get(key, ("", 0))
        self.reached[key] = max(before, (phase, done), key=_order)
        return Progress(key, phase, done)

    def died(self, key: str, how: str) -> Lost | Failed:
        """A worker is gone: its task is to be tried again if Lost, and given up if Failed."""
        places = self.places.setdefault(key, [])
        places.append(self.reached.get(key, ("", 0)))
        if places[-DEATHS:] == places[-1:] * DEATHS:
            return Failed(
                key,
                f"Its worker died {DEATHS} times at the same place ({how}); "
                "there may be too little memory for it.",
                memory=True,
            )
        return Lost(key, how)

    def forget(self, key: str) -> None:
        """Its worker died for want of what it has now."""
        self.places.pop(key, None)


def _order(place: Place) -> tuple[bool, int]:
    """Scores come after steps."""
    return place[0] == "score", place[1]
