"""What can be said of configurations without labels, and what each criterion would choose.

The criteria need no factors: rate and distortion, latents in use, and whether models of other seeds
found the same latents. None of them knows what a latent should mean.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration, has_diverged
from unknot.analysis.health import flaws
from unknot.analysis.verdicts import verdict
from unknot.core.errors import DataError, UnknotError
from unknot.core.text import counted, duration, joined
from unknot.metrics.udr import udr
from unknot.report.model.latents import UNUSED, sample_rows
from unknot.report.study.blocks import (
    NOTHING,
    Cell,
    FigureFolder,
    Grid,
    number_cell,
    text_cell,
)
from unknot.report.study.likelihoods import LEARNT_VARIANCE, NATS, likelihood_name
from unknot.report.study.specs import SPECS
from unknot.report.study.style import swept_text
from unknot.studies.study import Study

ROWS = 1_000
"""Images by whose codes models are compared, as in the paper of UDR."""
MOST_SEEDS = 5
"""Models of a configuration that are compared."""
MOST_MODELS = 200
"""Models of a study; with more, nothing is measured."""
FEWEST = 2
NEAR = 0.01
"""Values of models that are no farther apart count as the same."""
DENSITIES = (*NATS, "gaussian", "sigmoid_gaussian")
"""Likelihoods whose loss is minus the logarithm of a density, but for a constant."""
UDR, RANKS, LOSS = "UDR", "agreement of seeds", "the loss recon + kl"

Model = tuple[str, Float[torch.Tensor, "n z"], Float[torch.Tensor, " z"]]
"""Its id, mean codes of some images, and the mean divergence of each latent."""


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """What is known of a configuration without labels."""

    configuration: Configuration
    ids: tuple[str, ...]
    """Of the models that were compared."""
    active: tuple[int, ...]
    """Latents in use, of each model that was compared."""
    latents: int
    udr: tuple[float, ...]
    """Of each model, with the others of its configuration; empty of a single one."""
    ranks: tuple[float, ...]
    """The same by rank correlations."""

    @property
    def is_sound(self) -> bool:
        """Whether more than half of its runs neither collapsed nor draw nothing."""
        marks = flaws(self.configuration.runs)
        return 2 * sum(map(bool, marks)) < len(marks)

    def values(self, criterion: str) -> tuple[float, ...]:
        """A criterion of each model."""
        return self.udr if criterion == UDR else self.ranks

    def mean(self, criterion: str) -> float:
        """The mean over models of a criterion; NaN where there is none."""
        values = self.values(criterion)
        return float(np.mean(values)) if values else float("nan")


@dataclass(frozen=True)
class Choice:
    """What a criterion would choose."""

    label: str
    """Of the configuration."""
    rivals: int
    """Configurations that it cannot tell from this one."""
    sure: str
    """How sure that is, in words."""
    id: str = ""
    """The model of that configuration that the others agree with most; empty where none is."""


def measure_unlabelled(
    study: Study,
    results: Results,
    say: Callable[[str], None] = lambda _: None,
    *,
    labelled: bool = False,
) -> list[Unlabelled]:
    """Compare the models of each configuration; nothing where data have labels.

    Args:
        study: Of which the results are.
        results: Of one dataset.
        say: Told what is being done, and how long it takes.
        labelled: Also where data have labels.
    """
    finished = [(c, _finished(c)[:MOST_SEEDS]) for c in results.configurations]
    count = sum(len(ids) for _, ids in finished)
    if len(finished) < 2 or not count:
        return []
    measured, start = list[Unlabelled](), time.perf_counter()
    for configuration, ids in finished:
        models: list[Model] = []
        for name in ids:
            try:
                run = study.run(name, device="cpu")
            except UnknotError:  # the page lists what is damaged
                continue
            if not (labelled or run.dataset.space.stands_in):
                return []
            if count > MOST_MODELS:
                raise DataError(
                    f"Models are compared without labels for up to {MOST_MODELS} of a study; here "
                    f"are {count:,}."
                )
            q = run.posteriors(sample_rows(run, ROWS))
            mean, logvar = (t.double().reshape(-1, t.shape[-1]) for t in (q.mean, q.logvar))
            kl = 0.5 * (mean.square() + logvar.exp() - logvar - 1).mean(0)
            models.append((name, mean, kl))
            if len(models) == 1 and not measured:
                seconds = (time.perf_counter() - start) * count
                size = max(1, round(count * mean.numel() * mean.element_size() / 2**20))
                say(
                    f"comparing {counted(count, 'model')} without labels: about "
                    f"{duration(seconds)}, {size:,} MB of codes"
                )
        if models:
            measured.append(_compare(configuration, models))
    return measured


def _finished(configuration: Configuration) -> list[str]:
    """Ids of the runs that ended well."""
    runs = configuration.runs
    lost = has_diverged(runs)
    return [
        str(name)
        for name, status, gone in zip(runs["id"], runs["status"], lost, strict=True)
        if status == "done" and not gone
    ]


def _compare(configuration: Configuration, models: Sequence[Model]) -> Unlabelled:
    codes, divergences = [mean for _, mean, _ in models], [kl for *_, kl in models]
    active = tuple(int((kl >= UNUSED).sum()) for kl in divergences)
    scores: dict[str, tuple[float, ...]] = {"paper": (), "unknot": ()}
    if len(models) >= FEWEST:
        for protocol in scores:
            score = udr(codes, kl=divergences, protocol=protocol)
            scores[protocol] = tuple(torch.as_tensor(score.parts["per_model"]).tolist())
    latents = codes[0].shape[-1]
    ids = tuple(name for name, *_ in models)
    return Unlabelled(configuration, ids, active, latents, scores["paper"], scores["unknot"])


def total_loss(results: Results) -> list[dict[str, Any]]:
    """Reconstruction plus divergence of each run, without weights; none where these differ in kind.

    Losses of different likelihoods are not the same function, nor is one with a learnt variance.
    """
    configurations = results.configurations
    kinds = {likelihood_name(c) for c in configurations}
    if (
        len(kinds) > 1
        or kinds - {*DENSITIES}
        or any(c.objective in LEARNT_VARIANCE for c in configurations)
    ):
        return []
    rows = []
    for c in configurations:
        if not c.has("recon", "kl"):
            continue
        recon, kl = c.sample("recon"), c.sample("kl")
        if recon.seeds == kl.seeds:
            rows += [
                {"objective": c.label, "seed": seed, "kl": float(k), LOSS: float(r + k)}
                for seed, r, k in zip(recon.seeds, recon.values, kl.values, strict=True)
            ]
    return rows


def choices(results: Results, measured: Sequence[Unlabelled]) -> dict[str, Choice]:
    """What each criterion would choose; none that has nothing to go by.

    Collapsed configurations are never chosen.
    """
    by_criterion: dict[str, Choice] = {}
    if (rows := total_loss(results)) and (
        result := verdict(Results(rows, [LOSS], lower=[LOSS]), LOSS)
    ):
        sure = f"the seeds do not separate it from {counted(len(result.rivals), 'other')}"
        sure = "the seeds separate it from all others" if result.decided else sure
        by_criterion[LOSS] = Choice(result.best.objective, len(result.rivals), sure)
    for criterion in (UDR, RANKS):
        able = [entry for entry in measured if entry.is_sound and entry.values(criterion)]
        if len(able) > 1:
            best = max(able, key=lambda entry: entry.mean(criterion))
            agreed = best.ids[int(np.argmax(best.values(criterion)))]
            least = min(best.values(criterion))
            rivals = sum(
                entry is not best and max(entry.values(criterion)) >= least - NEAR for entry in able
            )
            sure = "its models are above all others"
            if rivals:
                sure = f"its models overlap with those of {counted(rivals, 'other')}"
            by_criterion[criterion] = Choice(best.configuration.label, rivals, sure, agreed)
    return by_criterion


def question_and_answer(results: Results, measured: Sequence[Unlabelled]) -> tuple[str, str]:
    """What a page without labels is asked first, and what the criteria say to that."""
    n, data = len(results.configurations), {c.data for c in results.configurations} - {""}
    place = f" for {data.pop()}" if len(data) == 1 else ""
    answer = f"{_describe_choice(choices(results, measured))}No labels say which is best."
    return f"Which of {n:,} configurations{place}, without labels?", answer


def _describe_choice(by_criterion: Mapping[str, Choice]) -> str:
    """What the criteria would choose, and whether they agree; empty where none would."""
    if not by_criterion:
        return ""
    parts = [
        f"{name} would choose {choice.label}"
        + (f" but cannot tell it from {counted(choice.rivals, 'other')}" if choice.rivals else "")
        for name, choice in by_criterion.items()
    ]
    text = f"{joined(parts)}.".replace("the loss", "The loss", 1)
    if len(by_criterion) > 1:
        labels = {choice.label for choice in by_criterion.values()}
        text += " They disagree." if len(labels) > 1 else " They agree."
    return f"{text} "


def describe_choices(results: Results, measured: Sequence[Unlabelled]) -> str:
    """What the criteria would choose, whether they agree, and what they cannot tell."""
    return _describe_choice(choices(results, measured)) + (
        "There are no labels here, so nothing says which configuration is best. The loss recon + "
        "kl, minus the ELBO but for a constant, prefers models that describe images well, whether "
        "or not a latent means one thing. UDR and agreement of seeds are high where models of "
        "other seeds found the same latents up to order and sign: these may be the wrong ones, and "
        "few latents agree more easily than many. Latents in use say how much is encoded, not "
        "what. Look at the traversals of each candidate before you choose."
    )


def unlabelled_tables(
    results: Results, measured: Sequence[Unlabelled], folder: FigureFolder, prefix: str
) -> list[Grid]:
    """What each criterion would choose, and all numbers behind that."""
    by_criterion = choices(results, measured)
    grids = []
    if by_criterion:
        choice_rows = [
            [
                text_cell(name),
                text_cell(choice.label),
                replace(text_cell(choice.id), href=f"{SPECS}#{choice.id}")
                if choice.id
                else NOTHING,
                text_cell(choice.sure),
            ]
            for name, choice in by_criterion.items()
        ]
        head = ["criterion", "would choose", "most agreed model", "how sure"]
        grids.append(Grid(head, choice_rows))
    rows = [_row(entry) for entry in measured]
    head = ["configuration", "kl", "recon", "latents in use", UDR, RANKS]
    most = max(len(entry.active) for entry in measured)
    note = (
        f"Means over models; below them their range. {UDR}: Duan et al. 2020, by a lasso; {RANKS}: "
        "the same by rank correlations. Equal latents in all seeds give 0.9 and 1. Both are from "
        f"the codes of up to {ROWS:,} images of up to {counted(most, 'model')} of each "
        "configuration. How sure: values of pairs depend on each other, so ranges are compared, "
        f"and nothing is tested. A latent is in use above {UNUSED:g} nats."
    )
    file = folder.table(f"{prefix}without-labels", [_record(entry) for entry in measured])
    return [*grids, Grid(head, rows, note=note, file=file)]


def _row(entry: Unlabelled) -> list[Cell]:
    configuration = entry.configuration
    name = Cell(configuration.objective, configuration.label, swept_text(configuration))
    losses = [
        _cell(configuration.sample(score).values.tolist(), 2)
        if configuration.has(score)
        else NOTHING
        for score in ("kl", "recon")
    ]
    active = _cell([float(n) for n in entry.active], 1)
    return [name, *losses, active, _cell(entry.udr, 3), _cell(entry.ranks, 3)]


def _cell(values: Sequence[float], digits: int) -> Cell:
    """A mean, and below it the range."""
    if not values:
        return NOTHING
    low, high = min(values), max(values)
    small = f"{low:.{digits}f} to {high:.{digits}f}" if high > low else ""
    return number_cell(float(np.mean(values)), small=small, digits=digits)


def _record(entry: Unlabelled) -> dict[str, Any]:
    configuration = entry.configuration
    means = {
        score: float(configuration.sample(score).values.mean())
        for score in ("kl", "recon")
        if configuration.has(score)
    }
    return {
        "objective": configuration.objective,
        "swept_value": configuration.swept_value,
        **means,
        "models": len(entry.active),
        "latents": entry.latents,
        "active": float(np.mean(entry.active)),
        "udr": entry.mean(UDR),
        "agreement": entry.mean(RANKS),
        "udr_per_model": list(entry.udr),
        "agreement_per_model": list(entry.ranks),
    }
