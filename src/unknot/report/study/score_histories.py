"""Scores of a study at the steps whose weights were kept: how they grew, when they were best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration, has_diverged
from unknot.analysis.plain_table import numbers
from unknot.studies.study import Study


@dataclass(frozen=True, eq=False)
class ScoreHistory:
    """One score of one configuration over training."""

    configuration: Configuration
    score: str
    steps: tuple[int, ...]
    """Those at which runs have it, the last among them."""
    values: tuple[Float[np.ndarray, " n"], ...]
    """Of the runs that did not diverge, at each step."""

    @property
    def means(self) -> list[float]:
        """Over seeds, at each step."""
        return [float(values.mean()) for values in self.values]

    def best(self, sign: float) -> int:
        """The place of the step with the best mean; of equals the first."""
        return int(np.argmax(sign * np.array(self.means)))


def score_histories(study: Study, results: Results) -> list[ScoreHistory]:
    """The histories of all scores that were measured before the end; none where none was."""
    before = {step: study.store.scores(step) for step in study.store.scored_steps()}
    histories = []
    for configuration in results.configurations if before else ():
        runs = configuration.runs
        lost = has_diverged(runs)
        ids = [run for run, gone in zip(runs["id"], lost, strict=True) if not gone]
        for score in results.scores:
            values = {
                step: np.array([v for i in ids if (v := scores.get(i, {}).get(score)) is not None])
                for step, scores in before.items()
            }
            end = numbers(runs, score)[~np.array(lost)]
            values[int(runs["steps"][0])] = end[~np.isnan(end)]
            points = sorted((step, v) for step, v in values.items() if len(v))
            if len(points) > 1:
                steps, samples = zip(*points, strict=True)
                histories.append(ScoreHistory(configuration, score, steps, samples))
    return histories


def history_rows(histories: Sequence[ScoreHistory]) -> list[dict[str, object]]:
    """As rows of a table, one for each configuration, score and step."""
    return [
        {
            "objective": history.configuration.objective,
            "swept_value": history.configuration.swept_value,
            "score": history.score,
            "step": step,
            "n": len(values),
            "mean": float(values.mean()),
            "low": float(values.min()),
            "high": float(values.max()),
        }
        for history in histories
        for step, values in zip(history.steps, history.values, strict=True)
    ]
