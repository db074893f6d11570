"""What predicts factors from codes: learners of scikit-learn, imported where used, and our own."""

import warnings
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from unknot.core.errors import DataError
from unknot.metrics.parts.boosting import Boosted, boost
from unknot.metrics.parts.columns import to_unit_range
from unknot.metrics.parts.rows import Rows

Array: TypeAlias = NDArray[Any]


def versions() -> dict[str, str]:
    """What a record must say where a solver decides the last digits."""
    import sklearn

    return {"scikit_learn": sklearn.__version__}


def learner_record(rows: Rows) -> dict[str, Any]:
    """What the record of a metric that learns must say of its rows and its solver."""
    return {"test_rows": len(rows.test_rows), **versions()}


def columns(rows: Rows, levels: Tensor | None = None) -> tuple[Array, list[Array]]:
    """Codes, and one array of levels per factor, as scikit-learn wants them."""
    levels = rows.levels if levels is None else levels
    return rows.codes.cpu().numpy(), list(levels.T.contiguous().cpu().numpy())


def check_classes(train: Rows) -> None:
    """Raise a DataError where a factor has more values than half the rows to learn them from."""
    for name, level in zip(train.names, train.levels.T, strict=True):
        if (values := len(level.unique())) > len(train) / 2:
            raise DataError(
                f"Too few rows to learn {name}: {values} values in {len(train)} rows. Give more "
                "rows, or leave this factor out."
            )


def standardize(train: Rows, test: Rows) -> tuple[Float[Tensor, "n z"], Float[Tensor, "m z"]]:
    """Codes with mean 0 and variance 1 in the training rows; constant codes become 0."""
    x, x_test = to_unit_range(train.codes), to_unit_range(test.codes, train.codes)
    mean, std = x.mean(0), x.std(0, correction=0)
    std = torch.where(std > 0, std, torch.inf)
    return (x - mean) / std, (x_test - mean) / std


def bin_codes(
    x: Array, x_test: Array, bins: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Codes by the number of their bin.

    Bins end in the widest gap between values of so many runs of equally many training rows, so that
    values in clumps are not torn apart. Where a code has no more values than that, each is a bin.

    Example:
        >>> x, x_test = np.array([[0.0], [1.0], [2.0], [90.0]]), np.array([[45.0], [47.0], [1e9]])
        >>> [table[:, 0].tolist() for table in bin_codes(x, x_test, 2)]
        [[0.0, 0.0, 1.0, 2.0], [1.0, 2.0, 2.0]]
        >>> [table[:, 0].tolist() for table in bin_codes(x, x_test, 4)]
        [[0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 3.0]]
    """
    tables = np.empty(x.shape, np.float32), np.empty(x_test.shape, np.float32)
    for j, code in enumerate(x.T):
        values, sizes = np.unique(code.astype(np.float64), return_counts=True)
        gaps = np.diff(values)
        cut = np.arange(len(gaps))
        if len(values) > bins:
            run = (sizes.cumsum()[:-1] * bins - 1) // len(code)
            by_width = np.lexsort((gaps, run))
            cut = by_width[np.append(np.diff(run[by_width]) > 0, True)]
        ends = values[cut] + gaps[cut] / 2
        for table, codes in zip(tables, (x, x_test), strict=True):
            table[:, j] = np.searchsorted(ends, codes[:, j])
    return tables


def grown(
    rows: Rows,
    factor: int,
    tables: tuple[Array, Array],
    *,
    rounds: int,
    single: bool = False,
    scaling: str,
    bins: int | None,
) -> Boosted:
    """Boosted trees that learn a factor from all rows; metrics that ask for the same share them.

    Args:
        rows: To learn from, with those to test on.
        factor: By number.
        tables: Codes of both, scaled and binned.
        rounds: Of boosting.
        single: Whether in single precision.
        scaling: What was done to the codes.
        bins: How many values of a code are told apart.
    """

    def compute() -> Boosted:
        x, x_test = map(torch.from_numpy, tables)
        level = rows.levels[:, factor].cpu()
        return boost(x, level, x_test, rounds=rounds, single=single, seed=rows.seed)

    return rows.remember(("boosted", factor, rounds, single, scaling, bins), compute)


def linear_beliefs(
    rows: Rows, factor: int
) -> tuple[Array, Float[Tensor, "n c"], Float[Tensor, "m c"]]:
    """`class_scores` of a factor from all rows, all classes together, on standardized codes.

    Metrics that ask for them share them.
    """

    def compute() -> tuple[Array, Tensor, Tensor]:
        x, x_test = standardize(rows, rows.test_rows)
        level = rows.levels[:, factor].cpu().numpy()
        return class_scores(x, level, x_test, classifier="softmax", balanced=False)

    return rows.remember(("linear beliefs", factor), compute)


def class_margins(
    x: Float[Tensor, "n z"], level: Array, x_test: Float[Tensor, "m z"], *, c: float, seed: int
) -> tuple[Array, Float[Tensor, "n c"], Float[Tensor, "m c"]]:
    """The classes, and how far both tables lie on each one's side of a linear machine.

    Support vector machines, one class against the rest, with so much weight on the hinge loss.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = LinearSVC(C=c, loss="hinge", random_state=seed).fit(x.cpu().numpy(), level)
    margins = [torch.from_numpy(machine.decision_function(t.cpu().numpy())) for t in (x, x_test)]
    if len(machine.classes_) == 2:  # one machine tells both
        margins = [torch.stack([-margin, margin], dim=1) for margin in margins]
    return machine.classes_, margins[0], margins[1]


def class_scores(
    x: Float[Tensor, "n z"],
    level: Array,
    x_test: Float[Tensor, "m z"],
    *,
    classifier: str,
    balanced: bool,
) -> tuple[Array, Float[Tensor, "n c"], Float[Tensor, "m c"]]:
    """The classes, and how much logistic regression believes in each, for both tables of codes.

    ``liblinear`` and ``lbfgs`` fit one class against the rest and do not normalise over classes;
    ``softmax`` fits all classes together.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    classes = np.unique(level)
    options: dict[str, Any] = {"class_weight": "balanced" if balanced else None}
    if classifier == "softmax":
        targets, options = [level], {**options, "max_iter": 300, "tol": 1e-3}
    else:
        # With two classes, one against the rest is the other against the rest.
        targets = [level == c for c in (classes if len(classes) > 2 else classes[1:])]
        options |= {"solver": classifier, "max_iter": 100 if classifier == "liblinear" else 1000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [LogisticRegression(**options).fit(x.cpu().numpy(), t) for t in targets]
    beliefs = []
    for table in (x, x_test):
        parts = [model.predict_proba(table.cpu().numpy()) for model in models]
        all_at_once = classifier == "softmax" or len(classes) == 2
        beliefs.append(parts[0] if all_at_once else np.stack([p[:, 1] for p in parts], axis=1))
    return classes, torch.from_numpy(beliefs[0]), torch.from_numpy(beliefs[1])
