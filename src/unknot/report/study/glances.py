"""Models on a study's page: of each objective the best and the median one, in pictures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from unknot.analysis import Results
from unknot.analysis.health import is_sound
from unknot.core.text import counted, joined
from unknot.engine.device import threads
from unknot.report.html import data_uri
from unknot.report.model import views
from unknot.report.model.card import LatentRow, ModelCard, latent_rows, reconstruction_strip
from unknot.report.model.latents import measure_latents
from unknot.report.study.blocks import FigureKeeper, Part
from unknot.report.study.models import show_model
from unknot.report.study.typical_runs import TypicalRun, best_run, model_name, typical_runs
from unknot.report.study.without_labels import choices
from unknot.report.style import png
from unknot.runs.run import Run
from unknot.studies.study import Study

UNSOUND = "collapsed, blank or at chance"


@dataclass(frozen=True)
class Glance:
    """A model at a glance: traversals of its latents and a strip of reconstructions."""

    role: str
    """Why it is shown: the best of so many seeds, or the median one."""
    run: TypicalRun
    name: str
    """Start of the names of its files."""
    latents: list[LatentRow]
    """The most informative first."""
    reconstructions: str
    """The address of their picture."""

    @property
    def active(self) -> int:
        """Number of latents that say something about an image."""
        return sum(latent.used for latent in self.latents)


def best_glance(run: Run, best: TypicalRun, role: str, name: str, keep: FigureKeeper) -> Glance:
    """The best model of an objective at a glance; its pictures are also written as files."""
    latents, strip = measure_latents(run), png(reconstruction_strip(run))
    keep.folder.file(f"{name}-traversals.png", png(views.traversal_view(run, latents)))
    keep.folder.file(f"{name}-reconstructions.png", strip)
    rows = latent_rows(run, latents, loops=run.dataset.noun != "rows")
    return Glance(role, best, name, rows, data_uri(strip))


def show_models(
    study: Study,
    parts: Mapping[str, Part],
    score: str,
    device: str,
    keep: FigureKeeper,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Pictures of the best and the median model of each objective and dataset.

    Without labels they are of the configurations that a criterion would choose.

    Args:
        study: Whose models they are.
        parts: Of the page, by dataset.
        score: That models are chosen by.
        device: For encoding and decoding.
        keep: Takes figures and pictures.
        say: Told what is being done.
    """

    def show(typical: TypicalRun, name: str, title: str) -> list[dict[str, Any]]:
        say(f"pictures of {title}")
        # Of models that say nothing none is best.
        sound = is_sound(typical.configuration, score)
        best = best_run(typical, score) if sound else typical
        n = counted(len(typical.configuration.sample(score).values), "seed")
        # Small tensors: threads that wait for each other make it slower.
        with threads(1):
            content = show_model(study.run(typical.id, device=device), name, title, keep)
            card: ModelCard = content["card"]
            role = f"median of {n}" if best.id != typical.id else _only_role(n, sound=sound)
            strip = card.uri("reconstructions")
            glances = [Glance(role, typical, name, card.latents, strip)]
            if best.id != typical.id:
                run = study.run(best.id, device=device)
                name_of_best = f"{name}-best"
                glances.insert(0, best_glance(run, best, f"best of {n}", name_of_best, keep))
        explorer = (keep.folder.folder / f"{name}.html").exists()
        return [{"title": title, "score": score, "name": name, "id": typical.id,
                 "glances": glances, "explorer": explorer, **content}]  # fmt: skip

    models = []
    for data, part in parts.items():
        by_label = _criteria_by_choice(part)
        names = list[str]()
        for typical in typical_runs(part.results.configurations, score, list(by_label)):
            label = typical.configuration.label
            title = label + (f" on {data}" if part.prefix else "")
            title += "" if is_sound(typical.configuration, score) else f" ({UNSOUND})"
            if label in by_label:
                title += f": {joined(by_label[label])} would choose it"
            name = model_name(part.prefix, typical)
            name += f"-{names.count(name) + 1}" if name in names else ""
            names.append(model_name(part.prefix, typical))
            models += keep.attempt(name, show, typical, name, title)
    return models


def _only_role(seeds: str, *, sound: bool) -> str:
    """Why a model is shown alone."""
    return "the only seed" if sound or seeds == counted(1, "seed") else f"one of {seeds}"


def _criteria_by_choice(part: Part) -> dict[str, list[str]]:
    """Criteria by the configuration that they would choose; none of data with labels."""
    labels: dict[str, list[str]] = {}
    for name, choice in choices(part.results, part.unlabelled).items() if part.unlabelled else ():
        labels.setdefault(choice.label, []).append(name)
    return labels


def describe_models(results: Results, score: str, *, unlabelled: bool) -> str:
    """Which models are shown, and what that does not say.

    Args:
        results: Whose models they are.
        score: That they were chosen by.
        unlabelled: Whether there are no labels, so that criteria chose configurations.
    """
    several = max(c.size for c in results.configurations) > 1
    seeds = (
        f", and of their seeds the one with the best {score} and the median one (of an even "
        "number, the worse of the middle two). The median model is a typical one."
    )
    if unlabelled:
        text = "The configurations that a criterion without labels would choose"
        return f"{text}{seeds if several else '.'}"
    groups: dict[tuple[str, str], list[bool]] = {}
    for c in results.configurations:
        if c.has(score):
            groups.setdefault((c.data, c.objective), []).append(is_sound(c, score))
    unsound = sum(not any(sound) for sound in groups.values())
    if unsound and unsound == len(groups):
        return f"Of each objective one model: all are {UNSOUND} by {score}, so none is best."
    text = f"Of each objective the configuration with the best mean of {score}{seeds}"
    if not several:
        text = f"Of each objective the configuration with the best {score}, by one seed each."
    if unsound:
        text += (
            f" Of objectives that are {UNSOUND} throughout one model is shown, and none is best."
        )
    if score in results.unranked:
        text += f" That makes no configuration the best: {results.unranked[score]}."
    return text
