"""Sections of a study's page with figures, each left out where there is nothing to draw."""

from collections.abc import Callable, Sequence

import numpy as np

from unknot.core.errors import UnknotError
from unknot.metrics.plain_table import numbers
from unknot.report import study_figures as figures
from unknot.report.study_baselines import Baseline
from unknot.report.study_blocks import Album, More, Section, Shown, across
from unknot.report.study_curves import bands, objectives, training_curves
from unknot.study.cells import Cell, Columns, setting_names, taken
from unknot.study.study import Study

MOST_ROWS = 64
"""Settings of a figure that has a row for each; beyond, objectives have one."""
CURVED = 60
"""Settings whose curves are drawn, at most."""

Try = Callable[[str, Callable[[], figures.Drawn]], list[Shown]]


def trying(album: Album, left_out: list[str]) -> Try:
    """Keep a figure, or note why it cannot be drawn: a page must not fail for one of many."""

    def attempt(name: str, draw: Callable[[], figures.Drawn]) -> list[Shown]:
        try:
            return [album.keep(name, draw())]
        except UnknotError as error:
            left_out.append(f"{name}: {error}")
            return []

    return attempt


def spread(
    table: Columns,
    found: Sequence[Cell],
    shown: Sequence[str],
    name: str,
    keep: Try,
    baselines: Sequence[Baseline] = (),
) -> Section:
    """How scores spread over seeds."""
    by_setting = len(found) <= MOST_ROWS
    by = "setting" if by_setting else "objective"
    largest = max(len(cell.runs["objective"]) for cell in found)
    wide = across(len(shown))
    drawn = keep(
        f"{name}spread",
        lambda: figures.spread(table, shown, by=by, across=wide, baselines=baselines),  # type: ignore[arg-type]
    )
    more = []
    several = len({cell.objective for cell in found}) > 1
    if several and by_setting and len(found) > len({c.objective for c in found}):
        pooled = keep(
            f"{name}spread-objectives",
            lambda: figures.spread(
                table, shown, by="objective", kind="violin", across=wide, baselines=baselines
            ),
        )
        more.append(More("All runs of each objective, as violins", figures=pooled))
    if len(table["objective"]) > 2:
        curves = keep(
            f"{name}cumulative", lambda: figures.cumulative(table, shown, baselines=baselines)
        )
        more.append(More("Cumulative distributions", figures=curves))
    for halves in _halves(table):
        split = keep(
            f"{name}split-{halves.replace('.', '-')}",
            lambda halves=halves: figures.split_violins(table, shown[0], halves),  # type: ignore[misc]
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
    table: Columns,
    found: Sequence[Cell],
    shown: Sequence[str],
    name: str,
    keep: Try,
    baselines: Sequence[Baseline] = (),
) -> Section | None:
    """Scores over strength."""
    scales = {
        name
        for name, own in objectives(found).items()
        if len(own) > 1 and all(isinstance(cell.strength, float) for cell in own)
    }
    if not scales:
        return None
    # Settings that differ in more than one thing have no order to be a line in.
    kept = [str(name) in scales for name in table["objective"]]
    own = {n: [v for v, on in zip(held, kept, strict=True) if on] for n, held in table.items()}
    drawn = keep(
        f"{name}strength",
        lambda: figures.strength_lines(
            own, shown, across=2 if len(shown) in (2, 4) else 3, baselines=baselines
        ),
    )
    words = (
        "Means over seeds with 95 % intervals, from the weakest to the strongest regularisation of "
        "each objective. Strengths of two objectives are numbers of different things: compare "
        "shapes, not places."
    )
    return Section(f"{name}strength", "What strength does", words, figures=drawn)


