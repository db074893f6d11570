"""What a study's page says in sentences: what was run, on what, and what came of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unknot.analysis import Results
from unknot.analysis.configurations import Columns, has_diverged
from unknot.core.errors import DamageError
from unknot.core.text import duration, joined, setting_text, value_text
from unknot.metrics import reading
from unknot.metrics.parts.facts import by_property, property_text
from unknot.objectives.parts.families import FAMILIES, families
from unknot.studies.study import Study

LONG = 6
"""Values of a setting that are listed; of more, the first and the last."""


@dataclass(frozen=True)
class RunCounts:
    """Runs by what became of them."""

    runs: int
    configurations: int
    seeds: int
    """The most of a configuration."""
    done: int
    diverged: int
    failed: int
    unfinished: int
    undefined: int
    """Scores that ended runs do not have."""


def count_runs(results: Results) -> RunCounts:
    """Runs by what became of them, and scores that ended runs do not have."""
    table, configurations = results.table, results.configurations
    diverged = has_diverged(table)
    states = table.get("status", ["done"] * len(diverged))
    kinds = Counter(
        "diverged" if lost else "done" if state is None else str(state)
        for state, lost in zip(states, diverged, strict=True)
    )
    return RunCounts(
        runs=len(diverged),
        configurations=len(configurations),
        seeds=max(c.size for c in configurations),
        done=kinds["done"],
        diverged=kinds["diverged"],
        failed=kinds["failed"],
        unfinished=kinds.total() - sum(kinds[s] for s in ("done", "diverged", "failed")),
        undefined=sum(c.sample(s).undefined for c in configurations for s in results.scores),
    )


def lead(results: Results) -> str:
    """One or two sentences: what was run.

    The counts are of the plan; what became of the runs is said beside.
    """
    table, configurations = results.table, results.configurations
    n, size = len(table["objective"]), len(configurations)
    objectives = list(dict.fromkeys(c.objective for c in configurations))
    sizes = sorted({c.size for c in configurations})
    seeds = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    text = f"{n:,} {_plural('run', n)}: "
    text += (
        f"{len(objectives)} objectives in {size} configurations"
        if len(objectives) > 1
        else f"{objectives[0]} in {size} {_plural('configuration', size)}"
    )
    text += f", {seeds} {_plural('seed', sizes[-1])}{' each' if size > 1 else ''}"
    text += _listed(table, "data", ", on {}") + _listed(table, "net", " with the net {}") + "."
    if steps := _listed(table, "steps", " {} steps"):
        text += steps + _listed(table, "batch", " of {} images")
        text += _listed(table, "optim.lr", ", learning rate {}") + "."
    return text


def training_place(study: Study) -> list[str]:
    """Where the populations of a study were trained, and how long that took."""
    from unknot.runs.folder import RunFolder

    places: Counter[str] = Counter()
    seconds, versions = 0.0, dict[str, Any]()
    for path in sorted((study.path / "populations").glob("*")):
        try:
            facts = RunFolder(path).record()
        except DamageError:  # the page says so
            continue
        if facts.get("status") not in ("done", "diverged"):
            continue
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
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    training_time = f"{duration(seconds)} of training, summed over jobs that may run side by side"
    return [f"{where}; {training_time}. {packages}."]


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


def missing(counts: RunCounts) -> str:
    """What is not in the averages; empty where all is."""
    kinds = {
        "diverged": counts.diverged,
        "failed": counts.failed,
        "not finished": counts.unfinished,
    }
    parts = [f"{n} {text}" for text, n in kinds.items() if n]
    text = (
        f"{joined(parts)} of {counts.runs:,} runs: counted and shown, but not in the means."
        if parts
        else ""
    )
    if counts.undefined:
        text += f" {counts.undefined} scores of finished runs are undefined."
    return text.strip()


def _listed(table: Columns, name: str, text: str) -> str:
    """A part of a sentence with the different values of a column; empty where it has none."""
    values = list(dict.fromkeys(value_text(v) for v in table.get(name, []) if v is not None))
    if len(values) > LONG:
        values = [f"{values[0]} … {values[-1]}"]
    return text.format(joined(values)) if values else ""


def _plural(word: str, n: int) -> str:
    return word if n == 1 else f"{word}s"


def readings(scores: Sequence[str]) -> dict[str, dict[str, str]]:
    """How to read scores, those that measure the same property under one heading."""
    metrics = {s: s.partition("@")[0].partition(".")[0] for s in scores if reading(s)}
    groups = by_property(dict.fromkeys(metrics.values()))
    return {
        f"{group[:1].upper()}{group[1:]}: {property_text(group)}": {
            score: reading(score) for score, metric in metrics.items() if metric in members
        }
        for group, members in groups.items()
    }


def families_of(results: Results) -> dict[str, str]:
    """The objectives that state a family, by what it acts on."""
    names = dict.fromkeys(c.objective for c in results.objectives)
    return {
        f"{family.capitalize()}: {FAMILIES[family]}": ", ".join(members)
        for family, members in families(names).items()
        if family != "other"
    }
