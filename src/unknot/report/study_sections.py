"""Sections of a study's page with figures, each left out where there is nothing to draw."""

from collections.abc import Sequence
from dataclasses import replace

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.report import study_figures as figures
from unknot.report.study_axis import axis_words
from unknot.report.study_baselines import Baseline
from unknot.report.study_blocks import More, Section, Try, across
from unknot.report.study_curves import bands, objectives, training_curves
from unknot.report.study_labels import learners
from unknot.report.study_transfer import dataset_pairs
from unknot.report.study_words import lines_words
from unknot.study.study import Study

MOST_ROWS = 64
"""Settings of a figure that has a row for each; beyond, objectives have one."""
CURVED = 60
"""Settings whose curves are drawn, at most."""
MOST_TOGETHER = 16
"""Lines of a panel, where objectives have several each."""
SIDE_BY_SIDE = 6
"""Scores up to which two maps of them fit beside each other."""


def spread(results: Results, name: str, keep: Try, baselines: Sequence[Baseline] = ()) -> Section:
    """How scores spread over seeds."""
    found, shown = results.configurations, results.panels
    by_setting = len(found) <= MOST_ROWS
    by = "setting" if by_setting else "objective"
    largest = max(one.size for one in found)
    wide = across(len(shown))
    drawn = keep(
        f"{name}spread",
        lambda: figures.spread(results, shown, by=by, across=wide, baselines=baselines),  # type: ignore[arg-type]
    )
    more = []
    n = len(results.objectives)
    if n == 2 and len(found) > n:
        split = keep(
            f"{name}split-objective",
            lambda: figures.split_objectives(results, shown, across=wide, baselines=baselines),
        )
        more.append(More("All runs of both objectives, back to back", figures=split))
    elif n > 1 and by_setting and len(found) > n:
        pooled = keep(
            f"{name}spread-objectives",
            lambda: figures.spread(
                results, shown, by="objective", kind="violin", across=wide, baselines=baselines
            ),
        )
        more.append(More("All runs of each objective, as violins", figures=pooled))
    if len(results.table["objective"]) > 2:
        curves = keep(
            f"{name}cumulative", lambda: figures.cumulative(results, shown, baselines=baselines)
        )
        more.append(More("Cumulative distributions", figures=curves))
    for halves in _halves(results):
        split = keep(
            f"{name}split-{halves.replace('.', '-')}",
            lambda halves=halves: figures.split_violins(results, shown[0], halves),  # type: ignore[misc]
        )
        more.append(More(f"{shown[0]} by {halves}, back to back", figures=split))
    said = (
        "One seed of each setting says little: another may give another picture."
        if largest == 1
        else "The same setting with other seeds. Where rows overlap, a lucky seed outweighs the "
        "choice of the setting."
    )
    return Section(f"{name}spread", "How scores spread over seeds", said, figures=drawn, more=more)


def strength(
    results: Results, name: str, keep: Try, baselines: Sequence[Baseline] = ()
) -> Section | None:
    """Scores over strength."""
    lines, shown = [line for line in results.lines if line.ordered], results.panels
    drawable = {line.objective for line in lines}
    if not lines or len(lines) > max(MOST_TOGETHER, len(drawable)):
        return None
    # Settings that no number puts in order cannot be a line.
    drawn = keep(
        f"{name}strength",
        lambda: figures.strength_lines(
            results,
            shown,
            objectives=drawable,
            across=2 if len(shown) in (2, 4) else 3,
            baselines=baselines,
        ),
    )
    title = f"What {axis_words(lines)} does"
    return Section(f"{name}strength", title, lines_words(lines), figures=drawn)


def trade(
    results: Results, name: str, keep: Try, baselines: Sequence[Baseline] = ()
) -> Section | None:
    """Scores against reconstruction, and the rate-distortion plane."""
    held = [s for s in results.scores if s not in ("recon", "kl", "loss")]
    pairs = [s for s in held if _configurations_with(results, s, "recon") > 1]
    drawn = [
        shown
        for score in pairs
        for shown in keep(
            f"{name}trade-off-{score.replace('.', '-')}",
            lambda score=score: figures.trade_off(results, score, baselines=baselines),  # type: ignore[misc]
        )
    ]
    plane = []
    if _configurations_with(results, "kl", "recon") and results.runs_with("kl", "recon") > 1:
        plane = keep(f"{name}rate-distortion", lambda: figures.rate_distortion(results))
    open_ = [*drawn[:1], *plane]
    if not open_:
        return None
    words = (
        "A score is worth little if images do not come back. Rings mark settings that no other "
        "beats in the score without a worse reconstruction; grey lines join equal ELBOs."
        if pairs
        else "What codes say about images (rate) against how badly images come back (distortion)."
    )
    more = [More("The other scores against reconstruction", figures=drawn[1:])] if drawn[1:] else []
    return Section(f"{name}trade-offs", "What it costs", words, [], open_, more, paired=True)


