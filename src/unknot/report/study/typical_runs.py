"""Runs that stand for an objective: of its best configuration the median one and the best one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unknot.analysis.configurations import Configuration, has_diverged
from unknot.analysis.health import is_sound
from unknot.analysis.plain_table import numbers
from unknot.core.files import file_stem
from unknot.metrics import lower_is_better


@dataclass(frozen=True)
class TypicalRun:
    """A run that stands for an objective."""

    configuration: Configuration
    id: str
    seed: int
    value: float


def typical_runs(
    configurations: Sequence[Configuration], score: str, labels: Sequence[str] = ()
) -> list[TypicalRun]:
    """For each objective, of the configuration with the best mean the run with the median score.

    A sound configuration comes before all that are not. Of an even number of runs, the worse of the
    two in the middle.

    Args:
        configurations: Of one dataset.
        score: That runs are chosen by.
        labels: Of configurations; of these instead, each at its place.
    """
    sign = -1.0 if lower_is_better(score) else 1.0
    best: dict[str, tuple[tuple[bool, float], Configuration]] = {}
    for configuration in (c for c in configurations if c.has(score)):
        mean = sign * float(configuration.sample(score).values.mean())
        merit = is_sound(configuration, score), mean
        if configuration.objective not in best or merit > best[configuration.objective][0]:
            best[configuration.objective] = merit, configuration
    selected = [configuration for _, configuration in best.values()]
    if labels:
        by_label = {c.label: c for c in configurations if c.has(score)}
        selected = [by_label[label] for label in labels if label in by_label]
    ranked = [_runs_by_score(configuration, score, sign) for configuration in selected]
    return [runs[(len(runs) - 1) // 2] for runs in ranked]


def best_run(typical: TypicalRun, score: str) -> TypicalRun:
    """Of the configuration of a typical run, the run with the best score."""
    sign = -1.0 if lower_is_better(score) else 1.0
    return _runs_by_score(typical.configuration, score, sign)[-1]


def _runs_by_score(configuration: Configuration, score: str, sign: float) -> list[TypicalRun]:
    """Runs that have a score, from the worst to the best."""
    values, diverged = numbers(configuration.runs, score), has_diverged(configuration.runs)
    there = [
        i
        for i, status in enumerate(configuration.runs["status"])
        if status == "done" and not diverged[i] and not np.isnan(values[i])
    ]
    there.sort(key=lambda i: sign * values[i])
    return [
        TypicalRun(
            configuration,
            str(configuration.runs["id"][i]),
            int(configuration.runs["seed"][i]),
            float(values[i]),
        )
        for i in there
    ]


def model_name(prefix: str, typical: TypicalRun) -> str:
    """Start of the names of the files of an objective's model, and its anchor in the page."""
    return f"{prefix}model-{file_stem(typical.configuration.objective)}"
