"""What the terminal shows: a bar that moves, tables, sentences and JSON."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.status import Status
from rich.table import Table
from rich.text import Text

from unknot.core.text import duration, plain, shorten

if TYPE_CHECKING:
    from unknot.runs.training import Progress as Training

LONGEST_CELL = 400
"""Characters of a cell on the screen."""


class Screen(Console):
    """A console that prints texts as they are: no markup, and control characters as escapes.

    Names come from files of anyone. What is to be bold is a `rich.text.Text`.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """A text as it is."""
        off = {"markup": False, "emoji": False}
        return super().render_str(plain(text, keep="\n"), **{**options, **off})

    def status(self, status: Any, **options: Any) -> Status:
        """What is being done, beside a wheel that turns."""
        return super().status(Text(plain(status)), **options)


stdout = Screen(highlight=False)
stderr = Screen(highlight=False, stderr=True)
"""Progress goes to the error stream, so that results can be piped."""


PATIENCE = 1.0
"""Seconds before a bar of work that may be short."""


def say(*parts: str | tuple[str, str]) -> None:
    """A sentence, on one line; long paths are not broken, so that they can be copied.

    Args:
        parts: One behind the other; one with a style is ``("beta_vae", "bold")``. A line break at
            the very beginning is an empty line; any other, as in a file's name, is shown.
    """
    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    first, style = pairs[0]
    if first.startswith("\n"):
        stdout.print()
        pairs[0] = first[1:], style
    text = Text.assemble(*((plain(text), style) for text, style in pairs))
    stdout.print(text, soft_wrap=True)


def print_text(text: str) -> None:
    """Several lines as they are."""
    stdout.print(Text(plain(text, keep="\n")), soft_wrap=True)


def print_json(value: Any) -> None:
    """What a program reads instead of a table or a sentence."""
    typer.echo(json.dumps(value, indent=1, default=str))


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> None:
    """Rows as a table for people; all columns of the first row unless named."""
    columns = columns or [*(rows[0] if rows else ())]
    grid = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        grid.add_row(*(shorten(str(row[column]), LONGEST_CELL) for column in columns))
    stdout.print(grid)


@contextmanager
def bar(what: str, total: int, unit: str) -> Iterator[Callable[[int, str], None]]:
    """A progress bar with the time left; one line for each tenth where there is no terminal."""
    if not stderr.is_terminal:
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
    progress = Progress(*columns, console=stderr)
    task = progress.add_task(what, total=total, note="")

    def update(done: int, note: str) -> None:
        progress.start()  # not before there is something to show; again does nothing
        progress.update(task, completed=done, note=note)

    try:
        yield update
    finally:
        progress.stop()


@contextmanager
def counting_bar(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that learns its length when the work begins; none is shown for what is short."""
    start = time.monotonic()
    with ExitStack() as stack:
        update: Callable[[int, str], None] | None = None

        def count(done: int, total: int) -> None:
            nonlocal update
            if time.monotonic() - start < PATIENCE:
                return
            if update is None:
                update = stack.enter_context(bar(what, total, unit))
            update(done, " ")

        yield count


def _lines(what: str, total: int, unit: str) -> Callable[[int, str], None]:
    start, last_tenth = time.monotonic(), 0

    def update(done: int, note: str) -> None:
        nonlocal last_tenth
        tenth = 10 * done // max(total, 1)
        if tenth > last_tenth and note:
            last_tenth = tenth
            seconds = time.monotonic() - start
            left = seconds * (total - done) / max(done, 1)
            stderr.print(
                f"{what} {done:,}/{total:,} {unit}  {note}  {duration(seconds)}, "
                f"{duration(left)} left",
                soft_wrap=True,
            )

    return update


def watcher(update: Callable[[int, str], None]) -> Callable[["Training"], None]:
    """A training watcher that moves a bar; the note is the median over members at a log step."""
    from unknot.runs.note import Note

    note, last_log = Note(), ""

    def watch(progress: "Training") -> None:
        nonlocal last_log
        if progress.values is not None:
            last_log = f"step {progress.step:,}: "
        update(progress.step, last_log + note.text(progress))

    return watch
