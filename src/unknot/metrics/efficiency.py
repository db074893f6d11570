"""Downstream accuracy by number of labels, and how soon it is reached."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unknot.core import noise
from unknot.core.errors import ConfigError, DataError
from unknot.metrics.parts.boosting import boost
from unknot.metrics.parts.columns import to_unit_range
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import SIGMAS
from unknot.metrics.parts.learners import (
    bin_codes,
    class_scores,
    columns,
    grown,
    learner_record,
    linear_beliefs,
    standardize,
)
from unknot.metrics.parts.logistic import fit_logistic
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric

Learner: TypeAlias = Literal["boosting", "linear", "linear cv"]
FEW = 100
"""Labels whose accuracy is compared with that of the most."""
PENALTIES = tuple(np.logspace(-4, 4, 10).tolist())
"""Inverse penalties that cross-validation chooses from: those of scikit-learn."""


@dataclass(frozen=True)
class Settings(RowSettings):
    """What learns the factors, from how many labels."""

    learners: tuple[Learner, ...]
    """The first gives the score. ``boosting`` grows the trees of scikit-learn's, ``linear`` is
    logistic regression, and ``linear cv`` that with its penalty by five-fold cross-validation."""
    rounds: int = 100
    """Of boosting."""
    bins: int | None = None
    """Values of a code that boosting tells apart; None for all of them."""
    labels: tuple[int, ...] = (10, FEW, 1_000, 10_000)
    test_samples: int = 5_000
    distinct: bool = False
    """Whether test points of a grid are never training points."""
    scaled: bool = False
    """Whether a code's unit is taken out first."""
    chance: Literal["counted", "taken off"] = "counted"
    """Whether accuracies are compared from 0 on, or from what is right without a code."""
    version: int = 1

    def __post_init__(self) -> None:
        if FEW not in self.labels or max(self.labels) <= FEW or not self.learners:
            raise ConfigError(
                f"efficiency needs a learner, and labels with {FEW} and something above it; got "
                f"{self.learners} and {self.labels}."
            )

    @property
    def samples(self) -> int:
        """Rows to learn from."""
        return max(self.labels)

    @property
    def gaps(self) -> bool:
        """Each factor is learnt by itself."""
        return True


PROTOCOLS = {
    "study2019": Settings(("boosting", "linear cv"), version=3),
    "unknot": Settings(
        ("boosting", "linear"),
        rounds=20,
        bins=128,
        distinct=True,
        scaled=True,
        chance="taken off",
        version=2,
    ),
}


@metric(
    PROTOCOLS,
    options=("test",),
    range=(0, None),
    part_ranges={"*_[0-9]*": (0, 1), "chance": (0, 1)},
    measures=("explicitness",),
    depends_on=("classifier", "draws"),
    cost=3.34,
    reads=(
        "Accuracy with 100 labels relative to that with 10,000. Read it with the "
        "accuracies: a ratio of two low accuracies can be high."
    ),
    parts={
        "chance": "Accuracy of always naming the most frequent value of each factor.",
        "linear": "The share for the linear learner.",
        "*_[0-9]*": "Accuracy of a learner with so many labels.",
    },
)
def efficiency(rows: Rows, settings: Settings) -> Measured:
    r"""Efficiency: accuracy with 100 labels relative to that with 10,000, predicting factors.

    $$\mathrm{acc}(100) / \mathrm{acc}(10{,}000), \quad \mathrm{acc}(n) = \frac1K \sum_k
      \mathrm{accuracy\ of}\ v_k\ \mathrm{from\ all\ codes\ of}\ n\ \mathrm{rows}$$
    on test rows. ``efficiency.boosting_100`` and its like are the curve of each learner,
    ``efficiency.linear`` the share for the second one, and ``efficiency.chance`` what the
    commonest value of each factor gets. Parts hold accuracies, labels by factors.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".
    Differs: ``study2019`` is theirs, scikit-learn's boosting (`parts.boosting`, seeded) and
    logistic regression with ten penalties (`parts.learners`, to the minimum, where scikit-learn
    stops early); codes that tell nothing get 1. ``unknot`` boosts 20 rounds on codes cut into 128
    bins and takes chance off both accuracies: at most 1, and 0 where nothing is learnt. With fewer
    rows than the largest number of labels, all of them stand in for it.
    Note: may exceed 1 a little under ``study2019``.

    Raises:
        DataError: There are 100 rows to learn from or fewer.
    """
    groups = rows.by_factor()
    n, tested = min(map(len, groups)), min(len(some.test_rows) for some in groups)
    if n <= FEW:
        raise DataError(
            f"efficiency compares {FEW} labels with more, and has {n} rows to learn from."
        )
    sizes = sorted({min(size, n) for size in settings.labels})
    guess = [np.mean(b == np.bincount(a).argmax()) for some in groups for a, b in _levels(some)]
    chance = float(np.mean(guess))
    spread = np.mean([g * (1 - g) for g in guess]) / (tested * len(guess))
    nothing = chance + SIGMAS * float(np.sqrt(spread))
    values: dict[str, Tensor | float] = {}
    parts = {"labels": torch.tensor(sizes)}
    remarks = (
        [f"{n:,} labels stand in for {max(settings.labels):,}"] if n < max(settings.labels) else []
    )
    for learner in settings.learners:
        curves = [_curve(some, learner, sizes, settings) for some in groups]
        name = learner.replace(" ", "_")
        parts[name] = torch.tensor(np.concatenate(curves, axis=1))
        accuracy = dict(zip(sizes, parts[name].mean(1).tolist(), strict=True))
        few, most = accuracy[FEW], accuracy[sizes[-1]]
        if most <= nothing:
            remarks.append(f"{learner}: {most:.3f} is no more than chance")
        values[name if values else ""] = _share(few, most, chance, nothing, settings)
        values |= {f"{name}_{size}": value for size, value in accuracy.items()}
    values["chance"] = chance
    return Measured(values, parts, tuple(remarks), learner_record(rows))


