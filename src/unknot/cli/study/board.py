"""What the terminal shows while a study runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from unknot.cli.screen import stderr

if TYPE_CHECKING:
    from unknot.studies.execute.events import Event
    from unknot.studies.execute.machine import Machine
    from unknot.studies.store import Store

PAUSE = 10.0
"""Seconds between two lines where there is no terminal."""
MOST_ROWS = 12
"""Populations at work that fit the screen."""


class Board:
    """Counts of a running study, from the events of its driver."""

    def __init__(self) -> None:
        self.sizes: dict[str, tuple[int, int]] = {}
        """Models and steps of each population."""
        self.at: dict[str, tuple[str, int]] = {}
        """What is being done to those at work, and how far it is."""
        self.finished: dict[str, int] = {}
        """Models of those at work that have all their scores."""
        self.ended: dict[str, bool] = {}
        """Whether those at their end succeeded."""
        self.metrics = 0
        """Scores of each model, where all apply."""
        self.warnings: list[str] = []
        """Of workers, each text once."""
        self.model_steps = 0
        """Since this process started."""
        self.workers_lost = 0
        self.start = time.monotonic()

    def announce(self, store: "Store", machine: "Machine") -> None:
        """Say what there is to do."""
        from unknot.core.border import parse_json
        from unknot.core.text import counted
        from unknot.runs.metric_names import model_metrics
        from unknot.studies.omissions import describe_omissions, read_omissions
        from unknot.studies.results import count_waits, describe_waits

        listed = parse_json(store.facts()["metrics"])
        self.metrics = len(model_metrics() if listed is None else listed)
        for population in store.populations():
            self.sizes[population.key] = population.members, population.steps
            if population.status == "done":
                self.ended[population.key] = True
        self.start = time.monotonic()
        stderr.print(
            f"{counted(len(self.sizes), 'population')}, {len(self.ended):,} done; "
            f"on {machine.text}, into {store.folder}",
            soft_wrap=True,
        )
        if text := describe_omissions(read_omissions(store.facts())):
            stderr.print(f"{text}.", soft_wrap=True)
        for line in describe_waits(count_waits(store)):
            stderr.print(f"{line}.", soft_wrap=True)

    def add(self, event: "Event") -> None:
        """Count an event."""
        from unknot.studies.execute.events import (
            Divided,
            Done,
            Failed,
            Finished,
            Lost,
            Progress,
            Warned,
        )

        if isinstance(event, Divided):
            members, steps = self.sizes.pop(event.key)
            self.sizes |= {key: (members, steps) for key, members in event.parts.items()}
            self.at.pop(event.key, None)
            if event.why:
                sizes = " and ".join(map(str, event.parts.values()))
                text = f"{event.key} is divided: its {members} models become {sizes} ({event.why})"
                stderr.print(text, soft_wrap=True)
            return

        if isinstance(event, Warned):
            if event.text not in self.warnings:
                self.warnings.append(event.text)
            return
        if isinstance(event, Finished):
            self.finished[event.key] = event.models
            return
        if isinstance(event, Progress):
            before = self.at.get(event.key)
            self.at[event.key] = event.phase, event.done
            if event.phase == "train" and before and before[0] == "train":
                gained = max(0, event.done - before[1])
                self.model_steps += gained * self.sizes[event.key][0]
            return
        self.at.pop(event.key, None)
        self.finished.pop(event.key, None)
        if isinstance(event, Done | Failed):
            self.ended[event.key] = isinstance(event, Done)
        if isinstance(event, Failed):
            stderr.print(f"failed: {event.key}: {event.error}", soft_wrap=True)
        if isinstance(event, Lost):
            self.workers_lost += 1
            text = f"worker lost ({event.how}); {event.key} resumes from its last checkpoint"
            stderr.print(text, soft_wrap=True)

    @property
    def share(self) -> float:
        """Of all steps, those that are done."""
        everything = sum(members * steps for members, steps in self.sizes.values())
        return self._done() / max(everything, 1)

    def _done(self) -> int:
        done = 0
        for key, (members, steps) in self.sizes.items():
            if key in self.ended:
                done += members * steps
            elif key in self.at:
                phase, reached = self.at[key]
                done += members * (reached if phase == "train" else steps)
        return done

    def line(self) -> str:
        """All of it in a line."""
        from unknot.core.text import duration

        seconds = time.monotonic() - self.start
        models = {True: 0, False: 0}
        for key, well in self.ended.items():
            models[well] += self.sizes[key][0]
        models[True] += sum(self.finished.values())
        parts = [f"{self.share:.0%}", f"{models[True]:,} of {self.models:,} models done"]
        if models[False]:
            parts.append(f"{models[False]:,} failed")
        if self.workers_lost:
            parts.append(f"{self.workers_lost} workers lost")
        if scoring := self._scoring():
            parts.append(scoring)
        pace = self.model_steps / max(seconds, 1e-9)
        parts.append(f"{duration(seconds)} elapsed")
        if pace > 0 and self.share < 1:
            left = sum(m * s for m, s in self.sizes.values()) - self._done()
            digits = 1 if pace < 10 else 0
            parts.append(f"{pace:,.{digits}f} model steps a second")
            parts.append(f"{duration(left / pace)} of training left")
        return ", ".join(parts)

    def _scoring(self) -> str:
        """How far the scores are: of the models that are trained, and in the end of all."""
        phases = [phase for phase, _ in self.at.values()]
        if "score" not in phases:
            return ""
        trained = [k for k, (phase, _) in self.at.items() if phase == "score"]
        trained += [key for key, well in self.ended.items() if well]
        everything = self.metrics * sum(self.sizes[key][0] for key in trained)
        here = sum(done for phase, done in self.at.values() if phase == "score")
        ended = sum(self.sizes[key][0] for key, well in self.ended.items() if well)
        far = f"scoring {here + ended * self.metrics:,} of {everything:,}"
        is_trained = len(self.at) + len(self.ended) == len(self.sizes) and "train" not in phases
        return f"training done, {far}" if is_trained else far

    @property
    def models(self) -> int:
        """All of them."""
        return sum(members for members, _ in self.sizes.values())

    def __rich__(self) -> Group:
        columns = ("population", "models", "doing", "", "steps")
        table = Table(*columns, box=None, pad_edge=False, header_style="bold")
        for key, (phase, done) in [*self.at.items()][:MOST_ROWS]:
            members, steps = self.sizes[key]
            training = phase == "train"
            bar = ProgressBar(total=steps, completed=done if training else steps, width=24)
            far = (
                f"{done:,}/{steps:,}" if training else f"{done:,}/{members * self.metrics:,} scores"
            )
            table.add_row(key, str(members), phase, bar, far)
        lines = [Text(text) for text in (self.line(), *self.warnings)]
        return Group(*([table] if self.at else []), *lines)


@contextmanager
def watching(
    *, quiet: bool = False
) -> "Iterator[tuple[Callable[[Store, Machine], None], Callable[[Event], None]]]":
    """A live table of a study; a line now and then where there is no terminal."""
    if quiet:
        yield lambda _, __: None, lambda _: None
        return
    board = Board()
    if stderr.is_terminal:
        try:
            with Live(board, console=stderr, refresh_per_second=4, transient=True):
                yield board.announce, board.add
        finally:  # what stood below the table stays when that is gone
            for text in board.warnings:
                stderr.print(text, soft_wrap=True)
        return
    last_line = time.monotonic()

    def add(event: "Event") -> None:
        nonlocal last_line
        count = len(board.warnings)
        board.add(event)
        for text in board.warnings[count:]:
            stderr.print(text, soft_wrap=True)
        if time.monotonic() - last_line >= PAUSE:
            last_line = time.monotonic()
            stderr.print(board.line(), soft_wrap=True)

    yield board.announce, add
