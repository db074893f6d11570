"""The page of a study: one file that shows and explains it, and its figures on their own.

Beside it stands a page with the full settings of a study's runs, a block for each configuration.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import unknot
from unknot.analysis import Results
from unknot.analysis.claims import claims, question, warnings
from unknot.analysis.configurations import Columns
from unknot.analysis.documents import Document
from unknot.analysis.intervals import FEW, LEVEL, describe_coverage
from unknot.core.csv_files import csv_text
from unknot.core.errors import DamageError
from unknot.core.files import inside, write_whole
from unknot.report.html import render
from unknot.report.study import text
from unknot.report.study.baselines import Baseline, has_baseline
from unknot.report.study.baselines import baselines as find_baselines
from unknot.report.study.blocks import (
    FIGURES,
    FigureFolder,
    FigureKeeper,
    Grid,
    Part,
    setting_cell,
    text_cell,
    value_cell,
)
from unknot.report.study.sections import over_datasets, sections
from unknot.report.study.source import Source, file_prefix, read, read_published
from unknot.report.study.specs import SPECS, shared_text, write_specs
from unknot.studies.export import varying_settings
from unknot.studies.study import Study

MOST_LISTED = 500
"""Runs that the page lists; the CSV file has all."""

if TYPE_CHECKING:  # a table needs no torch
    from unknot.report.study.without_labels import Unlabelled

Say = Callable[[str], None]


def write_report(
    source: Source,
    folder: Path,
    *,
    published: Source | Document | None = None,
    device: str = "cpu",
    say: Say = lambda _: None,
) -> list[Path]:
    """Write ``index.html``, and each figure as PNG, SVG and CSV in ``figures/``.

    Of a study also ``specs.html``, the full settings of each run, and a copy of ``study.toml``.

    Args:
        source: The runs, from `unknot.report.study.source.read`.
        folder: Where to write.
        published: Runs to hold ours against, or a document that prints means.
        device: For pictures of models.
        say: Told what is being done.

    Raises:
        DamageError: The page is written, without what is damaged in the study.
    """
    toml = shared_text(source.study) if source.study else ""  # refused before anything is drawn
    keep = FigureKeeper(FigureFolder(folder))
    for problem in _damage(source.study) if source.study else []:
        keep.damage.append(problem)
        keep.left_out.append(f"curves: {problem}")
    study = source.study
    results, chance = source.results, dict[str, dict[str, float]]()
    references = dict[str, list[Baseline]]()
    if study:  # a table needs no torch
        from unknot.report.study.chance import with_chance
        from unknot.report.study.references import reference_levels

        results, chance = with_chance(study, results, say)
        references = reference_levels(study, results, say)
    counts = text.count_runs(results)
    write_whole(inside(folder, FIGURES, "runs.csv"), csv_text(_records(results.table)).encode())
    several = len(results.by_data) > 1
    parts, pages = dict[str, Part](), dict[str, dict[str, Any]]()
    for data, of_data in results.by_data.items():
        say(f"drawing {data}" if data else "drawing")
        part = _part(source, of_data, file_prefix(results, data), published)
        measured = keep.attempt(f"{part.prefix}without-labels", _unlabelled, study, of_data, say)
        parts[data] = replace(
            part,
            chance=chance.get(data, {}),
            references=references.get(data, []),
            unlabelled=measured,
        )
        pages[data] = {"name": data, "several": several, **_page_of(parts[data], keep)}
    over = over_datasets(Part(results), keep) if several else None
    score = _models_score(results)
    models, models_text = [], ""
    if study:  # a table needs no torch
        from unknot.report.study.glances import describe_models, show_models

        models = show_models(study, parts, score, device, keep, say)
        unlabelled = any(part.unlabelled for part in parts.values())
        models_text = describe_models(results, score, unlabelled=unlabelled)
    files = write_specs(study, folder) if study else []
    page = render(
        "study/page.html",
        title=source.title,
        lead=text.lead(results),
        machine=text.training_place(study) if study else [],
        counts=counts,
        missing=text.missing(counts),
        failures=text.failures(results),
        intervals=_describe_intervals(results),
        notes=source.notes,
        parts=pages,
        over=over,
        models=models,
        models_text=models_text,
        study=study,
        toml=toml,
        shared=text.shared_settings(results),
        readings=text.readings(results.scores),
        families=text.families_of(results),
        runs=_runs(results, link=study is not None),
        others=results.others,
        left_out=keep.left_out,
        published=source.published,
        version=unknot.__version__,
    )
    write_whole(folder / "index.html", page.encode())
    if keep.damage:
        more = f" (and {len(keep.damage) - 1} more)" if keep.damage[1:] else ""
        raise DamageError(
            f"{folder / 'index.html'} is written, but not all of it: {keep.damage[0]}{more}"
        )
    return [folder / "index.html", *files, *keep.folder.files]


def _models_score(results: Results) -> str:
    """What models are chosen by to be shown: a loss where no score says what is better."""
    losses = [n for n in (*results.scores, results.cost) if n in results.losses and results.has(n)]
    return next(iter([*results.ranked, *losses, *results.scores]))


def _unlabelled(study: Study | None, results: Results, say: Say) -> "list[Unlabelled]":
    """What is known of configurations without labels; nothing of tables and of labelled data."""
    if study is None:  # a table needs no torch
        return []
    from unknot.engine.device import threads
    from unknot.report.study.without_labels import measure_unlabelled

    with threads(1):
        return measure_unlabelled(study, results, say)


def _damage(study: Study) -> list[str]:
    """Why the curves of populations cannot be read."""
    from unknot.runs.folder import RunFolder

    problems = []
    for population in study.store.populations():
        place = study.store.place(population.key)
        try:
            folder = RunFolder(place)
            if folder.record().get("status") in ("done", "diverged"):
                folder.curves()
        except DamageError as error:
            problems.append(str(error))
    return problems


def report(
    path: Path,
    out: Path,
    *,
    published: Path | None = None,
    scores: Sequence[str] | None = None,
    baselines: Sequence[str] = (),
    conditions: Sequence[str] = (),
    device: str = "cpu",
    say: Say = lambda _: None,
    warn: Say = lambda _: None,
) -> list[Path]:
    """Read what is at a path, and write its page; see `read` and `write_report`."""
    source = read(path, scores, baselines, conditions)
    for note in source.notes:
        warn(note)
    theirs = read_published(published) if published else None
    return write_report(source, out, published=theirs, device=device, say=say)


def _part(
    source: Source, results: Results, prefix: str, published: Source | Document | None
) -> Part:
    """What the part of one dataset is drawn from."""
    if not results.scores:
        return Part(results, prefix)
    names = [name for name in source.baselines if has_baseline(results, name, source.others)]
    part = Part(results, prefix, find_baselines(results, names, source.others), source.study)
    if published is None:
        return part
    if isinstance(published, Document):
        return replace(part, printed=source.beside(results, published))
    comparison, note = source.compare(results, published)
    return replace(part, comparison=comparison, note=note)


def _page_of(part: Part, keep: FigureKeeper) -> dict[str, Any]:
    """Findings and sections of one dataset, and tables beside the page; nothing without scores."""
    results, prefix = part.results, part.prefix
    heading = question(results)
    sentences = claims(results)
    verdict, findings = ("", sentences) if not heading else (sentences[0], sentences[1:])
    if part.unlabelled and not heading:  # torch is there, as models were compared
        from unknot.report.study.without_labels import question_and_answer

        heading, verdict = question_and_answer(results, part.unlabelled)
    head = {"question": heading, "verdict": verdict, "findings": findings}
    if not results.scores:
        return {**head, "warnings": [], "sections": []}
    scores = [*results.panels, *(s for s in results.others if s not in results.panels)]
    keep.folder.table(f"{prefix}summary", [summary.row() for summary in results.summaries(scores)])
    return {
        **head,
        "warnings": warnings(results),
        "sections": sections(part, keep),
    }


def _describe_intervals(results: Results) -> str:
    """What intervals assume, where there are any."""
    sizes = [c.size for c in results.configurations if c.size >= FEW]
    return describe_coverage(min(sizes), LEVEL) if sizes else ""


def _runs(results: Results, *, link: bool) -> Grid | None:
    """A row for each run, where they have names, which may lead to their settings."""
    table = results.table
    if "id" not in table:
        return None
    count = len(table["id"])
    n = min(count, MOST_LISTED)
    settings = varying_settings(_records(table))
    seed = ["seed"] if "seed" in table else []
    rows = [
        [
            replace(text_cell(str(run)), href=f"{SPECS}#{run}" if link else ""),
            *(setting_cell(table[name][i]) for name in settings),
            *(value_cell(table[name][i]) for name in seed),
            text_cell(str(table.get("status", [""] * n)[i] or "")),
            *(value_cell(table[name][i]) for name in results.scores),
        ]
        for i, run in enumerate(table["id"][:n])
    ]
    head = ["id", *settings, *seed, "status", *results.scores]
    note = f"The first {n:,} of {count:,}; the CSV file has all." if count > n else ""
    return Grid(head, rows, note=note, file="runs.csv")


def _records(table: Columns) -> list[dict[str, Any]]:
    n = len(table["objective"])
    return [{k: v[i] for k, v in table.items() if v[i] is not None} for i in range(n)]