def _shuffle(rows: Rows) -> Rows:
    """Rows in another order: given ones often come in that of a grid."""
    order = noise.permutation(rows.seed, "metric/labels", 0, len(rows), 1)[:, 0]
    return rows[order.to(rows.codes.device)]


def _levels(rows: Rows) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Values of each factor, to learn from and to test on."""
    return [*zip(columns(rows)[1], columns(rows.test_rows)[1], strict=True)]


def _curve(rows: Rows, learner: Learner, sizes: list[int], s: Settings) -> NDArray[Any]:
    """Accuracies ``[labels, factors]``."""
    some = _shuffle(rows)
    x, x_test = _inputs(some, some.test_rows, learner, s)
    curve = []
    for size in sizes:
        row = []
        for k, (level, level_test) in enumerate(_levels(some)):
            if size == len(rows) and (learner == "boosting" or (learner == "linear" and s.scaled)):
                predicted = predict_from_all(learner, s, rows, k)
            else:
                predicted = predict(learner, s, x[:size], level[:size], x_test, rows.seed)
            row.append(np.mean(predicted == level_test))
        curve.append(row)
    return np.array(curve)


def _share(few: float, most: float, chance: float, nothing: float, s: Settings) -> float:
    if s.chance == "counted":
        return few / most if most else 0.0
    return 0.0 if most <= nothing else min(max((few - chance) / (most - chance), 0.0), 1.0)


def _inputs(train: Rows, test: Rows, learner: Learner, s: Settings) -> tuple[Tensor, Tensor]:
    if not s.scaled:
        largest = torch.finfo(torch.float32).max
        if learner == "boosting" and float(train.codes.abs().max()) > largest:
            raise DataError(
                "Codes above 3e38 do not fit trees of single precision; divide them first."
            )
        return train.codes, test.codes
    if learner in ("linear", "linear cv"):
        return standardize(train, test)
    return to_unit_range(train.codes), to_unit_range(test.codes, train.codes)


def predict(
    learner: Learner, s: Settings, x: Tensor, level: NDArray[Any], x_test: Tensor, seed: int
) -> NDArray[Any]:
    """Values of test rows; with a single value among the labels, that one."""
    if len(np.unique(level)) == 1:
        return np.full(len(x_test), level[0])
    if learner == "boosting":
        x, x_test = map(torch.from_numpy, _binned(x, x_test, s))
        fitted = boost(x, torch.from_numpy(level), x_test, rounds=s.rounds, seed=seed)
        trees: NDArray[Any] = fitted.test.numpy()
        return trees
    if learner == "linear":
        classes, _, beliefs = class_scores(x, level, x_test, classifier="softmax", balanced=False)
        named: NDArray[Any] = classes[beliefs.argmax(1).numpy()]
        return named
    model = fit_logistic(x, torch.from_numpy(level), cs=PENALTIES)
    likeliest: NDArray[Any] = model.predict(x_test.cpu()).numpy()
    return likeliest


def _binned(x: Tensor, x_test: Tensor, s: Settings) -> tuple[NDArray[Any], NDArray[Any]]:
    codes, codes_test = x.cpu().numpy(), x_test.cpu().numpy()
    return (codes, codes_test) if s.bins is None else bin_codes(codes, codes_test, s.bins)


def predict_from_all(learner: Learner, s: Settings, rows: Rows, factor: int) -> NDArray[Any]:
    """Values of test rows from all others, by a learner that other metrics may share."""
    if learner == "linear":
        classes, _, beliefs = linear_beliefs(rows, factor)
        named: NDArray[Any] = classes[beliefs.argmax(1).numpy()]
        return named
    tables = _binned(*_inputs(rows, rows.test_rows, learner, s), s)
    scaling = "range" if s.scaled else "none"
    fitted = grown(rows, factor, tables, rounds=s.rounds, scaling=scaling, bins=s.bins)
    trees: NDArray[Any] = fitted.test.numpy()
    return trees
