"""The page of a study: one file that shows and explains it, and its figures on their own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import unknot
from unknot.core.errors import DataError, UnknotError
from unknot.engine.checkpoint import write_whole
from unknot.metrics.plain_table import split_table
from unknot.report import study_models as models
from unknot.report import study_numbers as grids
from unknot.report import study_sections as sections
from unknot.report import study_words as words
from unknot.report.html import render
from unknot.report.latents import UNUSED
from unknot.report.study_blocks import (
    FIGURES,
    Album,
    Grid,
    More,
    Section,
    across,
    count,
    value,
)
from unknot.report.study_blocks import words as entry
from unknot.report.study_figures import beside_published
from unknot.report.study_source import Source, read
from unknot.report.traversals import column_names
from unknot.report.words import SCORES
from unknot.study.cells import Columns, cells, taken
from unknot.study.comparison import Comparison, compare
from unknot.study.export import csv as as_csv
from unknot.study.export import varied
from unknot.study.statistics import summaries
from unknot.study.study import Study

MOST_LISTED = 500
"""Runs that the page lists; the file has all."""

Say = Callable[[str], None]


def write_report(
    source: Source,
    folder: Path,
    *,
    published: Source | None = None,
    device: str = "cpu",
    say: Say = lambda _: None,
) -> list[Path]:
    """Write ``index.html``, and each figure as PNG, SVG and CSV in ``figures/``.

    Args:
        source: The runs, from `unknot.report.study_source.read`.
        folder: Where to write.
        published: Runs to hold ours against.
        device: For pictures of models.
        say: Told what is being done.

    Raises:
        ConfigError: The runs lack something that every page needs.
        WriteError: The disk refused.
    """
    album, left_out = Album(folder), list[str]()
    found = cells(source.table)
    number = words.counts(source, found)
    write_whole(folder / FIGURES / "runs.csv", as_csv(_records(source.table)).encode())
    parts = split_table(source.table, "data") if "data" in source.table else {"": source.table}
    keep = sections.trying(album, left_out)
    held = {
        str(data): _part(source, table, str(data), len(parts) > 1, published, album, keep, say)
        for data, table in parts.items()
    }
    over = sections.over_data(source.table, source.scores, keep) if len(parts) > 1 else None
    shown = _models(source, held, album, device, left_out, say) if source.study else []
    text = render(
        "study_page.html",
        title=source.title,
        lead=words.lead(source, found),
        machine=words.machine(source.study) if source.study else [],
        number=number,
        missing=words.missing(number),
        failures=words.failures(source),
        parts=held,
        over=over,
        models=shown,
        columns=column_names(),
        unused=UNUSED,
        study=source.study,
        toml=_toml(source.study),
        shared=words.shared_settings(source),
        readings={s: SCORES.get(s.partition("@")[0], "") for s in source.scores},
        runs=_runs(source),
        others=source.others,
        left_out=left_out,
        published=source.published,
        version=unknot.__version__,
    )
    write_whole(folder / "index.html", text.encode())
    return [folder / "index.html", *album.files]


def report(
    path: Path,
    out: Path,
    *,
    published: Path | None = None,
    scores: Sequence[str] | None = None,
    device: str = "cpu",
    say: Say = lambda _: None,
) -> list[Path]:
    """Read what is at a path, and write its page; see `read` and `write_report`."""
    source = read(path, scores)
    theirs = read(published) if published else None
    return write_report(source, out, published=theirs, device=device, say=say)


def _part(
    source: Source,
    table: Columns,
    data: str,
    several: bool,
    published: Source | None,
    album: Album,
    keep: sections.Try,
    say: Say,
) -> dict[str, Any]:
    """All that the page has of one dataset."""
    say(f"drawing {data}" if data else "drawing")
    found = cells(table)
    scores = [s for s in source.scores if any(len(taken(c.runs, s).values) for c in found)]
    name = f"{data}-" if several else ""
    if not scores:
        return {"name": data, "several": several, "said": [], "sections": [], "cells": found}
    panels = scores if "recon" in scores or "recon" not in table else [*scores, "recon"]
    panels = [s for s in panels if any(len(taken(c.runs, s).values) for c in found)]
    every = summaries(
        table, [*panels, *(s for s in source.others if s in table and s not in panels)]
    )
    album.table(f"{name}summary", [one.row() for one in every])
    best, won = grids.winners(found, scores)
    blocks: list[Section | None] = [
        Section(
            f"{name}best",
            "The best setting of each score",
            "By the mean over seeds. It was chosen because it came out best, so that its mean is "
            "a little too good.",
            [best],
        )
        if len(found) > 1
        else None,
        _settings(every, panels, name),
        sections.spread(table, found, panels, name, keep),
        sections.strength(table, found, panels, name, keep),
        sections.trade(table, found, scores, name, keep),
        grids.strengths(table, scores, album, name) if len(found) > 1 else None,
        grids.ranks(table, scores, album, name),
        sections.agreement(table, panels, name, keep),
        sections.shares(table, found, panels, name, keep),
        grids.seed_counts(found, scores, album, name),
        _beside(table, scores, published, name, keep),
        sections.training(source.study, found, name, keep) if source.study else None,
    ]
    return {
        "name": data,
        "several": several,
        "said": words.findings(table, found, scores, won),
        "sections": [block for block in blocks if block is not None],
        "cells": found,
    }


def _settings(every: Sequence[Any], panels: Sequence[str], name: str) -> Section:
    grid = grids.overview([one for one in every if one.score in panels], panels)
    return Section(
        f"{name}settings",
        "All settings",
        "Click on a column’s name to sort by it.",
        [replace(grid, file=f"{name}summary.csv")],
        more=[
            More(
                "Each score by itself: mean, median, intervals and spread",
                [grids.details(every, score) for score in panels],
            )
        ],
    )


def _beside(
    table: Columns, scores: Sequence[str], published: Source | None, name: str, keep: sections.Try
) -> Section | None:
    """Our values beside published ones, where both have a score."""
    if published is None:
        return None
    both = [s for s in (*scores, "recon", "kl") if s in table and s in published.table]
    both = list(dict.fromkeys(both))
    ours, theirs = ((summaries(t, both) if both else []) for t in (table, published.table))
    found = compare([s for s in ours if s.n], theirs)
    title = "Beside published values"
    if not found.differences:
        said = "No setting here is in that table: data, objective and strength must agree."
        return Section(f"{name}published", title, said)
    drawn = keep(f"{name}published", lambda: beside_published(found, across=across(len(both))))
    file = f"{name}published.csv"
    return Section(
        f"{name}published",
        title,
        _agreement_words(found),
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
        said += f"This is no reproduction: {'; '.join(differs[:4])}."
    return said


def _models(
    source: Source,
    held: dict[str, dict[str, Any]],
    album: Album,
    device: str,
    left_out: list[str],
    say: Say,
) -> list[dict[str, Any]]:
    """Pictures of one model for each objective and dataset."""
    study, score = source.study, source.scores[0]
    if study is None:
        return []
    shown = []
    for data, part in held.items():
        for one in models.chosen(part["cells"], score):
            title = one.cell.label + (f" on {data}" if part["several"] else "")
            say(f"pictures of {title}")
            name = (
                f"{data}-model-{one.cell.objective}"
                if part["several"]
                else f"model-{one.cell.objective}"
            )
            try:
                run = study.run(one.id, device=device)
                pictures = models.shown(run, name, title, album.keep)
            except UnknotError as error:
                left_out.append(f"{name}: {error}")
                continue
            shown.append(
                {"title": title, "id": one.id, "seed": one.seed, "score": score,
                 "value": one.value, "name": name, **pictures}
            )  # fmt: skip
    return shown


def _runs(source: Source) -> Grid | None:
    """A row for each run, where they have names."""
    table = source.table
    if "id" not in table:
        return None
    n = min(len(table["id"]), MOST_LISTED)
    settings = varied(_records(table))
    head = ["id", *settings, *(["seed"] if "seed" in table else []), "status", *source.scores]
    rows = []
    for i in range(n):
        row = [entry(str(table["id"][i]))]
        row += [_any(table[name][i]) for name in settings]
        row += [count(int(table["seed"][i]))] if "seed" in table else []
        row.append(entry(str(table.get("status", [""] * n)[i] or "")))
        row += [_any(table[s][i]) for s in source.scores]
        rows.append(row)
    whole = len(table["id"])
    note = f"The first {n:,} of {whole:,}; the file has all." if whole > n else ""
    return Grid(head, rows, note=note, file="runs.csv")


def _any(held: Any) -> Any:  # noqa: ANN401 - a setting or a score
    number = isinstance(held, int | float) and not isinstance(held, bool)
    if held is None:
        return entry("")
    return value(float(held)) if number and not float(held).is_integer() else (
        replace(entry(f"{held:g}"), key=repr(float(held))) if number else entry(str(held))
    )  # fmt: skip


def _records(table: Columns) -> list[dict[str, Any]]:
    n = len(table["objective"])
    return [{k: v[i] for k, v in table.items() if v[i] is not None} for i in range(n)]


def _toml(study: Study | None) -> str:
    if study is None:
        return ""
    file = study.path / "study.toml"
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error}.") from error
