"""The page of a run: one file that shows and explains it, and the pictures as files."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unknot.core.csv_files import csv_text
from unknot.core.errors import ShapeError
from unknot.core.files import write_files, write_whole
from unknot.core.places import without_folders
from unknot.core.text import number
from unknot.core.toml import to_toml
from unknot.metrics import reading
from unknot.report.html import data_uri, render
from unknot.report.model import figures, traversals, views
from unknot.report.model import out_of_distribution as unlike
from unknot.report.model.card import model_card
from unknot.report.model.latents import Latents, check_member, measure_latents
from unknot.report.model.matrices import Matrices, matrix_views, measure_matrices
from unknot.report.run import describe
from unknot.report.run.step_scores import (
    MOST,
    record_label,
    step_scores,
    step_scores_figure,
)
from unknot.report.sheet import tiles
from unknot.report.style import png
from unknot.runs import records
from unknot.runs.run import Run

SMALL_TRAVERSALS = 10
"""Populations up to this size show the traversals of every member."""


def write_pictures(
    run: Run, folder: Path, member: int = 0, *, matrices: Matrices | None = None
) -> list[Path]:
    """Write the pictures of one member: PNG files and a GIF, and numbers beside them.

    Args:
        run: The trained models.
        folder: Where to write them.
        member: Which model.
        matrices: Its latents by factors, if they are measured already.
    """
    check_member(run, member)
    latents = measure_latents(run)
    files = {
        "traversals.png": png(views.traversal_view(run, latents, member)),
        "traversals.gif": traversals.traversal_gif(run, latents, member),
    }
    if run.has_data and not run.dataset.space.stands_in:
        factors = figures.factor_figure(latents[member], run.dataset.space.names)
        files["factors.png"] = png(factors)
        matrices = matrices or measure_matrices(run, member)
        for kind, figure in matrix_views(run, matrices).items():
            files[f"matrix-{kind}.png"] = png(figure)
    if run.has_data:
        files["reconstructions.png"] = png(views.reconstruction_view(run, member))
    if run.has_data or run.dataset.noun != "rows":
        files["samples.png"] = png(views.sample_view(run, member))
    if run.has_data and run.dataset.noun == "images":
        outcomes = unlike.out_of_distribution_outcomes(run, member)
        picture = unlike.out_of_distribution_picture(run, member, outcomes=outcomes)
        files["out_of_distribution.png"] = png(picture)
        files["out_of_distribution_traversals.png"] = png(
            unlike.out_of_distribution_traversals(run, member)
        )
        files["out_of_distribution.csv"] = csv_text([o.row() for o in outcomes]).encode()
    curves = run.training.curves
    if curves.steps:
        files["curves.png"] = png(figures.curves_figure(curves, run.training.validation))
    if scored := step_scores(run):
        files["scores.png"] = png(step_scores_figure(scored))
    return write_files(folder, files)


def write_page(
    run: Run,
    folder: Path,
    *,
    scores: Sequence[Mapping[str, float]] = (),
    matrices: Matrices | None = None,
) -> Path:
    """Write ``index.html``: everything about a run in one file that needs no other.

    Args:
        run: The trained models.
        folder: Where to write it.
        scores: Scores by name, one mapping for each member; empty for a diverged one.
        matrices: Latents by factors of a member, if they are measured already.
    """
    path = folder / "index.html"
    write_whole(path, page(run, scores=scores, matrices=matrices).encode())
    return path


def stored_scores(run: Run) -> list[dict[str, float]]:
    """The last scores of each member in the run's folder, by name, protocol and part of rows."""
    scores: list[dict[str, float]] = [{} for _ in run.spec.seed_list]
    ids = run.spec.ids()
    for record in records.read(run.path) if run.path else []:
        if record.id in ids and record.step is None:
            scores[ids.index(record.id)] |= {
                record_label(name, record): value for name, value in record.values.items()
            }
    return scores


def stored_remarks(run: Run) -> dict[str, list[str]]:
    """What scores in the run's folder remark, and which of them do."""
    remarks: dict[str, list[str]] = {}
    ids = run.spec.ids()
    for record in records.read(run.path) if run.path else []:
        if record.id in ids and record.values:
            for remark in record.remarks:
                if record.metric not in remarks.setdefault(remark, []):
                    remarks[remark].append(record.metric)
    return remarks


