"""A study by the clock of a simulation: the pool of this machine with workers that only wait.

Who gets which population, and when, is decided by `OverlapPool`, as in a real run.
"""

import collections
import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from unknot.studies.execute.local import WorkerProcess
from unknot.studies.execute.overlap import OverlapPool, is_scoring

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
    training: float
    """Seconds from then on to its last step."""
    scores: float = 0.0
    """Seconds of its scores, wherever they are computed."""
    train_only: bool = False
    """Whether another worker will score it."""


@dataclass(frozen=True)
class Schedule:
    """What a simulated pool did."""

    seconds: float
    """From the start to the end of the last population."""
    busy: tuple[float, ...]
    """Seconds of work of each worker that trains, the longest first."""
    starts: float
    """Seconds before first steps, of all workers together."""
    scores: float
    """Seconds of scores while nothing trained beside, of all workers together."""


class _Waiting(WorkerProcess):
    """A worker that is at work until some time."""

    def __init__(self, pool: "_Simulated") -> None:
        self.pool, self.task, self.device, self.ready = pool, None, None, True
        self.kinds: set[str] = set()
        self.busy = 0.0

    def give(self, task: Any) -> None:
        """Take a job; say when it ends."""
        job: Job = task
        seconds = 0.0
        if job.train_only or not self.pool.overlap:
            start = job.again if job.kind in self.kinds else job.first
            self.kinds.add(job.kind)
            self.pool.starts += start
            seconds += start + job.training
        if not job.train_only:
            seconds += job.scores
        self.task = task
        self.busy += seconds
        self.pool.at_work(self, seconds)


@dataclass(order=True)
class _End:
    """When a worker has done its job."""

    seconds: float
    number: int
    worker: _Waiting = field(compare=False)


class _Simulated(OverlapPool):
    """A pool whose workers are not there."""

    def __init__(self, jobs: Sequence[Job], workers: int, start: float, *, overlap: bool) -> None:
        super().__init__([], workers=workers, environment={})
        self.waiting, self.left = collections.deque(cast("Sequence[Task]", jobs)), len(jobs)
        self.overlap = overlap
        self.now, self.starts, self.scores = start, 0.0, 0.0
        self.ends: list[_End] = []
        self.numbers = itertools.count()
        self.staff: list[_Waiting] = []
        """Who trains."""

    def _start_one(self, team: set[WorkerProcess]) -> None:
        worker = _Waiting(self)
        team.add(worker)
        self.alive.add(worker)
        if team is self.trainers:
            self.staff.append(worker)

    def at_work(self, worker: _Waiting, seconds: float) -> None:
        """Note when a worker will be idle again."""
        heapq.heappush(self.ends, _End(self.now + seconds, next(self.numbers), worker))

    def _next_message(self) -> tuple[WorkerProcess, tuple[dict[str, Any], bytearray]]:
        end = heapq.heappop(self.ends)
        if self.overlap:
            scoring = sum(map(is_scoring, self.alive))
            training = len(self.ends) + 1 - scoring
            self.scores += (end.seconds - self.now) * min(scoring, self.workers - training)
        self.now = end.seconds
        job = cast("Any", end.worker.task)
        if job.train_only:
            return end.worker, ({"event": "trained"}, bytearray())
        if not self.overlap:
            self.scores += job.scores
        return end.worker, ({"event": "scored", "records": []}, bytearray())


def simulate(
    jobs: Sequence[Job], workers: int, *, start: float = 0.0, overlap: bool = False
) -> Schedule:
    """Give jobs to workers as a study does: in their order, each to the first that is idle.

    Args:
        jobs: In the order of the study.
        workers: The most that train at a time.
        start: Seconds until a worker is there.
        overlap: Whether others score what they have trained.

    Example:
        >>> a, b = Job("a", "x", 5.0, 1.0, 10.0, 4.0), Job("b", "x", 5.0, 1.0, 10.0, 4.0)
        >>> simulate([a, b], 1).seconds, simulate([a, b], 2).seconds
        (34.0, 19.0)
        >>> simulate([a, b], 1, overlap=True).seconds
        30.0
    """
    if not jobs:
        return Schedule(0.0, (), 0.0, 0.0)
    pool = _Simulated(jobs, workers, start, overlap=overlap and len(jobs) > workers)
    for _ in pool.events():
        pass
    busy = tuple(sorted((worker.busy for worker in pool.staff), reverse=True))
    return Schedule(float(pool.now), busy, float(pool.starts), float(pool.scores))
