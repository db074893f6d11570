"""The BetaVAE score: can a linear classifier name the factor that pairs share?"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from numpy.typing import NDArray
from torch import Tensor

from unknot.core.errors import DataError
from unknot.metrics.parts.columns import to_unit_range
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import UNKNOT
from unknot.metrics.parts.interventions import accuracy_values, batches, chance_remark, source
from unknot.metrics.parts.learners import class_margins, class_scores, versions
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import ratio


@dataclass(frozen=True)
class Settings(RowSettings):
    """How many points of how many pairs, and the classifier."""

    points: int = 10_000
    eval_points: int = 5_000
    batch: int = 64
    classifier: Literal["liblinear", "softmax", "svm"] = "liblinear"
    """Logistic regression, one class against the rest or all classes together; or support vector
    machines, one class against the rest."""
    samples: int | None = 10_000
    """Rows that scale the codes, and whose groups stand in for a grid."""
    dead: Literal["counted", "left out"] = "counted"
    """Where dead latents are left out, the others are divided by their standard deviation."""
    factor_bins: int | None = None
    rescaled: bool = False
    """Whether the score counts from chance instead of from 0."""
    balanced: bool = False
    """Whether each factor has as many points; else factors are drawn."""
    version: int = 1


HINGE = 0.01
"""Weight of the hinge loss of support vector machines."""
LARGEST = 1e30
"""The classifier's solver never ends with larger differences."""

PROTOCOLS = {
    "study2019": Settings(),
    "paper": Settings(classifier="softmax"),
    "carbonneau": Settings(batch=200, classifier="softmax", factor_bins=10, rescaled=True),
    "kumar": Settings(classifier="svm", balanced=True),
    "unknot": Settings(classifier="softmax", samples=None, dead="left out"),
}


@metric(
    PROTOCOLS,
    options=(),
    range=(0, 1),
    part_ranges={"accuracy": (0, 1), "train_accuracy": (0, 1), "rescaled": (None, 1)},
    measures=("modularity",),
    depends_on=("classifier", "draws"),
    rows="most",
    cost=0.39,
    reads=(
        "Accuracy of a linear classifier that predicts which factor two images share, from "
        "differences of their codes. Chance is 1 / number of factors. A score of 1 does not "
        "rule out a missing factor."
    ),
    parts={
        "accuracy": "Share of right answers on test points. Chance is 1 / number of factors.",
        "rescaled": "From chance up: 0 is guessing, 1 always right, below 0 worse than guessing.",
        "train_accuracy": "The same on points it was fitted to; far above the other: overfitted.",
    },
)
def beta_vae(rows: Rows, settings: Settings) -> Measured:
    r"""BetaVAE score (Z-diff): accuracy of predicting the factor that pairs of images share.

    A point is the mean of $|z - z'|$ over a batch of pairs that agree in one factor; a linear
    classifier must tell which.

    Paper: Higgins et al. 2017, "beta-VAE".
    Differs: logistic regression with its usual penalty for the classifier, where the paper trains
    one linear layer. ``study2019`` fits one class against the rest as scikit-learn did before its
    version 0.22; ``paper`` fits all classes together, on codes as they are, and has its numbers of
    pairs and points from the study. ``kumar`` is Z-diff of Kumar et al. 2018: linear support vector
    machines, one factor against the rest, with a weight of 0.01 on the hinge loss, and as many
    points for each factor; the paper gives no number of points or pairs, so these are the study's.
    ``unknot`` leaves dead latents out and divides the others by their deviation, so that no penalty
    depends on their scale. Rows that are not a grid are grouped by the value of the factor.
    Note: ``beta_vae.rescaled`` is 0 for chance. Rotations of pairs of factors get nearly 1, so that
    only low scores are informative.

    Raises:
        DataError: Rows are too few to hold a factor, or codes too large to classify.
    """
    scale = torch.ones_like(rows.codes[0])
    remarks: tuple[str, ...] = ()
    if settings.dead == "left out":
        info = rows.information(UNKNOT)
        # Dead codes are multiplied by 0: with none alive the classifier still has its columns.
        span = rows.codes.amax(0) - rows.codes.amin(0)
        scale = ratio(info.alive.double(), span * to_unit_range(rows.codes).std(0))
        remarks = info.silent
    points, k = source(rows, settings.factor_bins), len(rows.names)

    def differences(n: int, stage: str) -> tuple[Tensor, Tensor]:
        """Mean differences of pairs, and the factor they share."""
        xs, ys = [], []
        stream = f"metric/beta_vae/{stage}"
        for factor, numbers in batches(k, n, rows.seed, stream, balanced=settings.balanced):
            first, second = points.pairs(factor, settings.batch, numbers)
            xs.append(((first - second).abs() * scale).mean(1).cpu())
            ys.append(factor)
        return torch.cat(xs), torch.cat(ys)

    x, y = differences(settings.points, "train")
    x_eval, y_eval = differences(settings.eval_points, "eval")
    if float(max(x.abs().max(), x_eval.abs().max())) > LARGEST:
        raise DataError(
            f"Codes more than {LARGEST} apart cannot be classified; the protocol 'unknot' divides "
            "them by their deviation."
        )
    accuracies = [torch.tensor(1.0), torch.tensor(1.0)]
    if k > 1:
        classes, *beliefs = _beliefs(x, y, x_eval, settings.classifier, rows.seed)
        accuracies = [
            (torch.from_numpy(classes)[belief.argmax(1)] == truth).double().mean()
            for belief, truth in zip(beliefs, (y, y_eval), strict=True)
        ]
    train, test = accuracies
    values = accuracy_values(train, test, k, rescaled=settings.rescaled)
    centers = torch.stack([x[y == c].mean(0) for c in range(k)], dim=1)
    record = versions() | ({"groups": points.groups} if points.groups else {})
    remarks += chance_remark(test, k, settings.eval_points)
    return Measured(values, {"differences": centers}, (*remarks, *points.remarks), record)


def _beliefs(
    x: Tensor, y: Tensor, x_eval: Tensor, classifier: str, seed: int
) -> tuple[NDArray[Any], Tensor, Tensor]:
    """The factors, and how much the classifier believes in each, for both tables of points."""
    if classifier == "svm":
        return class_margins(x, y.numpy(), x_eval, c=HINGE, seed=seed)
    return class_scores(x, y.numpy(), x_eval, classifier=classifier, balanced=False)
