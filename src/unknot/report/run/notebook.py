"""Cards: what a notebook shows of a run, a population, a dataset and a study."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from unknot.core.dataset import FactorDataset
from unknot.core.hyper import hyper_fields
from unknot.core.text import number, setting_text
from unknot.report.html import data_uri, render
from unknot.report.model import figures, traversals
from unknot.report.model.latents import measure_latents
from unknot.report.model.pictures import dataset_picture
from unknot.report.model.strips import strips
from unknot.report.run.describe import settings as run_settings
from unknot.report.style import png
from unknot.runs.run import Run
from unknot.runs.spec import plain_value

if TYPE_CHECKING:
    from unknot.studies.study import Study

MOST_STRIPS = 6
"""Latents, or members, whose traversals a card shows."""
MOST_ROWS = 20
"""Rows of a table in a card."""


def title(run: Run) -> str:
    """What was trained on what, in a few words."""
    spec = run.spec
    kind = type(spec.objective.settings)
    changed = [
        f"{name} {setting_text(plain_value(value))}"
        for name, value in vars(spec.objective.settings).items()
        if value != getattr(kind, name, None) or name in hyper_fields(kind)
    ]
    objective = spec.objective.name.partition(":")[2] or spec.objective.name
    with_settings = f" ({', '.join(changed)})" if changed else ""
    return f"{objective}{with_settings} on {run.dataset.name}"


def progress(run: Run) -> str:
    """How far it is, and how it ended."""
    seeds = run.spec.seed_list
    who = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
    return f"{who}, step {run.step:,} of {run.spec.updates:,}, {run.status}"


def last_values(run: Run) -> dict[str, float]:
    """The loss and its terms at the end, medians over members that did not diverge."""
    healthy = [p for p in range(len(run.spec.seed_list)) if p not in run.diverged]
    curves, validation = run.training.curves, run.training.validation
    if not healthy or not curves.steps:
        return {}
    names = [n for n in figures.curve_names(curves) if not n.endswith(".weight")]
    ends = curves.ends()
    last = {n: float(np.median(ends[n][healthy].numpy())) for n in names if n in ends}
    if "validation.loss" in validation.values:
        seen = validation["validation.loss"][-1][healthy]
        last["validation loss"] = float(np.median(seen.numpy()))
    return last


def run_html(run: Run) -> str:
    """A card of one model or of a population."""
    healthy = [p for p in range(len(run.spec.seed_list)) if p not in run.diverged]
    logged, seen = run.training.curves, run.training.validation
    curves = figures.curves_figure(logged, seen) if logged.steps else None
    return render(
        "run/notebook.html",
        title=title(run),
        progress=progress(run),
        values={name: number(value) for name, value in last_values(run).items()},
        strips=_strips(run, healthy) if healthy and run.step else [],
        curves=None if curves is None else data_uri(png(curves)),
        settings=run_settings(run),
        place=run.path,
    )


def _strips(run: Run, members: Sequence[int]) -> list[tuple[str, str]]:
    """Traversals: of the latents of one model, or of the first latent of each of several."""
    latents, names = measure_latents(run), run.dataset.space.names
    alone = len(run.spec.seed_list) == 1
    most = MOST_STRIPS if alone else 1
    named = []
    for p in members[: 1 if alone else MOST_STRIPS]:
        picture = strips(run, latents, p, most=most, size=0.5)
        for z, strip in zip(latents[p].order, picture, strict=False):
            who = f"z{z}" if alone else f"seed {run.spec.seed_list[p]}: z{z}"
            factor = traversals.main_factor(latents[p], z, names)
            named.append((f"{who} {factor}".strip(), data_uri(png(strip))))
    return named


def dataset_html(dataset: FactorDataset) -> str:
    """A grid of images, which says what they are."""
    uri = data_uri(png(dataset_picture(dataset, columns=10)))
    style = "max-width:min(100%,44em)"
    return f'<div><img src="{uri}" alt="{escape(dataset.summary)}" style="{style}"></div>'


def study_html(study: "Study") -> str:
    """How far a study is, and its table."""
    status, frame = study.status(), study.frame()
    scores = frame.columns.isin(study.scores())
    few = frame.loc[:, (frame.astype(str).nunique() > 1) | scores]
    few = few.drop(columns=["population", "member", "seconds"], errors="ignore")
    states = ", ".join(f"{n:,} {name}" for name, n in status["runs"].items() if n and name != "all")
    runs = f"{status['runs']['all']:,} runs, {states}"
    more = len(few) - MOST_ROWS
    rest = f"<p>{more:,} more rows: study.table()</p>" if more > 0 else ""
    return (
        f"<div><b>{escape(study.name)}</b>: {escape(runs)}, in {escape(str(study.path))}"
        f"{few.head(MOST_ROWS).to_html(index=False, na_rep='', float_format='%.4g')}{rest}</div>"
    )
