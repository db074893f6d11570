"""Claims: what a page says of its runs in sentences, each by a rule for when to say nothing.

Which configuration is best is in `unknot.analysis.verdicts`.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from unknot.analysis.effects import BOTH, effects, pooled_settings, setting_values
from unknot.analysis.health import describe_flaws, flaws
from unknot.analysis.intervals import FEW
from unknot.analysis.results import Results
from unknot.analysis.verdicts import (
    MOST_NAMED,
    Verdict,
    extreme_word,
    informative_scores,
    score_noun,
    sound_configurations,
    verdict,
)
from unknot.core.errors import DataError
from unknot.core.text import decimals, joined, setting_label, setting_text

FEW_RUNS = 10
"""Correlations of fewer runs are not worth a sentence."""


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
    where = f" on {data.pop()}" if len(data) == 1 and data != {""} else ""
    return (
        f"Which of {len(rivals[score]):,} configurations has the {extreme_word(results, score)} "
        f"{score_noun(results, score)}{where}?"
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
        sound = [c.label for c in sound_configurations(results, score)]
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
        f"{'to' if effect.mean > 0 else 'from'} the {score_noun(results, score)}"
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
