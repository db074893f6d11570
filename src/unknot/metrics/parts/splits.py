"""The best split of every node of a level, for many regression trees on the same codes."""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
SAME = 1e-7
"""Values of a code that are closer than this count as one, as they do in scikit-learn."""
FLAT = 1e-12
"""A split that lowers the mean squared residual by less is rounding."""
ROUGH = 1e-5
"""Bounds are in single precision."""


@dataclass(frozen=True)
class Sorted:
    """Codes sorted once."""

    rows: Array
    """The rows in the order of each code [z, n]."""
    number: Array
    """Which different value each of these has, from 1 on [z, n]."""
    free: Array
    """Whether the next one has another value [z, n]."""
    ranks: Array
    """The numbers of the rows as given [z, n]."""
    values: Array
    """The values by their numbers [z, n + 2]."""
    ends: Array
    """How many rows lie up to the end of each bin, from 0 on [z, b + 1]."""
    last: Array
    """The number of the last value up to there [z, b + 1]."""
    several: Array
    """Whether a bin has more than one value [z, b]."""
    bins: Array
    """The bins of each row, counted through all codes [n, z]."""
    matrix: Any
    """Which rows are in which bin, sparse [z b, n]."""
    dtype: type[np.floating[Any]]
    """Of the residuals."""

    @property
    def equal(self) -> float:
        """How near two decreases are that count as equal."""
        return 1e-6 if self.dtype == np.float32 else 1e-10


def sort(points: Array, *, bins: int, single: bool) -> Sorted:
    """Sort codes [z, n], and cut them into at most so many bins of about as many rows."""
    from scipy.sparse import csr_array

    (z, n), dtype = points.shape, np.float32 if single else np.float64
    each = np.arange(z)[:, None]
    rows = points.argsort(axis=1, kind="stable")
    points = points[each, rows]
    number = np.zeros((z, n), dtype=np.int64)
    number[:, 1:] = (points[:, 1:] > points[:, :-1] + np.float32(SAME)).cumsum(1)
    bin_ = number.copy()
    for j in range(z):
        if number[j, -1] >= bins:
            counts = np.bincount(number[j])
            middle = (counts.cumsum() - counts / 2) * bins / n
            bin_[j] = np.unique(middle.astype(int), return_inverse=True)[1][number[j]]
    b = int(bin_.max()) + 1
    ends = np.stack([np.searchsorted(of, np.arange(b + 1)) for of in bin_])
    number += 1
    ranks = np.empty((z, n), dtype=np.int16 if n + 1 < 2**15 else np.int32)
    ranks[each, rows] = number
    values = np.zeros((z, n + 2), dtype=points.dtype)
    values[each, number[:, ::-1]] = points[:, ::-1]
    own = np.empty((n, z), dtype=np.int64)
    own[rows, each] = bin_ + b * each
    last = number[each, ends - 1]
    starts = np.append((ends[:, :-1] + n * each).ravel(), z * n).astype(np.int32)
    ones, columns = np.ones(z * n, dtype=dtype), rows.ravel().astype(np.int32)
    return Sorted(
        rows=rows,
        number=number,
        free=np.diff(number, append=number[:, -1:]) > 0,
        ranks=ranks,
        values=values,
        ends=ends,
        last=last,
        several=last[:, 1:] > number[each, ends[:, :-1].clip(max=n - 1)],
        bins=own,
        matrix=csr_array((ones, columns, starts), shape=(z * b, n)),
        dtype=dtype,
    )


class Sums(NamedTuple):
    """What is added up over the rows of q nodes: those of a level, for each the k trees."""

    residuals: Array
    """Up to each end of a bin [q, z, b + 1]."""
    rows: Array
    """Likewise; at the root, where all trees have the same, [1, z, b + 1]."""
    positive: Array
    """Positive residuals in each bin; bounds may be rough [q, z, b]."""
    square: Array
    """Squared residuals [q]."""


class Split(NamedTuple):
    """The best split of the nodes of a level [nodes, k]."""

    code: Array
    top: Array
    """Number of the last value on the left."""
    right: Array
    """Whether fewer rows are on the right."""
    decrease: Array
    """Of the squared residuals; 0 where a node is not split."""


def root(codes: Sorted, r: Array) -> Sums:
    """Sums of the residuals of each tree [k, n] over all rows."""
    (z, b), (k, n) = codes.several.shape, r.shape
    up = np.flatnonzero(r > 0)
    keys = _keys(codes, *np.divmod(up, n))
    return Sums(
        residuals=_cumulated((codes.matrix @ r.T).T.reshape(k, z, b)),
        rows=codes.ends[None].astype(np.float64),
        positive=_binned(codes, keys, k, r.take(up)).astype(np.float32),
        square=np.einsum("kn,kn->k", r, r, dtype=np.float64),
    )


def children(codes: Sorted, parent: Sums, r: Array, node: Array, small: Array) -> Sums:
    """Sums over the smaller children of all nodes, then over the larger ones."""
    where, q = np.flatnonzero(small), len(parent.square)
    tree, row = np.divmod(where, r.shape[1])
    at, value = node.take(where).astype(np.int64) * len(r) + tree, r.take(where).astype(np.float64)
    keys, up = _keys(codes, at, row), np.flatnonzero(value > 0)
    fewer = Sums(
        residuals=_cumulated(_binned(codes, keys, q, value)),
        rows=_cumulated(_binned(codes, keys, q)),
        positive=_binned(codes, keys.take(up, axis=0), q, value[up]).astype(np.float32),
        # Of no rows the sums would be integers.
        square=np.bincount(at, value * value, minlength=q).astype(np.float64),
    )
    both = Sums(*(np.empty((2 * q, *f.shape[1:]), dtype=f.dtype) for f in fewer))
    for out, f, p in zip(both, fewer, parent, strict=True):
        out[:q] = f
        np.subtract(p, f, out=out[q:])
    return both


