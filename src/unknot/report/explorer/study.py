"""Explorers of a study: for each objective the best model and the median one, side by side."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from unknot.analysis import Results
from unknot.core.errors import StoreError
from unknot.core.text import number
from unknot.engine.device import threads
from unknot.report.explorer.forms import Form
from unknot.report.explorer.model import ExplorerModel, explorer_model
from unknot.report.explorer.page import explorer
from unknot.report.study.models import TypicalRun, best_run, model_name, typical_runs
from unknot.report.study.source import file_prefix, read
from unknot.studies.study import Study


def write_explorers(
    path: Path,
    folder: Path,
    *,
    images: bool = True,
    form: Form | None = None,
    device: str = "cpu",
    say: Callable[[str], None] = lambda _: None,
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
        say: Told what is being done.

    Raises:
        StoreError: No run has a score.
    """
    source = read(path)
    study, score = source.study or Study.open(path), next(iter(source.results.scores), "")
    files = []
    for data, results in source.results.by_data.items():
        for typical in typical_runs(results.configurations, score):
            say(f"explorer of {typical.configuration.label}")
            best = best_run(typical, score)
            chosen = {best.id: (best, "best"), typical.id: (typical, "median")}
            with threads(1):  # small tensors: threads that wait for each other make it slower
                models = [
                    _model(
                        study, results, run, f"{role} by {score} ({number(run.value, 3)})", device
                    )
                    for run, role in chosen.values()
                ]
                page = explorer(models, images=images, form=form)
            name = model_name(file_prefix(source.results, data), typical)
            files.append(page.write(folder / f"{name}.html"))
    if not files:
        raise StoreError(f"No finished run of {path} has a score to choose models by.")
    return files


def _model(
    study: Study, results: Results, run: TypicalRun, role: str, device: str
) -> ExplorerModel:
    """A run of a study with the scores that its table has."""
    row = results.table["id"].index(run.id)
    scores = {name: results.table[name][row] for name in results.scores}
    known = {name: value for name, value in scores.items() if value is not None}
    model = explorer_model(study.run(run.id, device=device))
    return replace(model, scores=known, role=role)
