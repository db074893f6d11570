"""Downstream accuracy by number of labels, and how soon it is reached."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unknot.core import noise
from unknot.core.errors import ConfigError, DataError
from unknot.metrics.parts import logistic, protocols
from unknot.metrics.parts.boosting import boost
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.inputs import Codes, Factors, Rows, Test, take_two
from unknot.metrics.parts.predictors import binned, class_scores, columns, standardised, versions
from unknot.metrics.parts.result import Measured, Score, build
from unknot.metrics.parts.tables import SIGMAS, ranged

Learner: TypeAlias = Literal["boosting", "linear", "linear cv"]
FEW = 100
"""Labels whose accuracy is compared with that of the most."""
PENALTIES = tuple(np.logspace(-4, 4, 10).tolist())
"""Inverse penalties that cross-validation chooses from: those of scikit-learn."""


@dataclass(frozen=True)
class Settings:
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
    better="higher",
    range=(0, None),
    measures=("explicitness",),
    cost=3.34,
    reads=(
        "Accuracy from 100 labels as a share of that from 10,000. Look at the accuracies beside "
        "it: a share of little is little."
    ),
)
def efficiency(
    codes: Codes,
    factors: Factors = None,
    *,
    protocol: str | Settings = "unknot",
    seed: int = 0,
    test: Test = None,
) -> Score:
    r"""Efficiency: accuracy from 100 labels as a share of that from 10,000, predicting factors.

    $$\mathrm{acc}(100) / \mathrm{acc}(10{,}000), \quad \mathrm{acc}(n) = \frac1K \sum_k
      \mathrm{accuracy\ of}\ v_k\ \mathrm{from\ all\ codes\ of}\ n\ \mathrm{rows}$$
    on test rows. ``efficiency.boosting_100`` and its like are the curve of each learner,
    ``efficiency.linear`` the share for the second one, and ``efficiency.chance`` what the
    commonest value of each factor gets. Parts hold accuracies, labels by factors.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".
    Differs: ``study2019`` is theirs, scikit-learn's boosting (`parts.boosting`, seeded) and
    logistic regression with ten penalties (`parts.logistic`, to the minimum, where scikit-learn
    stops early); codes that tell nothing get 1. ``unknot`` boosts 20 rounds on codes cut into 128
    bins and takes chance off both accuracies: at most 1, and 0 where nothing is learnt. With fewer
    rows than the largest number of labels, all of them stand in for it.
    Range: 0 to 1, a little above under ``study2019``.
    Reads as: 0.6 means that 100 labels get one six tenths of the way. How far the way is, the
    accuracies tell: a code that tells little can be learnt soon.

    Raises:
        DataError: There are 100 rows to learn from or fewer.
    """
    chosen = protocols.pick("efficiency", PROTOCOLS, protocol)
    s = chosen.settings
    if FEW not in s.labels or max(s.labels) <= FEW or not s.learners:
        raise ConfigError(
            f"efficiency needs a learner, and labels with {FEW} and something above it; got "
            f"{s.learners} and {s.labels}."
        )
    train, held = take_two(
        codes,
        factors,
        test,
        samples=max(s.labels),
        test_samples=s.test_samples,
        seed=seed,
        distinct=s.distinct,
    )
    if len(train) <= FEW:
        raise DataError(
            f"efficiency compares {FEW} labels with more, and has {len(train)} rows to learn from."
        )
    measured = _measure(train, held, s, seed)
    return build(chosen, measured, train, test_rows=len(held), seed=seed, **versions())


def _measure(train: Rows, held: Rows, s: Settings, seed: int) -> Measured:
    n = len(train)
    sizes = sorted({min(size, n) for size in s.labels})
    # Given rows come in any order, often that of a grid.
    train = train[noise.permutation(seed, "metric/labels", 0, n, 1)[:, 0].to(train.codes.device)]
    y, y_held = columns(train)[1], columns(held)[1]
    guess = [np.mean(b == np.bincount(a).argmax()) for a, b in zip(y, y_held, strict=True)]
    chance = float(np.mean(guess))
    spread = np.mean([g * (1 - g) for g in guess]) / (len(held) * len(y))
    nothing = chance + SIGMAS * float(np.sqrt(spread))
    values: dict[str, Tensor | float] = {}
    parts = {"labels": torch.tensor(sizes)}
    remarks = [f"{n:,} labels stand in for {max(s.labels):,}"] if n < max(s.labels) else []
    for learner in s.learners:
        x, x_held = _inputs(train, held, learner, s.scaled)
        curve = [
            [
                np.mean(_predict(learner, s, x[:size], a[:size], x_held, seed) == b)
                for a, b in zip(y, y_held, strict=True)
            ]
            for size in sizes
        ]
        name = learner.replace(" ", "_")
        parts[name] = torch.tensor(np.array(curve))
        accuracy = dict(zip(sizes, parts[name].mean(1).tolist(), strict=True))
        few, most = accuracy[FEW], accuracy[sizes[-1]]
        if most <= nothing:
            remarks.append(f"{learner}: {most:.3f} is no more than chance")
        values[name if values else ""] = _share(few, most, chance, nothing, s)
        values |= {f"{name}_{size}": value for size, value in accuracy.items()}
    values["chance"] = chance
    return Measured(values, parts, tuple(remarks))


def _share(few: float, most: float, chance: float, nothing: float, s: Settings) -> float:
    if s.chance == "counted":
        return few / most if most else 0.0
    return 0.0 if most <= nothing else min(max((few - chance) / (most - chance), 0.0), 1.0)


def _inputs(train: Rows, held: Rows, learner: Learner, scaled: bool) -> tuple[Tensor, Tensor]:
    if not scaled:
        largest = torch.finfo(torch.float32).max
        if learner == "boosting" and float(train.codes.abs().max()) > largest:
            raise DataError(
                "Codes above 3e38 do not fit trees of single precision; divide them first."
            )
        return train.codes, held.codes
    if learner in ("linear", "linear cv"):
        return standardised(train, held)
    return ranged(train.codes), ranged(held.codes, train.codes)


def _predict(
    learner: Learner, s: Settings, x: Tensor, level: NDArray[Any], x_held: Tensor, seed: int
) -> NDArray[Any]:
    """Values of test rows; with a single value among the labels, that one."""
    if len(np.unique(level)) == 1:
        return np.full(len(x_held), level[0])
    if learner == "boosting":
        x, x_held = x.cpu(), x_held.cpu()
        if s.bins is not None:
            x, x_held = map(torch.from_numpy, binned(x.numpy(), x_held.numpy(), s.bins))
        fitted = boost(x, torch.from_numpy(level), x_held, rounds=s.rounds, seed=seed)
        trees: NDArray[Any] = fitted.held.numpy()
        return trees
    if learner == "linear":
        classes, _, beliefs = class_scores(x, level, x_held, classifier="softmax", balanced=False)
        named: NDArray[Any] = classes[beliefs.argmax(1).numpy()]
        return named
    model = logistic.fit(x, torch.from_numpy(level), cs=PENALTIES)
    likeliest: NDArray[Any] = model.predict(x_held.cpu()).numpy()
    return likeliest
