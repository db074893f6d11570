"""Figure of a study: scores over the steps of training."""

from collections.abc import Iterator, Sequence
from functools import partial

from unknot.analysis import Results
from unknot.analysis.intervals import FEW, SPARSE, Bounds, mean_interval
from unknot.core.text import number
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.score_histories import ScoreHistory, history_rows, score_histories
from unknot.report.study.style import DataFigure, MeansLine, draw_means, legend, looks, panels
from unknot.report.style import set_panel, styled

MOST_LINES = 8
"""Configurations of a panel."""


def applies(part: Part) -> Iterator[Figure]:
    """Where scores were measured before the end of training."""
    histories = score_histories(part.study, part.results) if part.study else []
    if histories:
        yield Figure("score-curves", "score-curves", partial(draw, part.results, histories))


@styled
def draw(results: Results, histories: Sequence[ScoreHistory]) -> DataFigure:
    """Mean scores over steps, a line for each of up to eight configurations.

    Where there are more, those with the best means of the first score at the end are shown.
    Intervals take five seeds; of fewer than ten seeds each run is a dot.

    Args:
        results: Of one dataset.
        histories: From `score_histories`.
    """
    scores = [s for s in results.scores if any(h.score == s for h in histories)]
    labels = _best_labels(results, [h for h in histories if h.score == scores[0]])
    looked = looks(labels)
    counts = {len(values) for history in histories for values in history.values}
    interval = ", mean and 95% interval" if max(counts) >= FEW else ""
    figure, all_axes = panels(
        len(scores), most=3, size=(2.9, 2.1), head=1.0, title=f"Scores over training{interval}"
    )
    for score, axes in zip(scores, all_axes, strict=True):
        lines = {h.configuration.label: h for h in histories if h.score == score}
        selected = [lines[label] for label in labels if label in lines]
        draw_means(
            axes,
            [_means_line(history, results.level, results.bounds(score)) for history in selected],
            [looked[history.configuration.label] for history in selected],
            [[v.tolist() if 1 < len(v) < SPARSE else [] for v in h.values] for h in selected],
        )
        set_panel(axes, score)
        axes.xaxis.set_major_formatter(lambda v, _: number(v))
        axes.set_xlabel("step")
    total = len({h.configuration.label for h in histories})
    note = f"The {len(labels)} of {total} configurations with the best {scores[0]} at the end."
    legend(figure, looked, across=2, notes=(note,) if total > len(labels) else ())
    return DataFigure(figure, history_rows(histories))


def _best_labels(results: Results, histories: Sequence[ScoreHistory]) -> list[str]:
    """Names of the configurations to show, in the order of the table."""
    order = sorted(histories, key=lambda h: -results.sign(h.score) * h.means[-1])
    labels = {h.configuration.label for h in order[:MOST_LINES]}
    return [h.configuration.label for h in histories if h.configuration.label in labels]


def _means_line(history: ScoreHistory, level: float, bounds: Bounds) -> MeansLine:
    ends = [mean_interval(values, level, bounds) for values in history.values]
    return history.steps, history.means, [low for low, _ in ends], [high for _, high in ends]
