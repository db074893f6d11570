"""A study by the clock of a simulation: the pool of this machine with workers that only wait.

Who gets which population, and when, is decided by `LocalPool`, as in a real run.
"""

import collections
import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from unknot.studies.execute.local import LocalPool, WorkerProcess

if TYPE_CHECKING:
    from unknot.studies.execute.task import Task


@dataclass(frozen=True)
class Job:
    """A population, as far as its worker's time goes."""

    key: str
    kind: str
    """What a worker has to compile before its first step, and has from then on."""
    first: float
    """Seconds before the first step where the worker has not had the kind before."""
    again: float
    """The same where it has."""
    rest: float
    """Seconds from then on."""


@dataclass(frozen=True)
class Schedule:
    """What a simulated pool did."""

    seconds: float
    """From the start to the end of the last population."""
    busy: tuple[float, ...]
    """Seconds of work of each worker, the longest first."""
    starts: float
    """Seconds before first steps, of all workers together."""


class _Waiting(WorkerProcess):
    """A worker that is at work until some time."""

    def __init__(self, pool: "_Simulated") -> None:
        self.pool, self.task, self.device, self.ready = pool, None, None, True
        self.kinds: set[str] = set()
        self.busy = 0.0

    def give(self, task: Any) -> None:
        """Take a job; say when it ends."""
        job: Job = task
        start = job.again if job.kind in self.kinds else job.first
        self.kinds.add(job.kind)
        self.task = task
        self.busy += start + job.rest
        self.pool.starts += start
        self.pool.at_work(self, start + job.rest)


@dataclass(order=True)
class _End:
    """When a worker has done its job."""

    seconds: float
    number: int
    worker: _Waiting = field(compare=False)


class _Simulated(LocalPool):
    """A pool whose workers are not there."""

    def __init__(self, jobs: Sequence[Job], workers: int, start: float) -> None:
        super().__init__([], workers=workers, environment={})
        self.waiting, self.left = collections.deque(cast("Sequence[Task]", jobs)), len(jobs)
        self.now, self.starts = start, 0.0
        self.ends: list[_End] = []
        self.numbers = itertools.count()
        self.staff: list[_Waiting] = []

    def _start(self) -> None:
        while len(self.staff) < min(self.workers, self.left):
            self.staff.append(_Waiting(self))
            self.alive.add(self.staff[-1])

    def at_work(self, worker: _Waiting, seconds: float) -> None:
        """Note when a worker will be idle again."""
        heapq.heappush(self.ends, _End(self.now + seconds, next(self.numbers), worker))

    def _next_message(self) -> tuple[WorkerProcess, tuple[dict[str, Any], bytearray]]:
        end = heapq.heappop(self.ends)
        self.now = end.seconds
        return end.worker, ({"event": "scored", "records": []}, bytearray())


def simulate(jobs: Sequence[Job], workers: int, *, start: float = 0.0) -> Schedule:
    """Give jobs to workers as a study does: in their order, each to the first that is idle.

    Args:
        jobs: In the order of the study.
        workers: The most at a time.
        start: Seconds until a worker is there.

    Example:
        >>> a, b = Job("a", "x", 5.0, 1.0, 10.0), Job("b", "x", 5.0, 1.0, 10.0)
        >>> simulate([a, b], 1).seconds, simulate([a, b], 2).seconds
        (26.0, 15.0)
    """
    if not jobs:
        return Schedule(0.0, (), 0.0)
    pool = _Simulated(jobs, workers, start)
    for _ in pool.events():
        pass
    busy = tuple(sorted((worker.busy for worker in pool.staff), reverse=True))
    return Schedule(float(pool.now), busy, float(pool.starts))
