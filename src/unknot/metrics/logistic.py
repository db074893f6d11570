"""Logistic regression of classes on codes, with a penalty chosen by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

Array: TypeAlias = NDArray[Any]
FOLDS = 5
CLOSE = 1e-4
"""How far from the minimum a fit may end: in every direction, so many standard errors."""
PATIENCE, TRIES = 15, 20
"""Steps that are guided by the same second derivatives, and how often these are taken anew."""
FLOOR = 1e-12
"""Least second derivative, relative to their sum."""


@dataclass(frozen=True)
class Fitted:
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


def fit(codes: Float[Tensor, "n z"], level: Int[Tensor, " n"], *, cs: Sequence[float]) -> Fitted:
    r"""Fit a linear score for each class with the best of some penalties.

    $$\min_{w, b} \; -\sum_i \log p_{y_i}(x_i) + \frac{1}{2C} \sum_k |w_k|^2, \quad
      p_k(x) = \frac{\exp(w_k x + b_k)}{\sum_l \exp(w_l x + b_l)}$$
    with twice the penalty for two classes, as if these shared one vector. Each fifth of the rows,
    in their order, is left out once; the penalty with the largest sum of accuracies there, the
    first of several, is that of the fit to all rows. This is the model of scikit-learn's
    ``LogisticRegressionCV(cv=KFold(5))``.

    Steps are those of L-BFGS, in coordinates that make the second derivatives for all rows the
    identity: nearly Newton's, and few, for the folds too. Penalties start from one another.

    Paper: Liu & Nocedal 1989, "On the limited memory BFGS method for large scale optimization".
    Differs: scikit-learn stops far from the minimum, after 100 steps or by the size of a gradient
    that depends on the units of codes.

    Args:
        codes: Rows to learn from, on any scale.
        level: Their classes. One that only rows left out have is not fitted to the others.
        cs: Inverse penalties to choose from, best in rising order.
    """
    classes, member = (of.numpy() for of in level.cpu().unique(return_inverse=True))
    x = codes.double().cpu().T.numpy()
    # With penalties to match, other units are the same model; these do not overflow.
    middle = x.mean(1, keepdims=True)
    unit = np.abs(x - middle).max(1, keepdims=True)
    unit = np.where(unit > 0, unit, 1.0)
    x = np.concatenate([(x - middle) / unit, np.ones((1, x.shape[1]))])
    penalty = np.append(unit[:, 0] ** -2.0, 0) * (2 if len(classes) == 2 else 1)

    rows = np.arange(len(member))
    cuts = np.array_split(rows, min(FOLDS, len(rows)))
    whole = _problem(x, member)
    parts = [_problem(np.delete(x, cut, axis=1), np.delete(member, cut)) for cut in cuts]
    w, accuracy = np.zeros((len(classes), len(x))), np.empty((len(cuts), len(cs)))
    found, own, second = [], [w.copy() for _ in cuts], _second(x, w)
    for i, c in enumerate(cs):
        before, w = w, _minimum(whole, w, second, penalty / c)
        found.append(w)
        second = _second(x, w)
        for f, (part, cut) in enumerate(zip(parts, cuts, strict=True)):
            k = part.classes
            start = (own[f] + w - before)[k]
            own[f][k] = _minimum(part, start, second[k][:, :, k], penalty / c)
            accuracy[f, i] = np.mean(k[(own[f][k] @ x[:, cut]).argmax(0)] == member[cut])
    best = int(accuracy.sum(0).argmax())
    weight = found[best][:, :-1] / unit[:, 0]
    return Fitted(
        classes=torch.from_numpy(classes),
        weight=torch.from_numpy(weight),
        bias=torch.from_numpy(found[best][:, -1] - weight @ middle[:, 0]),
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
    sums = np.stack([np.bincount(member, of) for of in x], axis=1)
    return _Problem(x, classes, (member, np.arange(len(member))), sums)


def _probabilities(x: Array, w: Array) -> Array:
    p: Array = torch.from_numpy(w @ x).softmax(0).numpy()
    return p


def _second(x: Array, w: Array) -> Array:
    r"""Second derivatives $\sum (p_k 1_{k = l} - p_k p_l) x x^T$, one triangle [k, d, k, d]."""
    from scipy.linalg.blas import dsyrk

    p, (k, d) = _probabilities(x, w), w.shape
    out: Array = dsyrk(-1.0, (p[:, None] * x).reshape(k * d, -1).T, trans=1).reshape(k, d, k, d)
    out[range(k), :, range(k)] += (p @ (x[:, None] * x).reshape(d * d, -1).T).reshape(k, d, d)
    return out


def _minimum(of: _Problem, w: Array, second: Array, penalty: Array) -> Array:
    """Coefficients at the minimum [k, d], from some coefficients and second derivatives on."""
    from scipy.linalg.lapack import dpotrf, dtrtrs
    from scipy.optimize import minimize

    def loss(v: Array, root: Array) -> tuple[float, Array]:
        w = dtrtrs(root, v)[0].reshape(penalty.shape)
        p = _probabilities(of.x, w)
        slope = p @ of.x.T - of.sums + penalty * w
        value = (penalty * w * w).sum() / 2 - np.log(p[of.hits].clip(min=1e-300)).sum()
        return value, dtrtrs(root, slope.ravel(), trans=1)[0]

    penalty = np.tile(penalty, (len(w), 1))
    for _ in range(TRIES):
        curvature = second.reshape(w.size, w.size) + np.diag(penalty.ravel())
        curvature.flat[:: w.size + 1] += FLOOR * curvature.trace()
        root = dpotrf(curvature)[0]
        found = minimize(
            loss,
            root @ w.ravel(),
            (root,),
            jac=True,
            method="L-BFGS-B",
            options={"gtol": CLOSE, "ftol": 0, "maxiter": PATIENCE},
        )
        w = dtrtrs(root, found.x)[0].reshape(w.shape)
        if found.success:
            break
        second = _second(of.x, w)
    # What all classes share changes no probability, and only adds to the penalty.
    w -= w.mean(0)
    return w
