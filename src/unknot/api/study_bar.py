"""A study that runs in the calling process or beside it, as one bar."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from unknot.runs.training import Progress, Watcher
from unknot.studies.execute.events import Divided, Done, Event, Failed, end_event
from unknot.studies.execute.events import Progress as TaskProgress
from unknot.studies.execute.run_task import run_task
from unknot.studies.execute.task import Task

if TYPE_CHECKING:
    from unknot.studies.store import Store


def perform_here(
    tasks: Sequence[Task], *, see: Callable[[Event], None], stop: Callable[[], bool]
) -> Iterator[Event]:
    """Perform tasks in this process, where classes and modules of the user's are known.

    Args:
        tasks: What to do, one after the other.
        see: Told how far a task is; an iterator speaks at its end alone.
        stop: Asked after every few steps and scores.
    """
    for task in tasks:

        def tell(phase: str, done: int, key: str = task.key) -> None:
            see(TaskProgress(key, phase, done))

        yield end_event(task.key, run_task(task, tell=tell, stop=stop))


class StudyBar:
    """Moves a bar with the events of a study."""

    def __init__(self, move: Watcher) -> None:
        self.move, self.members = move, dict[str, int]()
        self.done, self.steps, self.total = dict[str, int](), dict[str, int](), 1
        self.errors: list[str] = []

    def start(self, store: "Store", _: object) -> None:
        """Begin with what is done already."""
        for p in store.populations():
            self.members[p.key], self.steps[p.key] = p.members, p.steps
            self.done[p.key] = p.steps if p.status == "done" else 0
        self.total = sum(self.members[key] * steps for key, steps in self.steps.items())

    def see(self, event: Event) -> None:
        """Move on."""
        if isinstance(event, Divided):
            steps = self.steps.pop(event.key)
            self.done.pop(event.key)
            self.members.pop(event.key)
            for key, members in event.parts.items():
                self.members[key], self.steps[key], self.done[key] = members, steps, 0
        elif isinstance(event, TaskProgress) and event.phase == "train":
            self.done[event.key] = event.done
        elif isinstance(event, Done | Failed):
            self.done[event.key] = self.steps[event.key]
        if isinstance(event, Failed):
            self.errors.append(event.error)
        step = sum(self.members[key] * done for key, done in self.done.items())
        self.move(Progress(min(step, self.total), self.total, None, {}))
