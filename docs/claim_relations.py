"""Tests of claims about more than two means: correlations, pooled effects, best runs, choices.

They take and give what `claim_tests` does.
"""

import math
from typing import Any

import numpy as np
from claim_tests import MAIN, NOT_RUN, Answer, Settings, select, welch
from tuned_claims import FEWEST, SIDES, side_of

from unknot.analysis.configurations import Columns, sample, setting_names
from unknot.analysis.effects import effects
from unknot.analysis.plain_table import numbers
from unknot.analysis.replication import ONE_SIDED
from unknot.core.errors import ConfigError

FEWEST_POINTS = 8
"""Points that a correlation takes."""


def correlation(table: Columns, test: Settings) -> Answer:
    """Whether the rank correlation of two scores over runs lies within limits.

    Its 90 % interval is that of Bonett and Wright (2000). With `given`, ranks are those that a
    third score does not explain. Scores with a * are pairs of columns that end alike, such as
    `sigma.*` and `kl.*`: one point for each run and column.
    """
    try:
        runs = select(table, test["runs_with"])
    except ConfigError:
        return NOT_RUN
    names = [test["first"], test["second"], *([test["given"]] if "given" in test else [])]
    points = _points(runs, names)
    if len(points) < FEWEST_POINTS:
        return NOT_RUN
    found = _spearman(points)
    n = len(points) - (len(names) - 2)
    half = ONE_SIDED * math.sqrt((1 + found**2 / 2) / (n - 3))
    low, high = (
        math.tanh(math.atanh(min(max(found, -0.9999), 0.9999)) + s * half) for s in (-1, 1)
    )
    least, most = test.get("above", -2.0), test.get("below", 2.0)
    inside, outside = least < low and high < most, high < least or low > most
    verdict = "holds" if inside else "fails" if outside else "undecided"
    given = f" given {names[2]}" if len(names) > 2 else ""
    return verdict, f"ρ of {names[0]} and {names[1]}{given} {found:+.2f} [{low:+.2f}, {high:+.2f}]"


def _points(runs: Columns, names: list[str]) -> np.ndarray:
    """A row for each run, or for each run and column, that has all scores."""
    if "*" not in names[0]:
        if any(name not in runs for name in names):
            return np.zeros((0, len(names)))
        points = np.stack([numbers(runs, name) for name in names], 1)
    else:
        start = names[0].partition("*")[0]
        ends = [n.removeprefix(start) for n in runs if n.startswith(start)]
        columns = [[name.replace("*", end) for name in names] for end in ends]
        there = [c for c in columns if all(name in runs for name in c)]
        if not there:
            return np.zeros((0, len(names)))
        points = np.concatenate([np.stack([numbers(runs, n) for n in c], 1) for c in there])
    complete: np.ndarray = points[~np.isnan(points).any(1)]
    return complete


def _spearman(points: np.ndarray) -> float:
    from scipy import stats

    ranks = stats.rankdata(points, axis=0)
    if not np.ptp(ranks, axis=0).all():
        return 0.0
    r = np.corrcoef(ranks.T)
    if points.shape[1] == 2:
        return float(r[0, 1])
    left = math.sqrt(max(1e-12, (1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2)))
    return float((r[0, 1] - r[0, 2] * r[1, 2]) / left)


def pooled(table: Columns, test: Settings) -> Answer:
    """Whether a value of a setting scores higher than another, all else alike.

    Runs are paired that differ in this setting alone; the interval is that of
    `unknot.analysis.effects`, over configurations and seeds.
    """
    name = test["setting"]
    try:
        both = [test["less"], test["more"]]
        runs = select(table, {**test.get("runs_with", {}), name: both})
    except ConfigError:
        return NOT_RUN
    if test["score"] not in runs:
        return NOT_RUN
    settings = [
        n for n in setting_names(runs) if n not in ("piece", MAIN, *test.get("decides", ()))
    ]
    found = effects(runs, settings, name, test["score"])
    if not found or not len(found[0].differences):
        return NOT_RUN
    (one,) = found
    sign = 1 if one.value == test["more"] else -1
    low, high = sorted((sign * one.low, sign * one.high))
    reason = (
        f"{test['score']} {sign * one.mean:+.3f} [{low:+.3f}, {high:+.3f}] over "
        f"{len(one.differences)} pairs"
    )
    if math.isnan(one.low):
        return "undecided", reason
    return side_of(low, high, 0.0), reason


