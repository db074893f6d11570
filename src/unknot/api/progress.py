"""How far a training is, as a bar with the time left: in a terminal, in a notebook, or nowhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from html import escape
from typing import Any

from unknot.core.text import duration, plain
from unknot.runs.note import Note
from unknot.runs.training import Progress, Watcher

PAUSE = 0.2
"""Seconds between two pictures of a bar in a notebook."""


@contextmanager
def bar(
    total: int | None, *, show: bool = True, watch: Watcher = lambda _: None
) -> Iterator[Watcher]:
    """A bar that a training moves.

    Args:
        total: Steps in all; taken from the training when None.
        show: False shows nothing. Neither is anything shown where output goes to a file.
        watch: Told the same as the bar.
    """
    picture: AbstractContextManager[Watcher] = nullcontext(lambda _: None)
    if show and in_notebook():
        picture = _notebook_bar()
    elif show and sys.stderr.isatty():
        picture = _terminal_bar(total)
    with picture as move:

        def tell(now: Progress) -> None:
            move(now)
            watch(now)

        yield tell


def in_notebook() -> bool:
    """Whether this is the process of a notebook."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


def say(text: str) -> None:
    """A sentence beside the results."""
    sys.stderr.write(f"{plain(text, keep=chr(10))}\n")


@contextmanager
def _terminal_bar(total: int | None) -> Iterator[Watcher]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} steps"),
        BarColumn(bar_width=28),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    note = Note()
    with RichProgress(*columns, console=Console(stderr=True, highlight=False)) as progress:
        task = progress.add_task("train", total=total or 1, note="")

        def move(now: Progress) -> None:
            text = note.text(now)
            progress.update(task, completed=now.step, total=now.steps, note=text)

        yield move


@contextmanager
def _notebook_bar() -> Iterator[Watcher]:
    # HTML of our own: widgets would need another package, and are gone from a saved notebook.
    display: Any = sys.modules["IPython"].display
    handle = display.display(display.HTML(""), display_id=True)
    begin = last = time.monotonic()
    first: int | None = None
    note = Note()

    def move(now: Progress) -> None:
        nonlocal last, first
        first = now.step if first is None else first
        text, moment = note.text(now), time.monotonic()
        if moment - last < PAUSE and now.step < now.steps:
            return
        last = moment
        seconds = moment - begin
        left = seconds * (now.steps - now.step) / max(now.step - first, 1)
        losses = escape(text).replace("  ", " · ")  # a browser would make one space of two
        handle.update(
            display.HTML(
                f'<progress value="{now.step}" max="{now.steps}" style="width:20em"></progress> '
                f"{now.step:,}/{now.steps:,} steps &nbsp; {losses} &nbsp; "
                f"{duration(seconds)}, {duration(left)} left"
            )
        )

    yield move