def _marks(remarks: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Numbers of the remarks on each metric."""
    marks: dict[str, list[str]] = {}
    for mark, metrics in enumerate(remarks.values(), 1):
        for metric in metrics:
            marks.setdefault(metric, []).append(str(mark))
    return {metric: ", ".join(numbers) for metric, numbers in marks.items()}


def page(
    run: Run,
    *,
    scores: Sequence[Mapping[str, float]] = (),
    matrices: Matrices | None = None,
) -> str:
    """The text of the page that `write_page` writes."""
    latents, seeds = measure_latents(run), run.spec.seed_list
    if len(scores) not in (0, len(seeds)):
        raise ShapeError(f"Expected scores for each of {len(seeds)} members; got {len(scores)}.")
    scores = scores or [{} for _ in seeds]
    remarks = stored_remarks(run) if any(scores) else {}
    names = list(dict.fromkeys(name for of_member in scores for name in of_member))
    healthy = [p for p in range(len(seeds)) if p not in run.diverged]
    scored = step_scores(run)
    if healthy and (matrices is None or matrices.member != healthy[0]):
        matrices = measure_matrices(run, healthy[0])
    return render(
        "run/page.html",
        run=run,
        spec=run.spec,
        seeds=seeds,
        healthy=healthy,
        facts=describe.facts(run),
        terms=_terms(run, latents, healthy),
        scores=grouped_scores(
            {name: [scores[p].get(name, math.nan) for p in healthy] for name in names}
        ),
        remarks=remarks,
        marks=_marks(remarks),
        formula=describe.formula(run),
        members=[_member(run, p, latents[p], scores[p]) for p in range(len(seeds))],
        score_names=[name for name in names if not _is_part(name, names)],
        curves=[_curve(run, name) for name in figures.curve_names(run.training.curves)],
        scored=data_uri(png(step_scores_figure(scored))) if scored else "",
        unscored=max(0, len(scored) - MOST),
        card=model_card(run, latents, healthy[0], rows=2) if healthy else None,
        matrices=_matrices(run, matrices) if healthy and matrices else {},
        reasons=matrices.reasons if healthy and matrices else {},
        others=_others(run, latents, healthy[1:]),
        settings=describe.settings(run),
        toml=to_toml(without_folders(run.spec.table())),
        load=describe.load_code(run),
        suggestions=describe.suggestions(run, latents),
    )


def _matrices(run: Run, matrices: Matrices) -> dict[str, str]:
    return {kind: data_uri(png(figure)) for kind, figure in matrix_views(run, matrices).items()}


def _terms(run: Run, latents: Sequence[Latents], healthy: Sequence[int]) -> list[dict[str, str]]:
    """The loss and its terms at the end, and the number of active latents."""
    named = {
        name: [float(run.training.curves[name][-1][p]) for p in healthy]
        for name in figures.curve_names(run.training.curves)
        if not name.startswith("critic.") and not name.endswith(".weight") and "*" not in name
    }
    named["active latents"] = [float(latents[p].used.sum()) for p in healthy]
    return [_summary(name, values, describe.term(name, run)) for name, values in named.items()]


def _is_part(name: str, names: Iterable[str]) -> bool:
    """Whether a score like ``dci.completeness`` belongs to another, ``dci``."""
    return (owner := _owner(name)) != name and owner in names


def _owner(name: str) -> str:
    """The score that a part belongs to, of the same protocol and rows.

    Example:
        >>> _owner("dci.completeness (study2019)"), _owner("recon.mse")
        ('dci (study2019)', 'recon')
    """
    metric, bracket, words = name.partition(" (")
    return metric.partition(".")[0] + bracket + words


def grouped_scores(scores: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """Scores over the members, each with its parts."""
    summaries = {
        name: _summary(name, values, reading(name.partition(" (")[0]))
        for name, values in scores.items()
    }
    return [
        {
            **summary,
            "parts": [
                {**inner, "name": part.partition(" (")[0].partition(".")[2]}
                for part, inner in _parts_of(name, summaries)
            ],
        }
        for name, summary in summaries.items()
        if not _is_part(name, summaries)
    ]


def _parts_of(
    name: str, summaries: Mapping[str, dict[str, str]]
) -> list[tuple[str, dict[str, str]]]:
    return [(part, s) for part, s in summaries.items() if part != name and _owner(part) == name]


def _summary(name: str, values: Sequence[float], reading: str) -> dict[str, str]:
    """The median of the values that are numbers, their range, and how many are not."""
    finite = [value for value in values if math.isfinite(value)]
    missing = len(values) - len(finite)
    return {
        "name": name,
        "value": number(float(np.median(finite)) if finite else math.nan),
        "range": f"{number(min(finite))} to {number(max(finite))}" if len(set(finite)) > 1 else "",
        "missing": f"{missing} of {len(values)} not a number" if finite and missing else "",
        "reading": reading,
    }


def _member(run: Run, p: int, latents: Latents, scores: Mapping[str, float]) -> dict[str, Any]:
    curves = run.training.curves
    terms = [n for n in ("recon", "kl") if n in curves.values]
    return {
        "seed": run.spec.seed_list[p],
        "diverged": run.diverged.get(p),
        "terms": {name: float(curves[name][-1][p]) for name in terms},
        "used": None if np.isnan(latents.kl).any() else int(latents.used.sum()),
        "scores": scores,
    }


def _curve(run: Run, name: str) -> dict[str, str]:
    figure = figures.curve(run.training.curves, name, run.training.validation)
    return {"name": name, "uri": data_uri(png(figure))}


def _others(run: Run, latents: Sequence[Latents], members: Sequence[int]) -> list[dict[str, Any]]:
    """Small traversals of the other members: the used latents in one table, without text."""
    if not members or len(run.spec.seed_list) > SMALL_TRAVERSALS:
        return []
    images_of_members = traversals.sweep(run, latents, traversals.STILL, members=members)
    return [
        {
            "seed": run.spec.seed_list[p],
            "names": ", ".join(f"z{z}" for z in latents[p].order[: latents[p].used.sum()]),
            "image": data_uri(png(tiles(images[: max(1, latents[p].used.sum())], gap=1))),
        }
        for p, images in zip(members, images_of_members, strict=True)
    ]
