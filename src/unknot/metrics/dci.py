"""DCI: disentanglement, completeness and informativeness."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unknot.core.errors import DataError
from unknot.metrics.parts.columns import to_unit_range
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.learners import (
    bin_codes,
    check_classes,
    columns,
    grown,
    learner_record,
    standardize,
)
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import concentration, mean


@dataclass(frozen=True)
class Settings(RowSettings):
    """What predicts the factors, and how importances are added up."""

    estimator: Literal["boosting", "sklearn_boosting", "forest", "deep_forest", "lasso"]
    """``boosting`` grows the trees of ``sklearn_boosting`` in a fraction of the time. A
    ``deep_forest`` draws codes for each split, scores splits by entropy and is 10 splits deep."""
    samples: int | None = 10_000
    test_samples: int | None = 5_000
    """0 evaluates on the training rows."""
    distinct: bool = False
    """Whether test points of a grid are never training points."""
    trees: int | None = None
    single: bool = False
    """Boosting in single precision; splits equal to six digits then count as equal."""
    leaf: float | None = None
    """Smallest leaf of a forest's trees as a share of the rows."""
    bins: int | None = None
    """Trees tell about so many values of a code apart."""
    alphas: tuple[float, ...] = ()
    """Penalties of the lasso; of several, ten-fold cross-validation takes the best."""
    scaling: Literal["none", "standard", "range"] = "none"
    weights: Literal["importance", "equal"] = "importance"
    """How completeness averages over factors."""
    version: int = 1

    @property
    def gaps(self) -> bool:
        """Each factor is learnt by itself."""
        return True

    @property
    def real(self) -> bool:
        """A lasso is a regression; trees classify."""
        return self.estimator == "lasso"


NOTHING = 0.05
"""Explaining less of the variance, a lasso keeps a few weights of noise that look disentangled."""

PROTOCOLS = {
    "study2019": Settings("boosting", trees=100),
    "study2019_fast": Settings("boosting", trees=100, single=True, version=2),
    "paper": Settings("lasso", alphas=(0.02,), scaling="standard", weights="equal"),
    "carbonneau": Settings(
        "lasso",
        samples=None,
        test_samples=0,
        alphas=(0.0001, 0.001, 0.01, 0.1, 0.2, 0.4, 0.8, 1.0),
        scaling="range",
        weights="equal",
    ),
    "hsu2024": Settings("deep_forest", 9_000, 1_000, trees=100, scaling="standard"),
    "unknot": Settings(
        "forest", distinct=True, trees=20, leaf=0.01, bins=128, scaling="range", version=2
    ),
}


@metric(
    PROTOCOLS,
    options=("test", "interval"),
    range=(0, 1),
    measures=("modularity", "compactness", "explicitness"),
    depends_on=("classifier",),
    cost=1.87,
    reads=(
        "1: each latent is used to predict one factor only. 0: every latent is used for all "
        "factors equally."
    ),
    parts={
        "disentanglement": (
            "1: each latent is used to predict one factor only. 0: every latent is used for "
            "all factors equally."
        ),
        "completeness": "1: each factor is predicted from one latent only. 0: from all equally.",
        "informativeness": "How well the factors can be predicted from all latents.",
        "error": "How far predictions from all latents miss the factors; 0 is best.",
    },
    part_ranges={
        "disentanglement": (0, 1),
        "completeness": (0, 1),
        "informativeness": (0, 1),
        "error": (0, None),
    },
    lower_parts=("error",),
)
def dci(rows: Rows, settings: Settings) -> Measured:
    r"""Disentanglement, completeness and informativeness of codes that predict the factors.

    With $R_{jk}$ the importance of code $j$ for factor $k$, and $P$ its rows and $Q$ its columns
    divided by their sums,
    $$D = \sum_j \rho_j (1 - H_K(P_j)), \quad C = \sum_k \gamma_k (1 - H_D(Q_k)),$$
    $\rho$ and $\gamma$ the shares of all importance. ``dci`` is ``dci.disentanglement``;
    ``dci.informativeness`` is the accuracy on test rows (trees) or $R^2$ (lasso), and ``dci.error``
    what is wrong there: the share of wrong classes, or the squared error in units of the factor's
    variance.

    Paper: Eastwood and Williams 2018, "A framework for the quantitative evaluation of disentangled
    representations".
    Differs: informativeness is an error in the paper (and in Hartmann 2021), lower being better;
    here, as in the 2019 study, it is higher for better codes, and ``dci.error`` is the error.
    ``study2019`` grows the trees of scikit-learn's gradient boosting with its defaults, seeded here
    (`unknot.metrics.parts.boosting`; ``sklearn_boosting`` is theirs, for comparison);
    ``study2019_fast`` does so in single precision. They fit noise with the later trees, so that D
    rises with the number of rows: compare at equal size. ``unknot`` is a forest whose leaves hold a
    hundredth of the rows, which stops before that; it cuts codes between 128 bins, which takes half
    the time. ``paper`` is the lasso of its authors' notebook, completeness a plain mean.
    ``hsu2024`` is the forest of Tripod's authors, on 9,000 rows with 1,000 to test on. A code
    without importance is skipped; without any importance D and C are 0.
    """
    fit = _lasso if settings.estimator == "lasso" else _trees
    fits = [fit(some, some.test_rows, settings) for some in rows.by_factor()]
    joined = (np.concatenate(part, axis=-1) for part in zip(*fits, strict=True))
    importance, on_train, on_test, errors = joined
    table = torch.from_numpy(importance).clamp_min(0)
    per_code, per_factor = concentration(table, dim=1), concentration(table, dim=0)
    weights = table.sum(0) if settings.weights == "importance" else torch.ones_like(per_factor)
    d, c = mean(per_code, table.sum(1)), mean(per_factor, weights)
    values: dict[str, Tensor | float] = {
        "": d,
        "disentanglement": d,
        "completeness": c,
        "informativeness": float(on_test.mean()),
        "train_informativeness": float(on_train.mean()),
        "error": float(errors.mean()),
    }
    parts = {
        "importance": table,
        "per_code": per_code,
        "per_factor": per_factor,
        "informativeness_per_factor": torch.from_numpy(on_test),
    }
    remarks = []
    if not bool(table.sum() > 0):
        remarks.append("no code has any importance: D and C are 0")
    elif settings.estimator == "lasso" and on_test.mean() < NOTHING:
        remarks.append("the lasso predicts nothing, so D and C describe noise")
    return Measured(values, parts, tuple(remarks), learner_record(rows))


