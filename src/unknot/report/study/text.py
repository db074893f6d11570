"""What a study's page says in words: what was run, on what, and what came of it."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from unknot.analysis import Results
from unknot.analysis.agreements import ScoreAgreement
from unknot.analysis.configurations import Columns, has_diverged
from unknot.analysis.lines import Line
from unknot.core.errors import UnknotError
from unknot.core.text import decimals, duration, setting_text
from unknot.report.study_axis import axis_words
from unknot.study.folder import RunFolder
from unknot.study.study import Study

SAID = ("done", "diverged")
FEW_RUNS = 10
"""Correlations of fewer runs are not worth a sentence."""


def counts(results: Results) -> dict[str, int]:
    """Runs by what became of them, and scores that ended runs do not have."""
    table, found = results.table, results.configurations
    states = [str(s) if s is not None else "done" for s in table.get("status", [])]
    states = states or ["done"] * len(table["objective"])
    lost = has_diverged(table)
    kinds = Counter("diverged" if out else s for s, out in zip(states, lost, strict=True))
    return {
        "runs": len(states),
        "settings": len(found),
        "seeds": max(one.size for one in found),
        "done": kinds["done"],
        "diverged": kinds["diverged"],
        "failed": kinds["failed"],
        "unfinished": sum(n for s, n in kinds.items() if s not in (*SAID, "failed")),
        "undefined": sum(one.sample(s).undefined for one in found for s in results.scores),
    }


def lead(results: Results) -> str:
    """One or two sentences: what was run.

    The counts are of the plan; what became of the runs is said beside.
    """
    table, found = results.table, results.configurations
    n = len(table["objective"])
    objectives = list(dict.fromkeys(one.objective for one in found))
    sizes = sorted({one.size for one in found})
    seeds = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    what = f"{n:,} {_plural('run', n)}: "
    what += (
        f"{len(objectives)} objectives in {len(found)} configurations"
        if len(objectives) > 1
        else f"{objectives[0]} in {len(found)} {_plural('configuration', len(found))}"
    )
    what += f", {seeds} {_plural('seed', sizes[-1])} {'each' if len(found) > 1 else ''}".rstrip()
    where = _values(table, "data")
    if where:
        what += f", on {joined(where)}"
    if nets := _values(table, "net"):
        what += f" with the net {joined(nets)}"
    said = [what + "."]
    steps, batch = _values(table, "steps"), _values(table, "batch")
    if steps:
        said.append(
            f"{joined(steps)} steps{f' of {joined(batch)} images' if batch else ''}"
            f"{_learning(table)}."
        )
    return " ".join(said)


def machine(study: Study) -> list[str]:
    """Where the populations of a study were trained, and how long that took."""
    places: Counter[str] = Counter()
    seconds, versions = 0.0, dict[str, Any]()
    for path in sorted((study.path / "populations").glob("*")):
        folder = RunFolder(path)
        if not folder.is_trained:
            continue
        facts = folder.record()
        versions |= facts.get("versions", {})
        seconds += float(facts.get("seconds", 0.0))
        places[str(facts.get("device", ""))] += 1
    if not places:
        return []
    where = joined(
        [
            f"{n} {_plural('population', n)} ({_plural('training job', n)}) on {device}"
            for device, n in places.items()
        ]
    )
    told = ", ".join(f"{name} {value}" for name, value in versions.items())
    return [f"{where}; {duration(seconds)} of training in total. {told}."]


def shared_settings(results: Results) -> dict[str, str]:
    """Settings that all runs have in common."""
    table = results.table
    return {
        name: setting_text(table[name][0])
        for name in results.settings
        if table[name][0] is not None and len({str(v) for v in table[name]}) == 1
    }


def failures(results: Results) -> list[str]:
    """Messages of runs that failed, each once, and how many runs it stopped."""
    errors = Counter(str(e) for e in results.table.get("error", []) if e)
    return [f"{n} {_plural('run', n)} failed: {error}" for error, n in errors.items()]


def missing(number: dict[str, int]) -> str:
    """What is not in the averages; empty where all is."""
    parts = [
        f"{number['diverged']} diverged" if number["diverged"] else "",
        f"{number['failed']} failed" if number["failed"] else "",
        f"{number['unfinished']} not finished" if number["unfinished"] else "",
    ]
    there = [part for part in parts if part]
    said = (
        f"{joined(there)} of {number['runs']:,} runs: counted and shown, but not in the means."
        if there
        else ""
    )
    if number["undefined"]:
        said += f" {number['undefined']} scores of finished runs are undefined."
    return said.strip()


def findings(results: Results) -> list[str]:
    """What came out, in sentences; each is a count or a number of the tables below."""
    said, found, scores = [], results.configurations, results.scores
    won: dict[str, list[str]] = {}
    for winner in results.winners:
        won.setdefault(winner.label, []).append(winner.score)
    if len(found) > 1:
        order = sorted(won, key=lambda label: -len(won[label]))
        said += [f"{_have(label)} the best mean of {joined(won[label])}." for label in order]
    try:
        known = results.variance_shares()
    except UnknotError:
        known = []
    chance = {one.score: list(one.shares.values())[-1] for one in known}
    if chance and len(found) > 1:
        least, most = min(chance, key=chance.__getitem__), max(chance, key=chance.__getitem__)
        low, high = f"{chance[least]:.0%}", f"{chance[most]:.0%}"
        ends = f"{low} ({least}) to {high} ({most})" if low != high else low
        said.append(f"The seed alone accounts for {ends} of the variance of scores between runs.")
    if len(scores) > 2 and len(results.table["objective"]) >= FEW_RUNS:
        said.append(_agreeing(results.agreement()))
    return said


def _have(label: str) -> str:
    return f"{label} have" if label.endswith("alike") else f"{label} has"


def _agreeing(found: ScoreAgreement) -> str:
    pairs = list(combinations(range(len(found.names)), 2))
    values = [float(found.spearman[pair]) for pair in pairs]
    low, high = (pairs[int(place)] for place in (np.argmin(values), np.argmax(values)))
    ends = [f"{decimals(float(found.spearman[i, j]), 2)} ({found.names[i]} and {found.names[j]})"
            for i, j in (low, high)]  # fmt: skip
    return f"Scores order runs with rank correlations from {ends[0]} to {ends[1]}."


def lines_words(lines: Sequence[Line]) -> str:
    """What the points of lines are, what order they have, and what may be compared.

    Example:
        >>> from unknot.analysis.configurations import Configuration
        >>> runs = {"objective": ["vae"]}
        >>> own = tuple(Configuration("vae", float(x), "data.spacing", {}, runs) for x in (1, 8))
        >>> lines_words([Line("vae", "", "data.spacing", {}, (1.0, 8.0), own)])
        'One run per configuration, from the smallest to the largest spacing.'
    """
    several = any(one.size > 1 for line in lines for one in line.configurations)
    over = axis_words(lines)
    said = "Means over seeds with 95 % intervals" if several else "One run per configuration"
    said += (
        ", from the weakest to the strongest regularisation of each objective."
        if over == "strength"
        else f", from the smallest to the largest {over}."
    )
    if any(line.apart for line in lines):
        said += " Configurations that also differ in something else have lines of their own."
    if len({line.axis for line in lines}) > 1:
        said += (
            " Strengths of two objectives are different quantities: compare the shapes of lines, "
            "not their positions."
        )
    return said


def joined(names: Sequence[str]) -> str:
    """A list in words.

    Example:
        >>> joined(["mig", "sap", "cbd"])
        'mig, sap and cbd'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _learning(table: Columns) -> str:
    rates = _values(table, "optim.lr")
    return f", learning rate {joined(rates)}" if rates else ""


def _values(table: Columns, name: str) -> list[str]:
    """Different values of a column, for people; a long list is its ends."""
    found: list[Any] = list(dict.fromkeys(str(v) for v in table.get(name, []) if v is not None))
    shown = [_thousands(v) for v in found]
    return shown if len(shown) <= 6 else [f"{shown[0]} … {shown[-1]}"]


def _thousands(value: str) -> str:
    return f"{int(value):,}" if value.isdigit() else value


def _plural(word: str, n: int) -> str:
    return word if n == 1 else f"{word}s"
