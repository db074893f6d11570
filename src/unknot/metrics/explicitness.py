"""Explicitness, how well all codes together name a factor's value."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.metrics.parts.columns import midranks, to_unit_range
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import discretize
from unknot.metrics.parts.learners import (
    Array,
    check_classes,
    class_scores,
    columns,
    learner_record,
    linear_beliefs,
    standardize,
)
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric


@dataclass(frozen=True)
class Settings(RowSettings):
    """The classifier, and where and how it is read."""

    classifier: Literal["liblinear", "lbfgs", "softmax"]
    """One class against the rest, with either solver, or all classes together."""
    normalized: bool = True
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

    @property
    def gaps(self) -> bool:
        """Each factor is learnt by itself."""
        return True


PROTOCOLS = {
    "study2019": Settings("liblinear"),
    "paper": Settings("liblinear", normalized=False),
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
    PROTOCOLS,
    options=("test", "interval"),
    range=(0, 1),
    part_ranges={"auc": (0, 1), "train_auc": (0, 1), "rescaled": (None, 1)},
    measures=("explicitness",),
    depends_on=("classifier",),
    cost=0.51,
    reads="How well a linear classifier predicts the factors from all latents.",
    parts={
        "auc": "Area under the ROC curve on test rows, as it is: 0.5 is guessing, 1 is perfect.",
        "train_auc": "The same on the rows it was fitted to; far above the other: overfitted.",
        "rescaled": "2 (AUC − 1/2): 0 is guessing, 1 is perfect, below 0 worse than guessing.",
    },
)
def explicitness(rows: Rows, settings: Settings) -> Measured:
    r"""Explicitness: ROC AUC of logistic regression from all latents to each factor.

    $$\frac1K \sum_k \frac1{C_k} \sum_c \mathrm{AUC}_{kc}$$

    ``explicitness.auc`` is this, between 0.5 and 1; ``explicitness.rescaled`` is 2 (AUC - 1/2).

    Paper: Ridgeway and Mozer 2018, "Learning deep disentangled embeddings with the F-statistic
    loss".
    Differs: one class against the rest cannot single out the middle values of an ordered factor, so
    a perfect code stays near 0.79 under ``paper``; dividing by the sum over classes (``study2019``)
    lifts that to 0.92, and regression on all classes together (``unknot``) to 0.97. ``study2019``
    is what scikit-learn did before its version 0.22; newer ones change the published numbers.
    Note: an AUC of 0.5 is chance, and on few rows a score may be a little below.
    """
    areas = torch.cat([_areas(some, settings) for some in rows.by_factor()])
    on_train, on_test = areas.T
    auc = on_test.mean()
    rescaled = 2 * (auc - 0.5)
    values = {
        "": rescaled if settings.rescaled else auc,
        "auc": auc,
        "rescaled": rescaled,
        "train_auc": on_train.mean(),
    }
    parts = {"per_factor": on_test, "train_per_factor": on_train}
    return Measured(values, parts, record=learner_record(rows))


def _areas(rows: Rows, settings: Settings) -> Float[Tensor, "f 2"]:
    """The area under the curve of each factor, on the rows it is fitted to and on test rows."""
    test = rows.test_rows
    if settings.scaling == "range":
        x, x_test = to_unit_range(rows.codes), to_unit_range(test.codes, rows.codes)
    else:
        x, x_test = standardize(rows, test)
    levels, levels_test = rows.levels, test.levels
    if settings.factor_bins is not None:
        # Binned on all rows at once: an edge must not depend on which rows train.
        both = torch.cat([rows.values, test.values]).double()
        levels, levels_test = discretize(both, settings.factor_bins, "width").split(
            [len(rows), len(test)]
        )
    check_classes(replace(rows, levels=levels))
    areas = []
    plain = settings.classifier, settings.balanced, settings.scaling, settings.factor_bins
    for k, (level, level_test) in enumerate(
        zip(columns(rows, levels)[1], columns(test, levels_test)[1], strict=True)
    ):
        classes, *beliefs = (
            linear_beliefs(rows, k)
            if plain == ("softmax", False, "standard", None)
            else class_scores(
                x, level, x_test, classifier=settings.classifier, balanced=settings.balanced
            )
        )
        if settings.normalized:
            beliefs = [b / b.sum(1, keepdim=True) for b in beliefs]
        truths = (level, level_test)
        areas.append(
            [area_under_curve(classes, b, t) for b, t in zip(beliefs, truths, strict=True)]
        )
    return torch.tensor(areas, dtype=torch.float64)


def area_under_curve(classes: Array, beliefs: Float[Tensor, "n c"], level: Array) -> float:
    """Mean over classes of the area under the ROC curve, from ranks; absent classes are skipped."""
    member = torch.from_numpy(level[:, None] == classes)
    with_, without = member.sum(0), (~member).sum(0)
    seen = (with_ > 0) & (without > 0)
    above = (midranks(beliefs) * member).sum(0) - with_ * (with_ - 1) / 2
    return float((above / (with_ * without))[seen].mean()) if bool(seen.any()) else 0.5
