"""Verdicts: which configuration is best by a score, where seeds tell it from all others.

Where two have `FEW` seeds or more, that takes Welch's one-sided t-test, at a level divided by the
number of others. Of fewer seeds it takes ranges that do not overlap, and no probability is
mentioned. One seed decides nothing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from unknot.analysis.configurations import Configuration
from unknot.analysis.health import is_sound
from unknot.analysis.intervals import FEW, mean_interval, welch_probability
from unknot.analysis.results import Results
from unknot.core.text import decimals, joined

MOST_NAMED = 3
"""Configurations that a sentence names; of more it has the number."""
LONGEST = 90
"""Letters of the names in a sentence; of longer ones it has the number alone."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """The configuration with the best mean of a score, and those that may be as good."""

    score: str
    best: Configuration
    second: Configuration
    """The next best mean."""
    rivals: tuple[Configuration, ...]
    """Those that the seeds do not tell from it, the best mean first."""
    text: str = ""

    @property
    def decided(self) -> bool:
        """Whether the seeds tell the best from all others."""
        return not self.rivals


def informative_scores(results: Results) -> list[str]:
    """The scores by which at least two configurations are sound; no other is claimed anything of.

    Where all models have collapsed, draw nothing or are at chance, what their scores differ by is
    noise: which is best, what a setting or the seed does, and how scores order runs.

    Example:
        >>> kl = {"vae": 9.0, "beta_vae": 9.0, "tvae": 0.001}
        >>> rows = [{"objective": name, "mig": 0.2, "kl": nats} for name, nats in kl.items()]
        >>> [informative_scores(Results(some, ["mig"])) for some in (rows, rows[1:])]
        [['mig'], []]
    """
    return [score for score in results.ranked if len(sound_configurations(results, score)) > 1]


def sound_configurations(results: Results, score: str) -> list[Configuration]:
    """The configurations that have a score and are sound at it."""
    return [c for c in results.configurations if c.has(score) and is_sound(c, score)]


def verdict(results: Results, score: str) -> Verdict | None:
    """Which configuration is best by a score, and whether the seeds show it.

    Sound configurations are compared (`unknot.analysis.health`); None where there are not two.

    Example:
        >>> rows = [("vae", 0.2), ("vae", 0.3), ("ada_gvae", 0.9), ("ada_gvae", 0.8)]
        >>> results = Results([{"objective": name, "mig": mig} for name, mig in rows])
        >>> verdict(results, "mig").decided
        True
    """
    sign = results.sign(score)
    group = sound_configurations(results, score)
    if len(group) < 2:
        return None
    group.sort(key=lambda c: -sign * _mean(c, score))
    best, *others = group
    top, *rest = [sign * c.sample(score).values for c in group]
    level = 1 - (1 - results.level) / len(others)
    apart = [_is_higher(top, values, level) for values in rest]
    rivals = tuple(c for c, lower in zip(others, apart, strict=True) if not lower)
    bare = Verdict(score, best, others[0], rivals)
    extreme, noun = extreme_word(results, score), score_noun(results, score)
    return replace(bare, text=_sentence(results, bare, extreme, noun, len(others)))


def extreme_word(results: Results, score: str) -> str:
    """What the best value of a score is, in a sentence."""
    return "lowest" if results.sign(score) < 0 else "highest"


def score_noun(results: Results, score: str) -> str:
    """A score in a sentence, told from an objective of the same name."""
    return f"{score} score" if score in results.table["objective"] else score


def _is_higher(
    first: Float[np.ndarray, " n"], second: Float[np.ndarray, " m"], level: float
) -> bool:
    """Whether seeds show that the first mean is higher."""
    fewest = min(len(first), len(second))
    if fewest < FEW or np.ptp(first) == np.ptp(second) == 0:
        return fewest > 1 and float(first.min()) > float(second.max())
    return welch_probability(first, second) > level


def _sentence(results: Results, verdict: Verdict, extreme: str, noun: str, others: int) -> str:
    n = len(verdict.best.sample(verdict.score).values)
    if n >= FEW:
        return _of_interval(results, verdict, f"{extreme} mean {noun}", others)
    most = f"{extreme} {noun}"
    return _of_range(results, verdict, most, others) if n > 1 else _one_seed_text(verdict, most)


def _one_seed_text(verdict: Verdict, most: str) -> str:
    return (
        f"{verdict.best.label} has the {most}, {decimals(_mean(verdict.best, verdict.score))}, "
        "with one seed: another seed may give another order."
    )


def _of_range(results: Results, verdict: Verdict, most: str, others: int) -> str:
    best, score = verdict.best, verdict.score
    if verdict.decided:
        sizes = [len(c.sample(score).values) for c in sound_configurations(results, score)]
        studies = f"{1 / apart_by_chance(sizes):,.0f} studies"
        return (
            f"{best.label} has the {most} in every seed: {_range(best, score)} in "
            f"{len(best.sample(score).values)} seeds, too few for an interval; next is "
            f"{verdict.second.label} with {_range(verdict.second, score)}. If the {len(sizes):,} "
            f"configurations were alike, one would come out so in 1 of {studies}."
        )
    rivals = _names(verdict.rivals, lambda c: f"{c.label} ({_range(c, score)})", others)
    return (
        f"The seeds do not show which configuration has the {most}: {best.label} "
        f"({_range(best, score)}) overlaps with {rivals}."
    )


def apart_by_chance(sizes: Sequence[int]) -> float:
    """How likely one of several configurations that are alike is above all others in every seed.

    All orders of the seeds are equally likely then.

    Args:
        sizes: Seeds of each.

    Example:
        >>> [round(apart_by_chance([n, n]), 3) for n in (2, 3, 4)]
        [0.333, 0.1, 0.029]
    """
    return sum(1 / math.comb(sum(sizes), size) for size in sizes)


def _of_interval(results: Results, verdict: Verdict, most: str, others: int) -> str:
    best, score, level = verdict.best, verdict.score, results.level
    values = best.sample(score).values
    low, high = mean_interval(values, level, results.bounds(score))
    interval = (
        "" if np.isnan(low) else f"{level:.0%} interval {decimals(low)} to {decimals(high)}, "
    )
    ending = (
        "and the seeds separate it from all others."
        if verdict.decided
        else "but the seeds do not separate it from "
        f"{_names(verdict.rivals, lambda c: c.label, others)}."
    )
    return (
        f"{best.label} has the {most}: {decimals(_mean(best, score))} ({interval}"
        f"{len(values)} seeds), {ending}"
    )


def _mean(configuration: Configuration, score: str) -> float:
    return float(configuration.sample(score).values.mean())


def _range(configuration: Configuration, score: str) -> str:
    values = configuration.sample(score).values
    low, high = decimals(float(values.min())), decimals(float(values.max()))
    return f"{low} to {high}" if low != high else low


def _names(
    configurations: Sequence[Configuration], name: Callable[[Configuration], str], others: int
) -> str:
    """Some configurations in a sentence and how many more; of many, how many of the others."""
    named = [name(c) for c in configurations[:MOST_NAMED]]
    more = len(configurations) - len(named)
    if more <= MOST_NAMED and sum(map(len, named)) <= LONGEST:
        return joined([*named, f"{more} more"] if more else named)
    if len(configurations) == 1:
        return named[0]
    n = len(configurations)
    return f"all {n:,} others" if n == others else f"{n:,} of the {others:,} others"
