"""Multinomial logistic regression whose penalty is chosen on rows left out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

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
