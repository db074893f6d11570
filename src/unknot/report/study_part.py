"""One dataset's part of a study's page: its sections, from the best settings to training."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unknot.analysis import Results
from unknot.analysis.comparison import Comparison, compare
from unknot.report import study_numbers as grids
from unknot.report import study_sections as sections
from unknot.report import study_words as words
from unknot.report.study_baselines import Baseline, baselines, known
from unknot.report.study_baselines import grid as listed
from unknot.report.study_blocks import FigureFolder, More, Section, Try, across
from unknot.report.study_figures import beside_published
from unknot.report.study_source import Source


def of_data(
    source: Source,
    results: Results,
    data: str,
    several: bool,
    published: Source | None,
    figure_folder: FigureFolder,
    keep: Try,
) -> dict[str, Any]:
    """All that the page has of one dataset.

    Args:
        source: All runs.
        results: Those of this dataset.
        data: Its name.
        several: Whether there are others.
        published: Runs to hold these against.
        figure_folder: Takes tables.
        keep: Takes figures.
    """
    found, scores = results.configurations, results.scores
    name = f"{data}-" if several else ""
    if not scores:
        return {"name": data, "several": several, "said": [], "sections": [], "cells": found}
    panels = results.panels
    every = results.summaries([*panels, *(s for s in results.others if s not in panels)])
    figure_folder.table(f"{name}summary", [one.row() for one in every])
    held = baselines(results, [word for word in source.baselines if known(results, word)])
    if held:
        figure_folder.table(f"{name}baselines", [row for one in held for row in one.rows()])
    blocks: list[Section | None] = [
        Section(
            f"{name}best",
            "The best setting of each score",
            "By the mean over seeds. It was chosen because it came out best, so that its mean is "
            "a little too good.",
            [grids.winners(results)],
        )
        if len(found) > 1
        else None,
        _settings(results, name, held),
        sections.spread(results, name, keep, held),
        sections.strength(results, name, keep, held),
        sections.trade(results, name, keep, held),
        grids.strengths(results, figure_folder, name) if len(found) > 1 else None,
        grids.ranks(results, figure_folder, name),
        sections.agreement(results, name, keep),
        sections.labels(results, name, keep),
        sections.shares(results, name, keep),
        grids.seed_counts(results, figure_folder, name),
        _beside(source, results, published, name, keep),
        sections.training(source.study, results, name, keep) if source.study else None,
    ]
    return {
        "name": data,
        "several": several,
        "said": words.findings(results),
        "sections": [block for block in blocks if block is not None],
        "cells": found,
    }


def _settings(results: Results, name: str, held: Sequence[Baseline]) -> Section:
    panels = results.panels
    return Section(
        f"{name}settings",
        "All settings",
        "Click on a column’s name to sort by it.",
        [
            replace(grids.overview(results), file=f"{name}summary.csv"),
            *([listed(held, panels, f"{name}baselines.csv")] if held else []),
        ],
        more=[
            More(
                "Each score by itself: mean, median, intervals and spread",
                [grids.details(results, score) for score in panels],
            )
        ],
    )


def _beside(
    source: Source,
    results: Results,
    published: Source | None,
    name: str,
    keep: Try,
) -> Section | None:
    """Our values beside published ones, where both have a score by one protocol."""
    if published is None:
        return None
    protocols = source.protocol, published.protocol
    other = None not in protocols and protocols[0] != protocols[1]
    suffix = f"@{published.protocol}" if other else ""
    own = {score.partition("@")[0]: score.partition("@")[0] + suffix for score in results.scores}
    table = results.table
    own = {score: column for score, column in own.items() if column in table} | {
        loss: loss for loss in ("recon", "kl") if loss in table
    }
    both = [score for score in own if score in published.results.table]
    same = Results({**table, **{s: table[own[s]] for s in both}}, both, settings=results.settings)
    ours, theirs = (of.summaries(both) for of in (same, published.results))
    found = compare([s for s in ours if s.n], theirs)
    title = "Beside published values"
    note = (
        f"Scores here are those of the protocol {protocols[0]} and the published ones of "
        f"{protocols[1]}; only what is scored by that one too is held against them. "
        if other
        else ""
    )
    if not found.differences:
        said = "No setting here is in that table: data, objective and strength must agree."
        return Section(f"{name}published", title, note + said)
    drawn = keep(f"{name}published", lambda: beside_published(found, across=across(len(both))))
    file = f"{name}published.csv"
    return Section(
        f"{name}published",
        title,
        note + _agreement_words(found),
        [grids.beside(found, file)],
        drawn,
    )


def _agreement_words(found: Comparison) -> str:
    cells_ = len(found.differences)
    known = [d for d in found.differences if d.z == d.z]
    said = f"{cells_} values have a published counterpart. "
    if known:
        within = sum(not d.flagged for d in known)
        said += f"{within} of {len(known)} lie within three standard errors of it. "
    differs = sorted({words_ for d in found.differences for words_ in d.differs})
    if differs:
        said += f"Not as published: {'; '.join(differs)}."
    return said
