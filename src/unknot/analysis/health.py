"""Runs whose scores say nothing: collapsed models, models that draw nothing, scores at chance.

They are counted and shown like others, but no configuration of which half the runs are such is
ever called best.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from unknot.analysis.configurations import Columns, Configuration, has_diverged
from unknot.analysis.plain_table import numbers
from unknot.core.text import joined

COLLAPSED, BLANK = "collapsed", "draws nothing"
AT_CHANCE = "at_chance"
"""The column with the names of those scores of a run that are no better than chance."""
LEAST_KL = 0.05
"""Nats of divergence from the prior, of all latents together, below which codes carry nothing."""
LEAST_CONTRAST = 0.01
"""Share of the variance of images below which reconstructions are the same for all of them."""


def flaws(runs: Columns) -> list[str]:
    """What is wrong with each run; empty where nothing is known to be.

    Example:
        >>> flaws({"objective": ["vae"] * 3, "kl": [0.001, 9.0, 9.0], "contrast": [0, 0, 0.8]})
        ['collapsed', 'draws nothing', '']
    """
    n = len(next(iter(runs.values())))
    marks = [""] * n
    for column, least, mark in (
        ("contrast", LEAST_CONTRAST, BLANK),
        ("kl", LEAST_KL, COLLAPSED),
    ):
        if column in runs:
            low = numbers(runs, column) < least  # NaN is not
            marks = [mark if is_low else old for is_low, old in zip(low, marks, strict=True)]
    return ["" if lost else mark for mark, lost in zip(marks, has_diverged(runs), strict=True)]


def at_chance(runs: Columns, score: str) -> list[bool]:
    """Whether each run's score is no better than that of codes that know nothing."""
    n = len(next(iter(runs.values())))
    return [score in str(names or "").split() for names in runs.get(AT_CHANCE, [""] * n)]


def is_sound(configuration: Configuration, score: str) -> bool:
    """Whether more than half of the runs with a score have no flaw and are better than chance."""
    runs = configuration.runs
    sound = [
        not flaw and not chance
        for flaw, chance, value in zip(
            flaws(runs), at_chance(runs, score), numbers(runs, score), strict=True
        )
        if not np.isnan(value)
    ]
    return 2 * sum(sound) > len(sound)


def describe_flaws(table: Columns, scores: Sequence[str]) -> list[str]:
    """Sentences that count the runs whose scores say nothing; none where all is well."""
    counts = Counter(flaw for flaw in flaws(table) if flaw)
    n = len(next(iter(table.values())))
    meanings = {
        COLLAPSED: "collapsed: their codes carry no information",
        BLANK: "draw the same picture whatever they see",
    }
    sentences = [
        f"{counts[flaw]} of {n:,} runs {meaning}." for flaw, meaning in meanings.items()
        if counts[flaw]
    ]  # fmt: skip
    chance = {score: sum(at_chance(table, score)) for score in scores}
    if any(chance.values()):
        counts_by_score = [(score, count) for score, count in chance.items() if count]
        first = f"{counts_by_score[0][1]} of {n:,} runs by {counts_by_score[0][0]}"
        parts = [first, *(f"{count} by {score}" for score, count in counts_by_score[1:])]
        sentences.append(f"No better than random codes: {joined(parts)}.")
    if sentences:
        sentences.append("A configuration with half its runs among these is never called best.")
    return sentences