def agreement(results: Results, name: str, keep: Try) -> Section | None:
    """Correlations of scores, of ranks and of values."""
    varied = [s for s in results.panels if results.varies(s)]
    if len(varied) < 2 or results.runs_with(*varied[:2]) < 4:
        return None
    ranks = keep(f"{name}correlations", lambda: figures.correlation_map(results, varied))
    values = keep(
        f"{name}correlations-pearson",
        lambda: figures.correlation_map(results, varied, kind="pearson"),
    )
    words = (
        "Spearman’s correlation over all runs: 100 where two scores order runs alike; Pearson’s: "
        "100 where they lie on a line. Scores that disagree measure different things, and which "
        "of them is wanted must be said beforehand."
    )
    title = "Whether scores agree"
    if len(varied) <= SIDE_BY_SIDE:
        return Section(f"{name}agreement", title, words, figures=[*ranks, *values], paired=True)
    more = [More("Pearson’s correlations", figures=values)] if values else []
    return Section(f"{name}agreement", title, words, figures=ranks, more=more)


def shares(results: Results, name: str, keep: Try) -> Section | None:
    """Where differences come from."""
    found, varied = results.configurations, [s for s in results.panels if results.varies(s)]
    several = max((len(one.sample(s).values) for one in found for s in varied), default=0) > 1
    if len(found) < 2 or not several or not varied:
        return None
    drawn = keep(f"{name}shares", lambda: figures.share_bars(results, varied))
    words = (
        "Of all differences between runs, the share that goes with the objective, with its "
        "strength, and the rest, which is chance: the seed."
    )
    return Section(f"{name}shares", "Where differences come from", words, figures=drawn)


def labels(results: Results, name: str, keep: Try) -> Section | None:
    """Accuracy over the number of labels, where runs were scored for it."""
    if not learners(results.configurations):
        return None
    drawn = keep(f"{name}labels", lambda: figures.accuracy_by_labels(results))
    words = (
        "How well factors are told from codes, on images not learnt from. A line that is high on "
        "the left learns from few labels; one that rises late has the factors, but tangled."
    )
    return Section(f"{name}labels", "How many labels it takes", words, figures=drawn)


def training(study: Study, results: Results, name: str, keep: Try) -> Section | None:
    """Training curves of each objective."""
    ended = [c for c in results.configurations if any(s == "done" for s in c.runs["status"])][
        :CURVED
    ]
    if not ended:
        return None
    drawn = []
    for objective, own in objectives(ended).items():
        logged = bands(study, own)
        if any(logged):
            drawn += keep(
                f"{name}training-{objective}",
                lambda own=own, logged=logged: training_curves(own, logged),  # type: ignore[misc]
            )
    if not drawn:
        return None
    words = "What training logged, batch by batch, of runs that did not diverge."
    more = [More("The other objectives", figures=drawn[2:])] if drawn[2:] else []
    return Section(f"{name}training", "Training", words, figures=drawn[:2], more=more)


def over_data(results: Results, keep: Try) -> Section | None:
    """Strength on several datasets, a figure for each objective; two of them also back to back."""
    more, shown = [], results.scores
    if len(results.objectives) == 2:
        both = keep("datasets-split", lambda: figures.split_objectives(results, shown))
        more += [More("Both objectives, all runs back to back", figures=both)] if both else []
    for objective in (one.objective for one in results.objectives):
        drawn = keep(
            f"datasets-{objective}",
            lambda name=objective: figures.strength_lines(  # type: ignore[misc]
                results, shown, lines="data", objectives=[name]
            ),
        )
        if drawn:
            more.append(More(objective, figures=drawn))
    more += _transfer(results, shown, keep)
    if not more:
        return None
    first, *others = more
    words = (
        f"The same grid on each dataset. Open: {first.summary}. A strength that is best on one "
        "dataset may be the worst on another."
    )
    return Section("datasets", "From dataset to dataset", words, figures=first.figures, more=others)


def _transfer(results: Results, shown: Sequence[str], keep: Try) -> list[More]:
    """Settings on one dataset against the same on another, a figure for each score."""
    drawn = [
        figure
        for score in shown
        if dataset_pairs(results.configurations, score)
        for figure in keep(
            f"datasets-transfer-{score.replace('.', '-')}",
            lambda score=score: figures.transfer(results, score),  # type: ignore[misc]
        )
    ]
    words = "Whether settings that are good on one dataset are good on another"
    return [More(words, figures=drawn)] if drawn else []


def _halves(results: Results) -> list[str]:
    """Settings other than the objective's own of which there are two values.

    Some setting must have both and differ in nothing else: else no violin has two halves.
    """
    table, found = results.table, results.configurations
    names = [n for n in results.settings if n.partition(".")[0] not in ("objective", "data")]
    two = [n for n in names if len({str(v) for v in table[n]}) == 2 and None not in table[n]]
    rest = {n: {_key_without(cell, n) for cell in found} for n in two}
    return [n for n in two if len(rest[n]) < len(found)][:2]


def _key_without(cell: Configuration, name: str) -> str:
    return replace(cell, settings={n: v for n, v in cell.settings.items() if n != name}).key


def _configurations_with(results: Results, *scores: str) -> int:
    return sum(one.has(*scores) for one in results.configurations)
