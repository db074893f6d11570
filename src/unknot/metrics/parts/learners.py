"""What predicts factors from codes: learners of scikit-learn, imported where used, and our own."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from unknot.core.errors import DataError
from unknot.metrics.parts.columns import to_unit_range
from unknot.metrics.parts.rows import Rows

Array: TypeAlias = NDArray[Any]
FOLDS = 5
CLOSE = 3e-5
"""How far from the minimum a fit may end: in every direction, so many standard errors."""
PATIENCE, TRIES = 25, 20
"""Steps that are guided by the same second derivatives, and how often these are computed again."""
STALE = 8
"""With more slopes than this the next penalty, too, deserves new second derivatives."""
TURNED, SHORTEST = 0.25, 0.1
"""A step whose slope has turned by a larger share is shortened, at most to this share at once."""
FLOOR = 1e-10
"""Least second derivative, relative to that of each coefficient by itself."""
ROWS = 1000
"""Rows that are worked on at a time: what fits the caches."""


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


@dataclass(frozen=True)
class Logistic:
    """What was learnt, and with which penalty."""

    classes: Int[Tensor, " k"]
    weight: Float[Tensor, "k z"]
    bias: Float[Tensor, " k"]
    c: float
    accuracy: Float[Tensor, "folds c"]
    """On the rows that were left out, by penalty."""

    def logits(self, codes: Float[Tensor, "m z"]) -> Float[Tensor, "m k"]:
        """Scores whose softmax are the probabilities of the classes."""
        return codes.double() @ self.weight.T + self.bias

    def predict(self, codes: Float[Tensor, "m z"]) -> Int[Tensor, " m"]:
        """The likeliest class of each row."""
        return self.classes[self.logits(codes).argmax(1)]


def fit_logistic(
    codes: Float[Tensor, "n z"], level: Int[Tensor, " n"], *, cs: Sequence[float]
) -> Logistic:
    r"""Fit a linear score for each class with the best of some penalties.

    $$\min_{w, b} \; -\sum_i \log p_{y_i}(x_i) + \frac{1}{2C} \sum_k |w_k|^2, \quad
      p_k(x) = \frac{\exp(w_k x + b_k)}{\sum_l \exp(w_l x + b_l)}$$
    with twice the penalty for two classes, as if these shared one vector. Each fifth of the rows,
    in their order, is left out once; the penalty with the largest sum of accuracies there, the
    first of several, is that of the fit to all rows. This is the model of scikit-learn's
    ``LogisticRegressionCV(cv=KFold(5))``.

    Steps are those of L-BFGS, in coordinates that make the second derivatives for all rows the
    identity: nearly Newton's, and few, for the folds too. Penalties start from one another, and
    share these derivatives while few steps lead from one to the next.

    Paper: Liu & Nocedal 1989, "On the limited memory BFGS method for large scale optimization".
    Differs: scikit-learn stops far from the minimum, after 100 steps or by the size of a gradient
    that depends on the units of codes.

    Args:
        codes: Rows to learn from, on any scale.
        level: Their classes. One that only rows left out have is not fitted to the others.
        cs: Inverse penalties to choose from, best in rising order.
    """
    classes, member = (tensor.numpy() for tensor in level.cpu().unique(return_inverse=True))
    x = codes.double().cpu().T.numpy()
    # With penalties to match, other units are the same model; these do not overflow.
    middle = x.mean(1, keepdims=True)
    unit = np.abs(x - middle).max(1, keepdims=True)
    unit = np.where(unit > 0, unit, 1.0)
    x = np.concatenate([(x - middle) / unit, np.ones((1, x.shape[1]))])
    penalty = np.append(unit[:, 0] ** -2.0, 0) * (2 if len(classes) == 2 else 1)

    rows = np.arange(len(member))
    cuts = np.array_split(rows, min(FOLDS, len(rows)))
    problem = _problem(x, member)
    parts = [_problem(np.delete(x, cut, axis=1), np.delete(member, cut)) for cut in cuts]
    w, accuracy = np.zeros((len(classes), len(x))), np.empty((len(cuts), len(cs)))
    fits, fold_fits, second = [], [w.copy() for _ in cuts], _second(x, w)
    for i, c in enumerate(cs):
        before, (w, slopes) = w, _minimum(problem, w, second, penalty / c)
        fits.append(w)
        if slopes > STALE:
            second = _second(x, w)
        for f, (part, cut) in enumerate(zip(parts, cuts, strict=True)):
            k, share = part.classes, part.x.shape[1] / x.shape[1]
            start = (fold_fits[f] + w - before)[k]
            fold_fits[f][k], _ = _minimum(part, start, share * second[k][:, :, k], penalty / c)
            accuracy[f, i] = np.mean(k[(fold_fits[f][k] @ x[:, cut]).argmax(0)] == member[cut])
    best = int(accuracy.sum(0).argmax())
    weight = fits[best][:, :-1] / unit[:, 0]
    return Logistic(
        classes=torch.from_numpy(classes),
        weight=torch.from_numpy(weight),
        bias=torch.from_numpy(fits[best][:, -1] - weight @ middle[:, 0]),
        c=float(cs[best]),
        accuracy=torch.from_numpy(accuracy),
    )


class _Problem(NamedTuple):
    """Some of the rows."""

    x: Array
    """Their codes, and ones [d, n]."""
    classes: Array
    """The classes that they have [k]."""
    hits: tuple[Array, Array]
    """Which of these each row has."""
    sums: Array
    """Codes added up over the rows of each [k, d]."""


def _problem(x: Array, member: Array) -> _Problem:
    classes, member = np.unique(member, return_inverse=True)
    sums = np.stack([np.bincount(member, code) for code in x], axis=1)
    return _Problem(x, classes, (member, np.arange(len(member))), sums)


def _probabilities(x: Array, w: Array) -> Iterator[tuple[Array, Array]]:
    """Rows that fit the caches [d, rows], and the probabilities of their classes [k, rows]."""
    for first in range(0, x.shape[1], ROWS):
        some = x[:, first : first + ROWS]
        yield some, torch.from_numpy(w @ some).softmax(0).numpy()


def _second(x: Array, w: Array) -> Array:
    r"""Second derivatives $\sum (p_k 1_{k = l} - p_k p_l) x x^T$, one triangle [k, d, k, d]."""
    from scipy.linalg.blas import dsyrk

    k, d = w.shape
    out, diagonal = np.zeros((k * d, k * d), order="F"), np.zeros((k, d * d))
    for some, p in _probabilities(x, w):
        weighted = (p[:, None] * some).reshape(k * d, -1)
        out = dsyrk(-1.0, weighted.T, beta=1.0, c=out, trans=1, overwrite_c=1)
        diagonal += p @ (some[:, None] * some).reshape(d * d, -1).T
    second: Array = out.reshape(k, d, k, d)
    second[range(k), :, range(k)] += diagonal.reshape(k, d, d)
    return second


def _minimum(problem: _Problem, w: Array, second: Array, penalty: Array) -> tuple[Array, int]:
    """Coefficients at the minimum [k, d], and the slopes it took to get there.

    It starts from some coefficients and second derivatives.
    """
    from scipy.linalg.lapack import dpotrf, dtrtrs

    def slope(v: Array) -> Array:
        w = dtrtrs(root, v)[0].reshape(penalty.shape)
        out = penalty * w - problem.sums
        for x, p in _probabilities(problem.x, w):
            out += p @ x.T
        whitened: Array = dtrtrs(root, out.ravel(), trans=1)[0]
        return whitened

    penalty, slopes = np.tile(penalty, (len(w), 1)), 0
    for _ in range(TRIES):
        curvature = second.reshape(w.size, w.size) + np.diag(penalty.ravel())
        # Of nearly constant codes the penalty is many orders above all else: each has its own unit.
        curvature.flat[:: w.size + 1] += FLOOR * (curvature.diagonal() + 1)
        root = dpotrf(curvature)[0]
        v, left, more = _descend(slope, root @ w.ravel())
        w, slopes = dtrtrs(root, v)[0].reshape(w.shape), slopes + more
        if np.abs(left).max() <= CLOSE:
            break
        second = _second(problem.x, w)
    # What all classes share changes no probability, and only adds to the penalty.
    w -= w.mean(0)
    return w, slopes


def _descend(slope: Callable[[Array], Array], v: Array) -> tuple[Array, Array, int]:
    """Follow the slopes of a convex function with second derivatives near 1.

    A step is too long where the slope along it has turned; it then ends where the straight line
    through the slopes at both ends is 0. No values are needed, whose differences would be rounding.

    Returns:
        A point, its slope, and how many slopes were taken.
    """
    now, slopes = slope(v), 1
    past: list[tuple[Array, Array, float]] = []
    for _ in range(PATIENCE):
        if np.abs(now).max() <= CLOSE:
            break
        step = -_newton(now, past)
        after, slopes = slope(v + step), slopes + 1
        while 0 < TURNED * (down := -(now @ step)) < (up := after @ step):
            step *= max(down / (down + up), SHORTEST)
            after, slopes = slope(v + step), slopes + 1
        v, now, change = v + step, after, after - now
        if (curved := float(change @ step)) > 0:
            past.append((step, change, curved))
    return v, now, slopes


def _newton(slope: Array, past: list[tuple[Array, Array, float]]) -> Array:
    """The slope divided by the second derivatives that past steps and changes of slope tell."""
    out, shares = slope.copy(), list[float]()
    for step, change, curved in reversed(past):
        shares.append(float(step @ out) / curved)
        out -= shares[-1] * change
    for (step, change, curved), share in zip(past, reversed(shares), strict=True):
        out += (share - change @ out / curved) * step
    return out