def trade(
    table: Columns,
    found: Sequence[Cell],
    scores: Sequence[str],
    name: str,
    keep: Try,
    baselines: Sequence[Baseline] = (),
) -> Section | None:
    """Scores against reconstruction, and the rate-distortion plane."""
    held = [s for s in scores if s not in ("recon", "kl", "loss")]
    pairs = [s for s in held if _cells_with(found, s, "recon") > 1]
    drawn = [
        shown
        for score in pairs
        for shown in keep(
            f"{name}trade-off-{score.replace('.', '-')}",
            lambda score=score: figures.trade_off(table, score, baselines=baselines),  # type: ignore[misc]
        )
    ]
    plane = []
    if _cells_with(found, "kl", "recon") and _runs_with(table, "kl", "recon") > 1:
        plane = keep(f"{name}rate-distortion", lambda: figures.rate_distortion(table))
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


def agreement(table: Columns, scores: Sequence[str], name: str, keep: Try) -> Section | None:
    """Rank correlations of scores."""
    varied = [s for s in scores if _varies(table, s)]
    if len(varied) < 2 or _runs_with(table, *varied[:2]) < 4:
        return None
    drawn = keep(f"{name}correlations", lambda: figures.correlation_map(table, varied))
    words = (
        "Spearman’s correlation over all runs: 100 where two scores order runs alike. Scores that "
        "disagree measure different things, and which of them is wanted must be said beforehand."
    )
    return Section(f"{name}agreement", "Whether scores agree", words, figures=drawn)


def shares(
    table: Columns, found: Sequence[Cell], scores: Sequence[str], name: str, keep: Try
) -> Section | None:
    """Where differences come from."""
    varied = [s for s in scores if _varies(table, s)]
    several = max((len(taken(c.runs, s).values) for c in found for s in varied), default=0) > 1
    if len(found) < 2 or not several or not varied:
        return None
    drawn = keep(f"{name}shares", lambda: figures.share_bars(table, varied))
    words = (
        "Of all differences between runs, the share that goes with the objective, with its "
        "strength, and the rest, which is chance: the seed."
    )
    return Section(f"{name}shares", "Where differences come from", words, figures=drawn)


def training(study: Study, found: Sequence[Cell], name: str, keep: Try) -> Section | None:
    """Training curves of each objective."""
    ended = [c for c in found if any(s == "done" for s in c.runs["status"])][:CURVED]
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


def over_data(table: Columns, shown: Sequence[str], keep: Try) -> Section | None:
    """Strength on several datasets, a figure for each objective."""
    more = []
    for objective in dict.fromkeys(table["objective"]):
        own = {n: [v for v, o in zip(h, table["objective"], strict=True) if o == objective]
               for n, h in table.items()}  # fmt: skip
        drawn = keep(
            f"datasets-{objective}",
            lambda own=own: figures.strength_lines(own, shown, lines="data"),  # type: ignore[misc]
        )
        if drawn:
            more.append(More(str(objective), figures=drawn))
    if not more:
        return None
    first, *others = more
    words = (
        f"The same grid on each dataset; open is {first.summary}. A strength that is best on one "
        "dataset may be the worst on another."
    )
    return Section("datasets", "From dataset to dataset", words, figures=first.figures, more=others)


def _halves(table: Columns) -> list[str]:
    """Settings other than the objective's own of which there are two values."""
    names = [n for n in setting_names(table) if n.partition(".")[0] not in ("objective", "data")]
    return [n for n in names if len({str(v) for v in table[n]}) == 2 and None not in table[n]][:2]


def _cells_with(found: Sequence[Cell], *scores: str) -> int:
    return sum(
        all(s in cell.runs and len(taken(cell.runs, s).values) for s in scores) for cell in found
    )


def _runs_with(table: Columns, *scores: str) -> int:
    if any(s not in table for s in scores):
        return 0
    return int(np.all([~np.isnan(numbers(table, s)) for s in scores], axis=0).sum())


def _varies(table: Columns, score: str) -> bool:
    known = numbers(table, score)
    known = known[~np.isnan(known)]
    return len(known) > 1 and float(np.ptp(known)) > 0
