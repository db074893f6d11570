"""Events: what whoever performs tasks tells the driver of a study."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from unknot.study.task import Outcome, Task


@dataclass(frozen=True)
class Progress:
    """A population is on its way."""

    key: str
    phase: str
    """``train`` or ``score``."""
    done: int
    """Steps, or scores of all members."""


@dataclass(frozen=True)
class Done:
    """A population is trained and scored."""

    key: str
    outcome: Outcome


@dataclass(frozen=True)
class Failed:
    """A population cannot be trained or scored."""

    key: str
    error: str


@dataclass(frozen=True)
class Lost:
    """The worker of a population died; another goes on from its last checkpoint."""

    key: str
    how: str


@dataclass(frozen=True)
class Warned:
    """A worker has something to say that stops nothing; said once, whoever else says it too."""

    key: str
    """Of the population that it was at."""
    text: str


Event: TypeAlias = Progress | Done | Failed | Lost | Warned
"""Each task ends with one `Done` or one `Failed`."""
Pool: TypeAlias = Callable[[Sequence[Task]], Iterator[Event]]
"""Whoever performs tasks: processes of this machine, or a cluster. Events may come in any order."""
