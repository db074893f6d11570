"""Claims: what a page says of its runs in sentences, each by a rule for when to say nothing.

A verdict calls a configuration best only where seeds tell it from all others. Where two have `FEW`
seeds or more, that takes Welch's one-sided t-test, at a level divided by the number of others. Of
fewer seeds it takes ranges that do not overlap, and no probability is mentioned. One seed decides
nothing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from jaxtyping import Float

from unknot.analysis.configurations import Configuration
from unknot.analysis.effects import BOTH, effects, pooled_settings, setting_values
from unknot.analysis.health import describe_flaws, flaws, is_sound
from unknot.analysis.intervals import FEW, mean_interval, welch_probability
from unknot.analysis.results import Results
from unknot.core.errors import DataError
from unknot.core.text import decimals, joined, setting_label, setting_text

FEW_RUNS = 10
"""Correlations of fewer runs are not worth a sentence."""
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


def question(results: Results) -> str:
    """What the first of the `claims` answers; empty where no configurations can be compared.

    Example:
        >>> rows = [{"objective": name, "mig": 0.5, "data": "shapes"} for name in ("vae", "tvae")]
        >>> question(Results(rows))
        'Which of 2 configurations has the highest mig on shapes?'
    """
    rivals = {s: [c for c in results.configurations if c.has(s)] for s in results.ranked}
    several = [score for score, group in rivals.items() if len(group) > 1]
    if not several:
        return ""
    score = next((s for s in several if verdict(results, s)), several[0])
    data = {c.data for c in rivals[score]}
    return (
        f"Which of {len(rivals[score]):,} configurations has the {_extreme(results, score)} "
        f"{_noun(results, score)}{f' on {data.pop()}' if len(data) == 1 and data != {''} else ''}?"
    )


def claims(results: Results) -> list[str]:
    """All that the page of one dataset claims, the most important first."""
    verdicts = [v for score in results.ranked if (v := verdict(results, score))]
    sentences = [verdicts[0].text, *_other_verdicts(verdicts)] if verdicts else []
    sentences += [*_no_verdict(results), *_effects(results)]
    return [*sentences, *_seed_share(results), *_agreement(results)]


def warnings(results: Results) -> list[str]:
    """What a reader must know before any claim: runs and scores that say nothing."""
    reasons: dict[str, list[str]] = {}
    for score in results.scores:
        if score in results.unranked:
            reasons.setdefault(results.unranked[score], []).append(score)
    unranked = [
        f"Nothing is best by {joined(scores)}: {reason}." for reason, scores in reasons.items()
    ]
    return [*describe_flaws(results.table, results.scores), *unranked]


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
    return [score for score in results.ranked if len(_sound(results, score)) > 1]


def _sound(results: Results, score: str) -> list[Configuration]:
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
    group = _sound(results, score)
    if len(group) < 2:
        return None
    group.sort(key=lambda c: -sign * _mean(c, score))
    best, *others = group
    top, *rest = [sign * c.sample(score).values for c in group]
    level = 1 - (1 - results.level) / len(others)
    apart = [_is_higher(top, values, level) for values in rest]
    rivals = tuple(c for c, lower in zip(others, apart, strict=True) if not lower)
    bare = Verdict(score, best, others[0], rivals)
    extreme, noun = _extreme(results, score), _noun(results, score)
    return replace(bare, text=_sentence(results, bare, extreme, noun, len(others)))


def _extreme(results: Results, score: str) -> str:
    return "lowest" if results.sign(score) < 0 else "highest"


def _noun(results: Results, score: str) -> str:
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
        sizes = [len(c.sample(score).values) for c in _sound(results, score)]
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


def _other_verdicts(verdicts: Sequence[Verdict]) -> list[str]:
    """The verdicts after the first in as few sentences as it takes."""
    first, *others = verdicts
    clear: dict[tuple[str, str], list[str]] = {}
    for other in others:
        if other.decided:
            seeds = len(other.best.sample(other.score).values)
            how = "clearly best" if seeds >= FEW else "best in every seed"
            clear.setdefault((other.best.label, how), []).append(other.score)
    sentences = [
        f"By {joined(scores)}, {label} is {how}{' too' if same else ''}."
        for (label, how), scores in clear.items()
        for same in [first.decided and label == first.best.label]
    ]
    if open_scores := [other.score for other in others if not other.decided]:
        sentences.append(f"By {joined(open_scores)}, the seeds do not show which is best.")
    return sentences


def _no_verdict(results: Results) -> list[str]:
    """Scores of several configurations of which not two can be compared."""
    scores: dict[str, list[str]] = {}
    for score in results.ranked:
        group = [c for c in results.configurations if c.has(score)]
        sound = [c.label for c in _sound(results, score)]
        if len(group) > 1 and len(sound) < 2:
            scores.setdefault(sound[0] if sound else "", []).append(score)
    ends = {True: "there is nothing to compare", False: "none is best"}
    return [
        f"By {joined(names)}, {f'all but {label}' if label else 'all configurations'} are "
        f"collapsed, blank or at chance, so {ends[bool(label)]}."
        for label, names in scores.items()
    ]


def _effects(results: Results) -> list[str]:
    """What settings of two values do to the first score; silent where an interval has zero.

    That takes `FEW` configurations and as many seeds, no collapsed model among the pairs, and a
    score that is not at chance everywhere. As several settings are looked at, the level is divided
    by their number.
    """
    table, names = results.table, results.settings
    pooled = [n for n in pooled_settings(table, names) if len(setting_values(table, n)) == 2]
    if not pooled or results.ranked[:1] != informative_scores(results)[:1]:
        return []
    score, level = results.ranked[0], 1 - (1 - results.level) / len(pooled)
    all_effects = [effect for n in pooled for effect in effects(table, names, n, score, level)]
    clear = [e for e in all_effects if e.is_clear and e.over == BOTH and not e.flawed]
    clear.sort(key=lambda effect: -abs(effect.mean))
    parts = [
        f"{'adds' if effect.mean > 0 else 'takes'} {decimals(abs(effect.mean))} "
        f"({' to '.join(map(decimals, sorted((abs(effect.low), abs(effect.high)))))}) "
        f"{'to' if effect.mean > 0 else 'from'} the {_noun(results, score)}"
        for effect in clear[:MOST_NAMED]
    ]
    named = [
        f"{setting_label(effect.setting)} {setting_text(effect.value)} instead of "
        f"{setting_text(effect.reference)} {part}"
        for effect, part in zip(clear, parts, strict=False)
    ]
    return [f"Over all other settings and seeds, {joined(named)}."] if named else []


def _seed_share(results: Results) -> list[str]:
    """How much of the variance is the seed's; silent where some configuration has few seeds.

    It is of scores by which two configurations are sound.
    """
    configurations = results.configurations
    if len(configurations) < 2 or min(c.size for c in configurations) < FEW:
        return []
    scores = informative_scores(results)
    try:
        shares = {s.score: list(s.shares.values())[-1] for s in results.variance_shares(scores)}
    except DataError:  # of all configurations one run is left
        return []
    if not shares:
        return []
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    low, high = f"{shares[least]:.0%}", f"{shares[most]:.0%}"
    ends = f"{low} ({least}) to {high} ({most})" if low != high else low
    return [f"The seed alone accounts for {ends} of the variance of scores between runs."]


def _agreement(results: Results) -> list[str]:
    """How metrics order runs; silent of two metrics or few runs.

    Runs that collapsed or draw nothing do not count, nor do scores by which fewer than two
    configurations are sound. Parts of one metric, and the same under two protocols, agree or
    disagree by construction.
    """
    scores = informative_scores(results)  # no losses of different functions
    if len({*map(_metric, scores)}) < 3:
        return []
    flawed = flaws(results.table)
    rest = results.where([not flaw for flaw in flawed])
    if rest.runs_with(*scores) < FEW_RUNS:
        return []
    agreement = rest.agreement(scores)
    names = agreement.names
    pairs = [
        (i, j)
        for i, j in combinations(range(len(names)), 2)
        if _metric(names[i]) != _metric(names[j])
    ]
    values = [float(agreement.spearman[pair]) for pair in pairs]
    ends = [
        f"{decimals(values[k], 2)} ({names[pairs[k][0]]} and {names[pairs[k][1]]})"
        for k in (int(np.argmin(values)), int(np.argmax(values)))
    ]
    runs = "the runs that did not collapse" if any(flawed) else "runs"
    return [f"Scores order {runs} with rank correlations from {ends[0]} to {ends[1]}."]


def _metric(score: str) -> str:
    """The metric that a score is of."""
    return score.partition("@")[0].partition(".")[0]


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