def best(table: Columns, test: Settings) -> Answer:
    """Whether the best run of each seed on one side lies above that on the other."""
    sides = []
    for name in SIDES:
        try:
            runs = select(table, test[name])
        except ConfigError:
            return NOT_RUN
        if test["score"] not in runs:
            return NOT_RUN
        found = sample(runs, test["score"])
        of: dict[Any, float] = {}
        for seed, value in zip(found.seeds, found.values.tolist(), strict=True):
            of[seed] = max(value, of.get(seed, -math.inf))
        sides.append(np.array([*of.values()]))
    more, less = sides
    if not (len(more) and len(less)):
        return NOT_RUN
    reason = f"best {test['score']} {more.mean():.3g} > {less.mean():.3g}"
    if min(len(more), len(less)) < FEWEST:
        return "undecided", f"{reason}, one seed"
    low, high = welch(more, less)
    return side_of(low, high, 0.0), f"{reason} [{low:+.3f}, {high:+.3f}]"


def chosen(table: Columns, test: Settings) -> Answer:
    """Whether a score chooses, in most seeds, the value of a setting nearest to a number.

    The number is the mean of another score over the runs `near`; the share of seeds is `share`.
    """
    try:
        runs, others = select(table, test["runs_with"]), select(table, test["near"])
    except ConfigError:
        return NOT_RUN
    name = test["setting"]
    if test["score"] not in runs or test["number"] not in others:
        return NOT_RUN
    target = sample(others, test["number"]).values
    values = sorted({value for value in runs[name] if value is not None})
    if not len(target) or len(values) < FEWEST:
        return NOT_RUN
    nearest = min(values, key=lambda value: abs(value - target.mean()))
    picked: dict[Any, tuple[float, Any]] = {}
    for seed, value, score in zip(
        runs["seed"], runs[name], numbers(runs, test["score"]), strict=True
    ):
        if not math.isnan(score):
            picked[seed] = max(picked.get(seed, (-math.inf, value)), (score, value))
    if len(picked) < FEWEST:
        return NOT_RUN
    right = sum(value == nearest for _, value in picked.values())
    reason = (
        f"{test['score']} chooses {', '.join(f'{value:g}' for _, value in picked.values())}; "
        f"{test['number']} {target.mean():.3g}"
    )
    return ("holds" if right >= test["share"] * len(picked) else "fails"), reason


def steady(table: Columns, test: Settings) -> Answer:
    """Whether a score hardly changes with a setting, in most seeds."""
    try:
        runs = select(table, test["runs_with"])
    except ConfigError:
        return NOT_RUN
    if test["score"] not in runs or test["setting"] not in runs:
        return NOT_RUN
    of: dict[Any, dict[Any, float]] = {}
    scores = numbers(runs, test["score"])
    for seed, value, score in zip(runs["seed"], runs[test["setting"]], scores, strict=True):
        if not math.isnan(score):
            of.setdefault(seed, {})[value] = float(score)
    values = {value for by in of.values() for value in by}
    whole = [by for by in of.values() if len(by) == len(values)]
    if len(values) < FEWEST or len(whole) < FEWEST:
        return NOT_RUN
    kept = sum(max(by.values()) - min(by.values()) <= test["within"] for by in whole)
    reason = f"{test['score']} within {test['within']} in {kept} of {len(whole)} seeds"
    return ("holds" if kept >= test["share"] * len(whole) else "fails"), reason
