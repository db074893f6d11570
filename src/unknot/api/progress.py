"""How far a training is, as a bar with the time left: in a terminal, in a notebook, or nowhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from html import escape
from typing import Any, TypeAlias

from unknot.core.text import duration, plain
from unknot.runs.note import Note
from unknot.runs.training import Progress, Watcher

PAUSE = 0.2
"""Seconds between two pictures of a bar in a notebook."""
PATIENCE = 1.0
"""Seconds before a bar of reading, which is short when it was done before."""

Count: TypeAlias = Callable[[int, int], None]
"""Told how many images are read, and of how many."""


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
            if watch is not None:
                watch(now)

        yield tell


@contextmanager
def reading_bar(unit: str = "images read", *, show: bool = True) -> Iterator[Count]:
    """A bar while images are read for the first time, or the like; none where that is short.

    Args:
        unit: What is counted.
        show: False shows nothing. Neither is anything shown where output goes to a file.
    """
    if show and in_notebook():
        place = cache(_html_place)  # made with the first picture: a cell keeps an empty one

        def draw(done: int, total: int, seconds: float) -> None:
            place()(_bar_html(done, total, unit, "", seconds, done))

        yield _patiently(draw)
    elif show and sys.stderr.isatty():
        with _rich_bar(unit) as (progress, task):
            yield _patiently(
                lambda done, total, _: progress.update(task, completed=done, total=total)
            )
    else:
        yield lambda *_: None


def _patiently(draw: Callable[[int, int, float], None]) -> Count:
    """Draw now and then, and not in the first second."""
    begin = last = time.monotonic()

    def count(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        shown = last > begin
        if now - begin < PATIENCE or (now - last < PAUSE and done < total):
            return
        if not shown and done == total:
            return
        last = now
        draw(done, total, now - begin)

    return count


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
def _rich_bar(unit: str, total: int = 1) -> Iterator[tuple[Any, Any]]:
    """A bar in the terminal, which appears when it is first moved, and its task."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    class Late(Progress):
        def update(self, *args: Any, **options: Any) -> None:
            self.start()  # not before there is something to show; again does nothing
            super().update(*args, **options)

    columns = (
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} " + unit),
        BarColumn(bar_width=28),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    progress = Late(*columns, console=Console(stderr=True, highlight=False))
    task = progress.add_task(unit, total=total, note="")
    try:
        yield progress, task
    finally:
        progress.stop()


@contextmanager
def _terminal_bar(total: int | None) -> Iterator[Watcher]:
    note = Note()
    with _rich_bar("steps", total or 1) as (progress, task):
        progress.start()

        def move(now: Progress) -> None:
            text = note.text(now)
            progress.update(task, completed=now.step, total=now.steps, note=text)

        yield move


def _html_place() -> Callable[[str], None]:
    """A place below the cell of a notebook, whose content can be exchanged."""
    # HTML of our own: widgets would need another package, and are gone from a saved notebook.
    display: Any = sys.modules["IPython"].display
    handle = display.display(display.HTML(""), display_id=True)
    return lambda html: handle.update(display.HTML(html))


def _bar_html(done: int, total: int, unit: str, note: str, seconds: float, since: int) -> str:
    """A bar with its numbers; ``since`` it began so many were done."""
    left = seconds * (total - done) / max(since, 1)
    losses = escape(note).replace("  ", " · ")  # a browser would make one space of two
    return (
        f'<progress value="{done}" max="{total}" style="width:20em"></progress> '
        f"{done:,}/{total:,} {unit} &nbsp; {losses} &nbsp; "
        f"{duration(seconds)}, {duration(left)} left"
    )


@contextmanager
def _notebook_bar() -> Iterator[Watcher]:
    show = _html_place()
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
        since = now.step - first
        show(_bar_html(now.step, now.steps, "steps", text, moment - begin, since))

    yield move
