"""Note: how a training goes, in one line beside its bar."""

from math import inf

from unknot.core.text import number
from unknot.runs.training import Progress

NAMES = ("loss", "recon", "kl")
VALIDATION = "validation.loss"


class Note:
    """The losses of the last log step and of the last validation, medians over members."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.best, self.best_step = inf, 0

    def text(self, now: Progress) -> str:
        """The losses in words, and how many members diverged."""
        for name, value in (now.values or {}).items():
            if name in (*NAMES, VALIDATION):
                self.values[name] = float(value.nanmedian())
        words = [f"{name} {number(self.values[name])}" for name in NAMES if name in self.values]
        if VALIDATION in self.values:
            words.append(self._validation(now.step))
        if now.diverged:
            words.append(f"{len(now.diverged)} diverged")
        return "  ".join(words)

    def _validation(self, step: int) -> str:
        value = self.values[VALIDATION]
        if value < self.best:
            self.best, self.best_step = value, step
        best = f" (best at {self.best_step:,})" if value > self.best else ""
        return f"validation {number(value)}{best}"
