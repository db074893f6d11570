"""What the terminal shows: a bar that moves, and tables."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from unknot.core.text import duration, number

if TYPE_CHECKING:
    from unknot.study.training import Progress as Training

console = Console(highlight=False)
beside = Console(highlight=False, stderr=True)
"""Progress goes to the error stream, so that results can be piped."""


def say(text: str) -> None:
    """A sentence; long paths are not broken, so that they can be copied."""
    console.print(text, soft_wrap=True)


@contextmanager
def bar(what: str, total: int, unit: str) -> Iterator[Callable[[int, str], None]]:
    """A progress bar with the time left; one line for each tenth where there is no terminal."""
    if not beside.is_terminal:
        yield _lines(what, total, unit)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} " + unit),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=beside)
    task = progress.add_task(what, total=total, note="")

    def update(done: int, note: str) -> None:
        progress.start()  # not before there is something to show; again does nothing
        progress.update(task, completed=done, note=note)

    try:
        yield update
    finally:
        progress.stop()


def _lines(what: str, total: int, unit: str) -> Callable[[int, str], None]:
    began, shown = time.monotonic(), [0]

    def update(done: int, note: str) -> None:
        tenth = 10 * done // max(total, 1)
        if tenth > shown[0] and note:
            shown[0] = tenth
            spent = time.monotonic() - began
            left = spent * (total - done) / max(done, 1)
            beside.print(
                f"{what} {done:,}/{total:,} {unit}  {note}  {duration(spent)}, "
                f"{duration(left)} left"
            )

    return update


def watcher(update: Callable[[int, str], None]) -> Callable[["Training"], None]:
    """A training watcher that moves a bar; the note is the median over members at a log step."""
    logged = ""

    def watch(progress: "Training") -> None:
        nonlocal logged
        if progress.values is not None:
            shown = [
                f"{name} {number(float(value.median()))}"
                for name, value in progress.values.items()
                if name in ("recon", "kl", "loss")
            ]
            logged = f"step {progress.step:,}: " + "  ".join(shown)
        lost = f"  {len(progress.diverged)} diverged" if progress.diverged else ""
        update(progress.step, logged + lost)

    return watch


def table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Rows as a table for people, or as JSON for programs."""
    if as_json:
        sys.stdout.write(json.dumps(list(rows), indent=1) + "\n")
        return
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(column)
    for row in rows:
        shown.add_row(*(str(row[column]) for column in columns))
    console.print(shown)
