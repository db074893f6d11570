"""Explicitness, how well all codes together name a factor's value."""

from dataclasses import dataclass, replace
from typing import Literal

import torch

from unknot.metrics.parts import protocols
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.inputs import Codes, Factors, Rows, Test, take_two
from unknot.metrics.parts.predictors import (
    area_under_curve,
    check_classes,
    class_scores,
    columns,
    standardised,
    versions,
)
from unknot.metrics.parts.result import Measured, Score, build
from unknot.metrics.parts.tables import discretise, ranged


@dataclass(frozen=True)
class Settings:
    """The classifier, and where and how it is read."""

    classifier: Literal["liblinear", "lbfgs", "softmax"]
    """One class against the rest, with either solver, or all classes together."""
    normalised: bool = True
    """Beliefs in the classes of one row are divided by their sum before they are ranked."""
    balanced: bool = False
    scaling: Literal["standard", "range"] = "standard"
    rescaled: bool = False
    """Whether the score is 2 (AUC - 1/2) instead of the AUC."""
    samples: int | None = 10_000
    test_samples: int | None = 5_000
    """0 evaluates on the training rows."""
    distinct: bool = False
    """Whether test points of a grid are never training points."""
    factor_bins: int | None = None
    version: int = 1


PROTOCOLS = {
    "study2019": Settings("liblinear"),
    "paper": Settings("liblinear", normalised=False),
    "carbonneau": Settings(
        "lbfgs",
        balanced=True,
        scaling="range",
        rescaled=True,
        samples=None,
        test_samples=0,
        factor_bins=10,
    ),
    "unknot": Settings("softmax", rescaled=True, distinct=True),
}


@metric(
    better="higher",
    range=(0, 1),
    measures=("explicitness",),
    cost=0.51,
    reads="How well a linear reader finds the factors, in whichever latents.",
)
def explicitness(
    codes: Codes,
    factors: Factors = None,
    *,
    protocol: str | Settings = "unknot",
    seed: int = 0,
    test: Test = None,
) -> Score:
    r"""Explicitness: area under the ROC curve of logistic regression from all codes.

    $$\frac1K \sum_k \frac1{C_k} \sum_c \mathrm{AUC}_{kc}$$

    ``explicitness.auc`` is this, between 0.5 and 1; ``explicitness.rescaled`` is 2 (AUC - 1/2).

    Paper: Ridgeway and Mozer 2018, "Learning deep disentangled embeddings with the F-statistic
    loss".
    Differs: one class against the rest cannot single out the middle values of an ordered factor, so
    a perfect code stays near 0.79 under ``paper``; dividing by the sum over classes (``study2019``)
    lifts that to 0.92, and regression on all classes together (``unknot``) to 0.97. ``study2019``
    is what scikit-learn did before its version 0.22; newer ones change the published numbers.
    Range: 0.5 to 1, rescaled 0 to 1; on few rows chance may push it a little below.
    Reads as: whether a linear reader finds the factors at all, in whichever codes.
    """
    chosen = protocols.pick("explicitness", PROTOCOLS, protocol)
    s = chosen.settings
    train, held = take_two(
        codes,
        factors,
        test,
        samples=s.samples,
        test_samples=s.test_samples,
        seed=seed,
        distinct=s.distinct,
    )
    measured = _measure(train, held, s)
    return build(chosen, measured, train, test_rows=len(held), seed=seed, **versions())


def _measure(train: Rows, held: Rows, s: Settings) -> Measured:
    if s.scaling == "range":
        x, x_held = ranged(train.codes), ranged(held.codes, train.codes)
    else:
        x, x_held = standardised(train, held)
    levels, levels_held = train.levels, held.levels
    if s.factor_bins is not None:
        # Binned on all rows at once: an edge must not depend on which rows train.
        both = torch.cat([train.values, held.values]).double()
        levels, levels_held = discretise(both, s.factor_bins, "width").split(
            [len(train), len(held)]
        )
    check_classes(replace(train, levels=levels))
    areas = []
    for level, level_held in zip(
        columns(train, levels)[1], columns(held, levels_held)[1], strict=True
    ):
        classes, *beliefs = class_scores(
            x, level, x_held, classifier=s.classifier, balanced=s.balanced
        )
        if s.normalised:
            beliefs = [b / b.sum(1, keepdim=True) for b in beliefs]
        truths = (level, level_held)
        areas.append(
            [area_under_curve(classes, b, t) for b, t in zip(beliefs, truths, strict=True)]
        )
    on_train, on_test = torch.tensor(areas, dtype=torch.float64).T
    auc = on_test.mean()
    rescaled = 2 * (auc - 0.5)
    values = {
        "": rescaled if s.rescaled else auc,
        "auc": auc,
        "rescaled": rescaled,
        "train_auc": on_train.mean(),
    }
    return Measured(values, {"per_factor": on_test, "train_per_factor": on_train})
