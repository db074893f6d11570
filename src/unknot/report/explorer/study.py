"""Explorers of a study: for each objective the best model and the median one, side by side."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unknot.analysis import Results
from unknot.core.errors import StoreError
from unknot.core.text import number
from unknot.engine.device import threads
from unknot.report.explorer.forms import Form
from unknot.report.explorer.model import ExplorerModel, explorer_model
from unknot.report.explorer.page import Explorer, explorer
from unknot.report.study.source import Source, file_prefix, read
from unknot.report.study.typical_runs import TypicalRun, best_run, model_name, typical_runs
from unknot.studies.study import Study


def write_explorers(
    path: Path,
    folder: Path,
    *,
    images: bool = True,
    form: Form | None = None,
    device: str = "cpu",
) -> list[Path]:
    """Write an explorer for each objective and dataset of a study, named as in its report.

    Of the configuration with the best mean score, it has the run with the best score and the one
    with the median score; one model where these are the same.

    Args:
        path: The study's folder.
        folder: Where to write; the report links to those in its folder.
        images: Put some images of the data into each.
        form: How pictures get into it; what fits when None.
        device: For encoding and decoding.

    Raises:
        StoreError: No run has a score.
    """
    source = read(path)
    study, score = source.study or Study.open(path), _main_score(source)
    files = []
    for data, results in source.results.by_data.items():
        for typical in typical_runs(results.configurations, score):
            best = best_run(typical, score)
            picks = {best.id: (best, "best"), typical.id: (typical, "median")}
            roles = [(run, f"{role} by {score}") for run, role in picks.values()]
            page = _page(study, results, roles, images=images, form=form, device=device)
            name = model_name(file_prefix(source.results, data), typical)
            files.append(page.write(folder / f"{name}.html"))
    if not files:
        raise StoreError(f"No finished run of {path} has a score to choose models by.")
    return files


def write_comparison(path: Path, file: Path, *, device: str = "cpu") -> Path:
    """Write an explorer of two objectives of a study side by side, the median model of each.

    Args:
        path: The study's folder; its first dataset is taken, and the two objectives whose median
            models have the best scores.
        file: What to write.
        device: For encoding and decoding.
    """
    source = read(path)
    study, score = source.study or Study.open(path), _main_score(source)
    results = next(iter(source.results.by_data.values()))
    typical = typical_runs(results.configurations, score)
    typical.sort(key=lambda run: -results.sign(score) * run.value)
    roles = [(run, f"median by {score}") for run in typical[:2]]
    return _page(study, results, roles, device=device).write(file)


def _main_score(source: Source) -> str:
    """The score that models are chosen by: the first of the report."""
    return next(iter(source.results.scores), "")


def _page(
    study: Study,
    results: Results,
    roles: Sequence[tuple[TypicalRun, str]],
    *,
    images: bool = True,
    form: Form | None = None,
    device: str,
) -> Explorer:
    """The explorer of runs, each with why it was chosen."""
    with threads(1):  # small tensors: threads that wait for each other make it slower
        models = [_model(study, results, run, role, device) for run, role in roles]
        return explorer(models, images=images, form=form)


def _model(
    study: Study, results: Results, run: TypicalRun, role: str, device: str
) -> ExplorerModel:
    """A run of a study with the scores that its table has."""
    row = results.table["id"].index(run.id)
    scores = {name: results.table[name][row] for name in results.scores}
    numbers = {name: value for name, value in scores.items() if value is not None}
    model = explorer_model(study.run(run.id, device=device))
    return replace(model, scores=numbers, role=f"{role} ({number(run.value, 3)})")
