"""Overlap: populations are scored while others train.

Training keeps the GPU of a machine busy and scores its cores. A population that has been trained is
in its folder with all that its scores need, so another process scores it from there, with the
numbers that its own process would give, and the one that trained it takes the next.
"""

import collections
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from unknot.studies.execute.events import Event, Failed, Warned
from unknot.studies.execute.local import LocalPool, WorkerProcess
from unknot.studies.execute.task import Task

TURNS = (
    "There was too little memory to score a population while another trains; they take turns now, "
    "which is slower."
)


class OverlapPool(LocalPool):
    """Processes that train, and others beside them that score what is trained.

    At most `workers` populations are trained at a time, and at most as many scored. Those that wait
    for their scores are on the disk alone. Processes with nothing left to train score, too.

    Args:
        tasks: Each for one worker at a time.
        workers: The most that train.
        options: Of `LocalPool`.
    """

    def __init__(self, tasks: Sequence[Task], *, workers: int, **options: Any) -> None:
        super().__init__(tasks, workers=workers, **options)
        self.trained = collections.deque[Task]()
        self.trainers, self.scorers = set[WorkerProcess](), set[WorkerProcess]()
        self.overlap = True
        """Whether there is memory for it, as far as is known."""
        self.scored_beside = False
        self.suspect = ""
        """Key of the population that there was too little memory for beside another."""

    def _start(self) -> None:
        busy = sum(worker.task is not None for worker in self.trainers)
        while len(self.trainers) < min(self.workers, len(self.waiting) + busy):
            self._start_one(self.trainers)
        spare = sum(worker.task is None for worker in self._may_score())
        wanted = min(len(self.trained), self._scores_to_give())
        while self.overlap and spare < wanted:
            self._start_one(self.scorers)
            self.scored_beside = True
            spare += 1

    def _may_score(self) -> list[WorkerProcess]:
        """Workers that score: first those that do nothing else, whose kernels are ready."""
        return [*self.scorers, *(() if self.waiting else self.trainers)]

    def _scores_to_give(self) -> int:
        """How many populations more may be scored now."""
        return self.workers - sum(map(is_scoring, self.alive))

    def _give(self) -> None:
        if not self.overlap and self.scorers:  # first they finish, and leave their memory
            for worker in self.scorers:
                if worker.task is None:
                    worker.process.terminate()
            return
        for worker in self.trainers:
            if self.waiting and worker.is_idle:
                task = cast("Task", self.waiting.popleft())
                worker.give(replace(task, train_only=self.overlap))
        for worker in self._may_score():
            if self.trained and worker.is_idle and self._scores_to_give() > 0:
                worker.give(self.trained.popleft())

    def on_message(
        self, worker: WorkerProcess, fact: dict[str, Any], data: bytearray
    ) -> Event | None:
        """Take what a worker says; an event where it is one."""
        if fact["event"] != "trained" or worker.task is None:
            return super().on_message(worker, fact, data)
        task, worker.task = cast("Task", worker.task), None
        task = replace(task, train_only=False)
        if self.overlap:
            self.trained.append(task)
        else:
            self.waiting.appendleft(task)
        return self.deaths.progress(task.key, "score", 0)

    def _end(self, worker: WorkerProcess, event: Event) -> Event:
        """A task has come to an end, unless it only lacked the memory that another one took."""
        lacked_memory = isinstance(event, Failed) and event.memory
        if not (lacked_memory and self.overlap and self.scored_beside):
            if lacked_memory and event.key == self.suspect:  # alone as well: nothing is gained
                self.overlap = True
            return super()._end(worker, event)
        self.overlap, self.suspect = False, event.key
        self.deaths.forget(event.key)
        self.waiting.extendleft(reversed(self.trained))
        self.trained.clear()
        self._put_back(worker)
        worker.task = None
        return Warned(event.key, TURNS)

    def _put_back(self, worker: WorkerProcess) -> None:
        if self.overlap and is_scoring(worker):
            self.trained.appendleft(cast("Task", worker.task))
        else:
            super()._put_back(worker)

    def _on_death(self, worker: WorkerProcess) -> Event | None:
        event = super()._on_death(worker)
        self.trainers.discard(worker)
        self.scorers.discard(worker)
        return event


def is_scoring(worker: WorkerProcess) -> bool:
    """Whether a worker is at the scores of a population, or at all of it."""
    return worker.task is not None and not cast("Task", worker.task).train_only
