"""The page of a study: one file that shows and explains it, and its figures on their own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import unknot
from unknot.analysis import Results
from unknot.analysis.configurations import Columns
from unknot.core.csv_files import csv_text
from unknot.core.files import write_whole
from unknot.metrics import reading
from unknot.report import study_models as models
from unknot.report import study_words as words
from unknot.report.html import render
from unknot.report.study.catalogue import Part
from unknot.report.study.sections import over_datasets, sections
from unknot.report.study_baselines import baselines, known
from unknot.report.study_blocks import FIGURES, FigureFolder, FigureKeeper, Grid, count, value
from unknot.report.study_blocks import words as entry
from unknot.report.study_source import Source, read
from unknot.report.study_specs import PAGE, study_file, write_specs
from unknot.study.export import varied

MOST_LISTED = 500
"""Runs that the page lists; the CSV file has all."""

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

    Of a study also ``specs.html``, the full settings of each run, and a copy of ``study.toml``.

    Args:
        source: The runs, from `unknot.report.study_source.read`.
        folder: Where to write.
        published: Runs to hold ours against.
        device: For pictures of models.
        say: Told what is being done.
    """
    keep = FigureKeeper(FigureFolder(folder))
    results = source.results
    number = words.counts(results)
    write_whole(folder / FIGURES / "runs.csv", csv_text(_records(results.table)).encode())
    several = len(results.by_data) > 1
    parts, pages = dict[str, Part](), dict[str, dict[str, Any]]()
    for data, of_data in results.by_data.items():
        say(f"drawing {data}" if data else "drawing")
        parts[data] = _part(source, of_data, f"{data}-" if several else "", published)
        pages[data] = {"name": data, "several": several, **_page_of(parts[data], keep)}
    over = over_datasets(Part(results), keep) if several else None
    shown = _models(source, parts, device, keep, say) if source.study else []
    beside = write_specs(source.study, folder) if source.study else []
    text = render(
        "study_page.html",
        title=source.title,
        lead=words.lead(results),
        machine=words.machine(source.study) if source.study else [],
        number=number,
        missing=words.missing(number),
        failures=words.failures(results),
        parts=pages,
        over=over,
        models=shown,
        study=source.study,
        toml=study_file(source.study) if source.study else "",
        shared=words.shared_settings(results),
        readings={s: reading(s) for s in results.scores},
        runs=_runs(source),
        others=results.others,
        left_out=keep.left_out,
        published=source.published,
        version=unknot.__version__,
    )
    write_whole(folder / "index.html", text.encode())
    return [folder / "index.html", *beside, *keep.folder.files]


def report(
    path: Path,
    out: Path,
    *,
    published: Path | None = None,
    scores: Sequence[str] | None = None,
    baselines: Sequence[str] = (),
    device: str = "cpu",
    say: Say = lambda _: None,
) -> list[Path]:
    """Read what is at a path, and write its page; see `read` and `write_report`."""
    source = read(path, scores, baselines)
    theirs = read(published) if published else None
    return write_report(source, out, published=theirs, device=device, say=say)


def _part(source: Source, results: Results, prefix: str, published: Source | None) -> Part:
    """What the part of one dataset is drawn from."""
    if not results.scores:
        return Part(results, prefix)
    found = [word for word in source.baselines if known(results, word)]
    part = Part(results, prefix, baselines(results, found), source.study)
    if published is None:
        return part
    comparison, note = source.compare(results, published)
    return replace(part, comparison=comparison, note=note)


def _page_of(part: Part, keep: FigureKeeper) -> dict[str, Any]:
    """Findings and sections of one dataset, and tables beside the page; nothing without scores."""
    results, name = part.results, part.prefix
    if not results.scores:
        return {"said": [], "sections": []}
    every = [*results.panels, *(s for s in results.others if s not in results.panels)]
    keep.folder.table(f"{name}summary", [one.row() for one in results.summaries(every)])
    if part.baselines:
        rows = [row for one in part.baselines for row in one.rows()]
        keep.folder.table(f"{name}baselines", rows)
    return {"said": words.findings(results), "sections": sections(part, keep)}


def _models(
    source: Source, parts: Mapping[str, Part], device: str, keep: FigureKeeper, say: Say
) -> list[dict[str, Any]]:
    """Pictures of one model for each objective and dataset."""
    study, score = source.study, source.results.scores[0]
    if study is None:
        return []
    shown = []
    for data, part in parts.items():
        for one in models.chosen(part.results.configurations, score):
            title = one.cell.label + (f" on {data}" if part.prefix else "")
            say(f"pictures of {title}")
            name = f"{part.prefix}model-{one.cell.objective}"
            pictures = keep.attempt(
                name,
                lambda one=one, name=name, title=title: [  # type: ignore[misc]
                    models.show_model(
                        study.run(one.id, device=device), name, title, keep.folder, keep
                    )
                ],
            )
            shown += [
                {"title": title, "id": one.id, "seed": one.seed, "score": score,
                 "value": one.value, "name": name, **picture}
                for picture in pictures
            ]  # fmt: skip
    return shown


def _runs(source: Source) -> Grid | None:
    """A row for each run, where they have names."""
    table, scores = source.results.table, source.results.scores
    if "id" not in table:
        return None
    n = min(len(table["id"]), MOST_LISTED)
    settings = varied(_records(table))
    head = ["id", *settings, *(["seed"] if "seed" in table else []), "status", *scores]
    rows = []
    for i in range(n):
        run = str(table["id"][i])
        row = [replace(entry(run), href=f"{PAGE}#{run}" if source.study else "")]
        row += [_any(table[name][i]) for name in settings]
        row += [count(int(table["seed"][i]))] if "seed" in table else []
        row.append(entry(str(table.get("status", [""] * n)[i] or "")))
        row += [_any(table[s][i]) for s in scores]
        rows.append(row)
    whole = len(table["id"])
    note = f"The first {n:,} of {whole:,}; the CSV file has all." if whole > n else ""
    return Grid(head, rows, note=note, file="runs.csv")


def _any(held: Any) -> Any:
    number = isinstance(held, int | float) and not isinstance(held, bool)
    if held is None:
        return entry("")
    return value(float(held)) if number and not float(held).is_integer() else (
        replace(entry(f"{held:g}"), key=repr(float(held))) if number else entry(str(held))
    )  # fmt: skip


def _records(table: Columns) -> list[dict[str, Any]]:
    n = len(table["objective"])
    return [{k: v[i] for k, v in table.items() if v[i] is not None} for i in range(n)]