def best(codes: Sorted, sums: Sums, r: Array, node: Array, ties: Array) -> Split:
    r"""The best split of each node.

    With $u$ the sum of the centred residuals of the $c$ rows on the left, the squared residuals of
    $n$ rows decrease by $n u^2 / c (n - c)$. Inside a bin, $u$ rises above its start, or falls
    below its end, by at most the positive terms in the bin.
    """
    n, each = sums.rows[:, :1, -1:], np.arange(ties.shape[-1])
    mean = sums.residuals[:, :1, -1:] / np.maximum(n, 1)
    u, weight = sums.rows * mean, _weight(sums.rows, n)
    np.subtract(sums.residuals, u, out=u)
    gains = u * u
    gains /= weight
    at = gains.argmax(-1)
    gain = np.take_along_axis(gains, at[..., None], -1)[..., 0]
    top, left = codes.last[each, at], sums.rows[np.arange(len(n))[:, None], each, at]
    square = sums.square / np.maximum(n[:, 0, 0], 1)
    mixed = square * (1 - codes.equal) - mean[:, 0, 0] ** 2 > FLAT

    u, count = u.astype(np.float32), np.diff(sums.rows.astype(np.float32))
    bound = np.maximum(u[..., :-1], -u[..., 1:])
    bound += sums.positive
    bound += count * np.maximum(-mean, 0).astype(np.float32)
    bound *= bound
    least = np.minimum(weight[..., :-1], weight[..., 1:]).astype(np.float32)
    worth = np.where(mixed, gain.max(1) * (1 - ROUGH), np.inf).astype(np.float32)
    look = bound >= least * worth[:, None, None]
    look &= codes.several
    look &= count > 1
    if len(where := np.flatnonzero(look)):
        code_of = where // look.shape[-1]
        inner, number, below = _inner(codes, sums, r, node, where)
        np.maximum.at(gain.reshape(-1), code_of, inner)
        won = inner >= gain.take(code_of)
        top.reshape(-1)[code_of[won]] = number[won]
        left.reshape(-1)[code_of[won]] = below[won]

    largest, level = gain.max(1), ties.shape[:2]
    equal = gain >= largest[:, None] * (1 - codes.equal)
    code = (equal * ties.reshape(gain.shape)).argmax(1)
    decrease = np.where(mixed & (largest > FLAT), largest * n[:, 0, 0], 0.0)
    top, left = (of[np.arange(len(code)), code] for of in (top, left))
    right = (decrease == 0) | (2 * left >= n[:, 0, 0])
    return Split(*(of.reshape(level) for of in (code, top, right, decrease)))


def _inner(
    codes: Sorted, sums: Sums, r: Array, node: Array, where: Array
) -> tuple[Array, Array, Array]:
    """The best split inside each of some bins: gain, number of the last value left, rows left."""
    (z, b), (k, n) = codes.several.shape, r.shape
    q, code, bin_ = np.unravel_index(where, (len(sums.square), z, b))
    (nodes, tree), of = np.divmod(q, k), q % len(sums.rows)
    first, length = codes.ends[code, bin_], np.diff(codes.ends)[code, bin_][:, None]
    step = np.arange(length.max())
    at = (code * n + first)[:, None] + step
    np.minimum(at, z * n - 1, out=at)
    cell = codes.rows.take(at)
    cell += (tree * n)[:, None]
    inside = node.take(cell) == nodes.astype(np.uint8)[:, None]
    inside &= step < length
    value = r.take(cell)
    value *= inside
    u, rows = (torch.from_numpy(a).cumsum(1, dtype=torch.float64).numpy() for a in (value, inside))
    u += sums.residuals[q, code, bin_][:, None]
    rows += sums.rows[of, code, bin_][:, None]
    count = sums.rows[of, 0, -1:]
    u -= rows * (sums.residuals[q, 0, -1:] / count)
    gain = u * u
    gain /= _weight(rows, count)
    gain *= codes.free.take(at) & (step < length)
    place = np.arange(len(q)), gain.argmax(1)
    return gain[place], codes.number.take(at[place]), rows[place]


def _weight(rows: Array, n: Array) -> Array:
    """Rows on the left times rows on the right; where a side is empty as if it had one row."""
    weight: Array = n - rows
    weight *= rows
    np.maximum(weight, np.maximum(n - 1, 1), out=weight)
    return weight


def _keys(codes: Sorted, at: Array, row: Array) -> Array:
    """The bins of rows of nodes, counted through all nodes [rows, z]."""
    keys: Array = codes.bins.take(row, axis=0)
    keys += (at * codes.several.size)[:, None]
    return keys


def _binned(codes: Sorted, keys: Array, q: int, values: Array | None = None) -> Array:
    """Sums of the values of rows, or their number, in each bin of q nodes [q, z, b]."""
    weights = None if values is None else np.repeat(values, keys.shape[1])
    sums = np.bincount(keys.ravel(), weights, minlength=q * codes.several.size)
    return sums.reshape(q, *codes.several.shape)


def _cumulated(bins: Array) -> Array:
    """Sums up to each end of a bin; torch is four times as fast at it."""
    out = torch.zeros(*bins.shape[:-1], bins.shape[-1] + 1, dtype=torch.float64)
    torch.cumsum(torch.from_numpy(bins), -1, dtype=torch.float64, out=out[..., 1:])
    return out.numpy()
