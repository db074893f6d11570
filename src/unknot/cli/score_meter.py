"""The bar of scores, and what they wait for."""

import time
from collections.abc import Callable

from unknot.cli.screen import stderr
from unknot.core.text import duration

SHORT = 0.5
"""Seconds of encoding before it is said how long the rest will take."""
PAUSE = 10.0
"""Seconds between two lines where there is no terminal, and of waits that are said there."""


class ScoreMeter:
    """Moves a bar with scores, and says beside it which rows they wait for."""

    def __init__(self) -> None:
        self.update: Callable[[int, str], None] = lambda _, __: None
        self.scores, self.last_line = 0, -PAUSE
        self.began: tuple[int, float] = 0, 0.0
        """Rows that were encoded first, and when."""
        self.waits = False

    def scored(self, done: int) -> None:
        """So many scores are there."""
        self.scores, self.waits = done, False
        self.update(done, " ")

    def encoded(self, done: int, total: int) -> None:
        """So many rows are encoded; the first tell of all how long they will take."""
        now = time.monotonic()
        rows, when = self.began
        if done <= rows or done == total or not when:
            self.began = done, now
            if self.waits:
                self.update(self.scores, " ")
            self.waits = False
        elif not self.waits and now - when >= SHORT:
            seconds = (total - rows) * (now - when) / (done - rows)
            self.waits = True
            text = f"encoding {total:,} rows, about {duration(seconds)}"
            self.update(self.scores, text)
            if not stderr.is_terminal and seconds >= PAUSE and now - self.last_line >= PAUSE:
                self.last_line = now
                stderr.print(f"score: {text}", soft_wrap=True)
