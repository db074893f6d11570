"""What training sees of its members: logged values, validation, who is best and who should stop."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.runs.stopping import hide

if TYPE_CHECKING:
    from unknot.runs.training import Training

MOST_VALIDATED = 2_048
"""Images that a look at the validation part is a mean over, at most."""


def validation_rows(training: "Training") -> Int[Tensor, "batches n"] | None:
    """Rows of the validation part in batches; None where nobody looks at them."""
    spec = training.specs[0]
    if spec.validate_every is None:
        return None
    return training.context.validation_rows(spec.objective.settings, MOST_VALIDATED)


def look(
    training: "Training", values: Mapping[str, Tensor] | None, rows: Tensor | None
) -> Mapping[str, Tensor] | None:
    """Log what there is at this step, and see who is at their best and who should stop."""
    seen: Mapping[str, Tensor] = {}
    if values is not None:
        _log(training, seen := hide(values, training.stopped_early))
    if rows is not None and _validates(training):
        terms = training.population.validate(rows, training.step)
        loss = {k: v for k, v in terms.items() if not k.endswith(".weight")}
        named = {f"validation.{name}": value for name, value in loss.items()}
        named = hide(named, training.stopped_early)
        training.validation.append(training.step, named)
        seen = {**seen, **named}
    if scores := _scores(training):
        seen = {**seen, **hide(scores, training.stopped_early)}
    if seen and (training.best or training.patience):
        _judge(training, seen)
    return seen or None


def _validates(training: "Training") -> bool:
    pause, last = training.specs[0].validate_every, training.specs[0].updates
    return pause is not None and (training.step % pause == 0 or training.step == last)


def _scores(training: "Training") -> dict[str, Tensor]:
    """Scores of the metrics that decide who is best and who stops, at the steps of scores.

    Each member is scored by itself, as it would be alone.
    """
    spec = training.specs[0]
    rules = [look.rule for look in (training.best, training.patience) if look is not None]
    names = {rule.metric for rule in rules if rule.scores}
    if not names or training.step not in (*spec.kept_steps, spec.updates):
        return {}
    from unknot.runs import evaluate

    members = {*range(len(training.ids))} - {*training.stopped_early, *training.diverged}
    values = {name: torch.full((len(training.ids),), torch.nan).double() for name in names}
    for name, column in values.items():
        metric, _, protocol = name.partition("@")
        request = evaluate.ScoringRequest([metric.partition(".")[0]], protocol or "unknot")
        for i in members:
            (model,) = evaluate.models(training.member(i), request)
            (record,) = evaluate.score(model, request)
            if metric not in record.values:
                raise ConfigError(
                    f"No value '{metric}' is scored{nearest(metric, [*record.values])}"
                )
            column[i] = record.values[metric]
    return values


def _judge(training: "Training", seen: Mapping[str, Tensor]) -> None:
    """Keep the weights of members that are at their best, and freeze those that should stop."""
    ended = {*training.stopped_early, *training.diverged}
    for look in (training.best, training.patience):
        if look is None or look.rule.scores:
            continue
        if not look.rule.metric.startswith("validation."):
            look.check_name(training.curves.values)
        elif training.validation.steps:
            look.check_name(training.validation.values)
    if training.best and (members := training.best.look(training.step, seen, ended)):
        weights = training.weights()
        for name, value in weights.items():
            training.best_weights.setdefault(name, value.clone())[members] = value[members]
    if training.patience:
        training.patience.look(training.step, seen, ended)
        stopped = {m: training.step for m in training.patience.patient if m not in ended}
        training.stopped_early.update(stopped)
        for curves in (training.curves, training.validation):
            curves.ended.update(stopped)
        training.population.freeze(stopped)


def _log(training: "Training", values: Mapping[str, Float[Tensor, " p"]]) -> None:
    """Keep the values of a log step; a loss that is not finite is a fact, not an error.

    An objective that knows better when a run is lost has a note ``diverged``, 0 or 1.
    """
    training.curves.append(training.step, values)
    lost = ~values["loss"].isfinite()
    if "diverged" in values:
        lost |= values["diverged"] > 0
    for member in lost.nonzero().flatten().tolist():
        if member not in training.stopped_early:
            training.diverged.setdefault(member, training.step)
