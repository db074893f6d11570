"""What was tried, what held and what was lost."""

from collections import Counter

MOST_WORDS = 500
"""Characters of what is said of a trial that was lost."""


class Tally:
    """Counts of trials by kind."""

    def __init__(self):
        self.held, self.lost, self.words = Counter(), Counter(), []

    def add(self, kind, trial, *args):
        """One trial, or as many as it says that it was; it holds unless it raises."""
        try:
            self.held[kind] += trial(*args) or 1
        except Exception as error:
            self.lost[kind] += 1
            self.words.append(f"{kind} {args[1:]}: {type(error).__name__}: {error}"[:MOST_WORDS])

    def __str__(self):
        kinds = dict.fromkeys([*self.held, *self.lost])
        rows = [(kind, self.held[kind] + self.lost[kind], self.held[kind], self.lost[kind])
                for kind in kinds]  # fmt: skip
        rows.append(("all", *(sum(row[i] for row in rows) for i in (1, 2, 3))))
        lines = [f"{'':34}{'tried':>8}{'held':>8}{'lost':>8}"]
        lines += [f"{kind:34}{tried:8,}{held:8,}{lost:8,}" for kind, tried, held, lost in rows]
        return "\n".join([*lines, *self.words])