Fitted = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
"""Importances, informativeness on the rows to learn from and to test on, and the error there."""
Predicted = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Importances, and the classes predicted for both tables of codes."""


def _trees(train: Rows, test: Rows, s: Settings) -> Fitted:
    check_classes(train)
    (x, y), (x_test, y_test) = columns(train), columns(test)
    if s.scaling == "range":
        x, x_test = (to_unit_range(r.codes, train.codes).cpu().numpy() for r in (train, test))
    elif s.scaling == "standard":
        x, x_test = (table.cpu().numpy() for table in standardize(train, test))
    elif np.abs(x).max() > np.finfo(np.float32).max:
        raise DataError("Codes above 3e38 do not fit the trees of scikit-learn; divide them first.")
    if s.bins is not None:
        x, x_test = bin_codes(x, x_test, s.bins)
    importances, on_train, on_test = [], [], []
    for k, (level, level_test) in enumerate(zip(y, y_test, strict=True)):
        if s.estimator == "boosting":
            trees = grown(
                train,
                k,
                (x, x_test),
                rounds=s.trees or 100,
                single=s.single,
                scaling=s.scaling,
                bins=s.bins,
            )
            fitted = trees.importance, trees.train, trees.test
            importance, predicted, predicted_test = (part.numpy() for part in fitted)
        else:
            importance, predicted, predicted_test = _from_sklearn(x, level, x_test, s, train.seed)
        importances.append(np.abs(importance))
        on_train.append(np.mean(predicted == level))
        on_test.append(np.mean(predicted_test == level_test))
    accuracy = np.array(on_test)
    return np.stack(importances, axis=1), np.array(on_train), accuracy, 1 - accuracy


def _from_sklearn(
    x: NDArray[Any], level: NDArray[Any], x_test: NDArray[Any], s: Settings, seed: int
) -> Predicted:
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    model: Any
    if s.estimator == "forest":
        model = RandomForestClassifier(
            s.trees, max_features=None, min_samples_leaf=s.leaf or 1, random_state=seed
        )
    elif s.estimator == "deep_forest":
        model = RandomForestClassifier(
            s.trees, criterion="entropy", max_depth=10, random_state=seed
        )
    else:
        model = GradientBoostingClassifier(n_estimators=s.trees, random_state=seed)
    model.fit(x, level)
    return model.feature_importances_, model.predict(x), model.predict(x_test)


def _lasso(train: Rows, test: Rows, s: Settings) -> Fitted:
    """Absolute weights, and one minus the error in units of the factor's variance, at least 0."""
    from sklearn.linear_model import Lasso, LassoCV

    targets = [r.values.double() for r in (train, test)]
    if s.scaling == "range":
        targets = [to_unit_range(t, targets[0]) for t in targets]
        inputs = [to_unit_range(r.codes, train.codes) for r in (train, test)]
    else:
        mean_, std = targets[0].mean(0), targets[0].std(0, correction=0)
        targets = [(t - mean_) / std for t in targets]
        inputs = list(standardize(train, test))
    x, x_test = (i.cpu().numpy() for i in inputs)
    # A uniform factor between 0 and 1 has variance 1/12: the library's unit, whatever the factor.
    unit = 1 / 12 if s.scaling == "range" else 1.0
    weights, errors = [], []
    for k in range(len(train.names)):
        y, y_test = (t[:, k].cpu().numpy() for t in targets)
        alpha = s.alphas[0]
        if len(s.alphas) > 1:
            alpha = LassoCV(alphas=s.alphas, cv=10, max_iter=5000).fit(x, y).alpha_
        model = Lasso(alpha=alpha).fit(x, y)
        weights.append(np.abs(model.coef_))
        errors.append(
            [np.mean((model.predict(a) - b) ** 2) / unit for a, b in ((x, y), (x_test, y_test))]
        )
    on_train, on_test = np.maximum(1 - np.array(errors), 0).T
    return np.stack(weights, axis=1), on_train, on_test, np.array(errors)[:, 1]
