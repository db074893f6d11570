"""Gradient boosting for classes: the trees of scikit-learn's default, many at a time."""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from unknot.core import noise

Array: TypeAlias = NDArray[Any]
DEPTH, RATE = 3, 0.1
LEAVES = 2**DEPTH
BINS, IN_BIN = 256, 16
"""At most so many bins, and about so many rows in each where rows are few: a matter of speed."""
AT_ONCE = 2**17
"""Bins of all codes and trees that are worked on at a time: what fits the caches."""
SAME = 1e-7
"""Values of a code that are closer than this count as one, as they do in scikit-learn."""
FLAT = 1e-12
"""A split that lowers the mean squared residual by no more than this is rounding."""
ROUGH = 1e-5
"""Bounds are in single precision."""


@dataclass(frozen=True)
class Boosted:
    """The result of boosting: how much each code serves, and the class predicted for each row."""

    importance: Float[Tensor, " z"]
    """Shares of the squared residuals explained; all 0 where nothing could be split."""
    train: Int[Tensor, " n"]
    test: Int[Tensor, " m"]


def boost(
    codes: Float[Tensor, "n z"],
    level: Int[Tensor, " n"],
    test: Float[Tensor, "m z"],
    *,
    rounds: int = 100,
    single: bool = False,
    seed: int = 0,
) -> Boosted:
    r"""Boost trees of depth 3 that predict a class, as scikit-learn's classifier does by default.

    From the logarithms of the class frequencies on, each round fits one regression tree per class
    to the residuals $r = y - p$ by least squares, and adds a tenth of one Newton step
    $\frac{K-1}{K} \sum r / \sum |r| (1 - |r|)$ in each leaf; two classes share one tree. The
    importance of a code is the decrease of the squared residuals by its splits.

    The split is the best between any two values of any code, but few are tried. Codes are sorted
    once and cut into bins of equal mass; sums over the bins of a node, for all nodes of a level and
    all trees of a round together, give the decrease at the ends of the bins and a bound for splits
    inside. Only bins whose bound exceeds the best end are looked into. Sums are taken over the rows
    of the smaller child; the larger one is its parent less that.

    Paper: Friedman 2001, "Greedy function approximation: a gradient boosting machine", algorithm 6.
    Differs: where splits are equally good, the code is drawn from ``seed``; scikit-learn does so
    too, with other numbers. A node that no split improves is a leaf.

    Args:
        codes: Rows to learn from; compared in single precision, as scikit-learn does.
        level: Their classes.
        test: Further rows to predict.
        rounds: Trees for each class.
        single: Residuals in single precision. Splits that are equal to six digits then count as
            equal; else to ten.
        seed: Random seed for choices between equal splits.
    """
    bins = min(BINS, max(1, len(codes) // IN_BIN))
    order = _sort(codes.float().T.numpy(), bins=bins, single=single)
    width = max(1, AT_ONCE // order.several.size)
    points = test.float().T.contiguous().numpy()
    classes, member = level.unique(return_inverse=True)
    hit = (member == torch.arange(len(classes))[:, None]).numpy()
    start, share = np.log(hit.mean(1)), (len(classes) - 1) / len(classes)
    if two := len(classes) == 2:
        hit, start, share = hit[1:], start[1:] - start[:1], 1.0
    hits, k, z = np.nonzero(hit), len(hit), len(points)
    scores, test_scores = (
        np.repeat(start[:, None], table.shape[1], axis=1).astype(order.dtype)
        for table in (order.ranks, points)
    )
    importance = np.zeros(z)
    at_once = min(rounds, max(1, AT_ONCE // (k * LEAVES * z)))
    for step in range(rounds):
        if step % at_once == 0:
            steps = torch.arange(step, step + at_once)
            ties = noise.uniform(seed, "metric/ties", steps, k, LEAVES - 1, z).numpy()
        now = torch.from_numpy(scores)
        residuals = -(now.sigmoid() if two else now.softmax(0)).numpy()
        residuals[hits] += 1
        for first in range(0, k, width):
            batch = slice(first, first + width)
            r = residuals[batch]
            trees = _grow(order, r, ties[step % at_once, batch], importance)
            weight = np.abs(r)
            weight -= weight * weight
            above, below = (
                np.bincount(trees.leaf.ravel(), table.ravel(), minlength=LEAVES * len(r))
                for table in (r, weight)
            )
            value = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
            value = (RATE * share * value).astype(r.dtype)
            scores[batch] += value.take(trees.leaf)
            test_scores[batch] += value.take(_leaves(trees, points))
    predicted = (
        classes[torch.from_numpy((table[0] > 0).astype(int) if two else table.argmax(0))]
        for table in (scores, test_scores)
    )
    return Boosted(torch.from_numpy(importance / max(importance.sum(), 1e-300)), *predicted)


@dataclass(frozen=True)
class _Sorted:
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


def _sort(points: Array, *, bins: int, single: bool) -> _Sorted:
    """Sort codes [z, n], and cut them into at most so many bins of about as many rows."""
    from scipy.sparse import csr_array

    (z, n), dtype = points.shape, np.float32 if single else np.float64
    code = np.arange(z)[:, None]
    rows = points.argsort(axis=1, kind="stable")
    points = points[code, rows]
    number = np.zeros((z, n), dtype=np.int64)
    number[:, 1:] = (points[:, 1:] > points[:, :-1] + np.float32(SAME)).cumsum(1)
    bin_ = number.copy()
    for j in range(z):
        if number[j, -1] >= bins:
            counts = np.bincount(number[j])
            middle = (counts.cumsum() - counts / 2) * bins / n
            bin_[j] = np.unique(middle.astype(int), return_inverse=True)[1][number[j]]
    b = int(bin_.max()) + 1
    ends = np.stack([np.searchsorted(bins_of_code, np.arange(b + 1)) for bins_of_code in bin_])
    number += 1
    ranks = np.empty((z, n), dtype=np.int16 if n + 1 < 2**15 else np.int32)
    ranks[code, rows] = number
    values = np.zeros((z, n + 2), dtype=points.dtype)
    values[code, number[:, ::-1]] = points[:, ::-1]
    bin_of_row = np.empty((n, z), dtype=np.int64)
    bin_of_row[rows, code] = bin_ + b * code
    last = number[code, ends - 1]
    starts = np.append((ends[:, :-1] + n * code).ravel(), z * n).astype(np.int32)
    ones, columns = np.ones(z * n, dtype=dtype), rows.ravel().astype(np.int32)
    return _Sorted(
        rows=rows,
        number=number,
        free=np.diff(number, append=number[:, -1:]) > 0,
        ranks=ranks,
        values=values,
        ends=ends,
        last=last,
        several=last[:, 1:] > number[code, ends[:, :-1].clip(max=n - 1)],
        bins=bin_of_row,
        matrix=csr_array((ones, columns, starts), shape=(z * b, n)),
        dtype=dtype,
    )


class _Sums(NamedTuple):
    """What is added up over the rows of q nodes: those of a level, for each the k trees."""

    residuals: Array
    """Up to each end of a bin [q, z, b + 1]."""
    rows: Array
    """Likewise; at the root, where all trees have the same, [1, z, b + 1]."""
    positive: Array
    """Positive residuals in each bin; bounds may be rough [q, z, b]."""
    square: Array
    """Squared residuals [q]."""


class _Split(NamedTuple):
    """The best split of the nodes of a level [nodes, k]."""

    code: Array
    top: Array
    """Number of the last value on the left."""
    right: Array
    """Whether fewer rows are on the right."""
    decrease: Array
    """Of the squared residuals; 0 where a node is not split."""


def _root_sums(codes: _Sorted, r: Array) -> _Sums:
    """Sums of the residuals of each tree [k, n] over all rows."""
    (z, b), (k, n) = codes.several.shape, r.shape
    up = np.flatnonzero(r > 0)
    keys = _keys(codes, *np.divmod(up, n))
    return _Sums(
        residuals=_cumulated((codes.matrix @ r.T).T.reshape(k, z, b)),
        rows=codes.ends[None].astype(np.float64),
        positive=_binned(codes, keys, k, r.take(up)).astype(np.float32),
        square=np.einsum("kn,kn->k", r, r, dtype=np.float64),
    )


def _child_sums(codes: _Sorted, parent: _Sums, r: Array, node: Array, small: Array) -> _Sums:
    """Sums over the smaller children of all nodes, then over the larger ones."""
    where, q = np.flatnonzero(small), len(parent.square)
    tree, row = np.divmod(where, r.shape[1])
    target, value = (
        node.take(where).astype(np.int64) * len(r) + tree,
        r.take(where).astype(np.float64),
    )
    keys, up = _keys(codes, target, row), np.flatnonzero(value > 0)
    fewer = _Sums(
        residuals=_cumulated(_binned(codes, keys, q, value)),
        rows=_cumulated(_binned(codes, keys, q)),
        positive=_binned(codes, keys.take(up, axis=0), q, value[up]).astype(np.float32),
        # Of no rows the sums would be integers.
        square=np.bincount(target, value * value, minlength=q).astype(np.float64),
    )
    both = _Sums(*(np.empty((2 * q, *f.shape[1:]), dtype=f.dtype) for f in fewer))
    for out, f, p in zip(both, fewer, parent, strict=True):
        out[:q] = f
        np.subtract(p, f, out=out[q:])
    return both


def _best_splits(codes: _Sorted, sums: _Sums, r: Array, node: Array, ties: Array) -> _Split:
    r"""The best split of each node.

    With $u$ the sum of the centred residuals of the $c$ rows on the left, the squared residuals of
    $n$ rows decrease by $n u^2 / c (n - c)$. Inside a bin, $u$ rises above its start, or falls
    below its end, by at most the positive terms in the bin.
    """
    n, code_numbers = sums.rows[:, :1, -1:], np.arange(ties.shape[-1])
    mean = sums.residuals[:, :1, -1:] / np.maximum(n, 1)
    u, weight = sums.rows * mean, _weight(sums.rows, n)
    np.subtract(sums.residuals, u, out=u)
    gains = u * u
    gains /= weight
    place = gains.argmax(-1)
    gain = np.take_along_axis(gains, place[..., None], -1)[..., 0]
    top, left = (
        codes.last[code_numbers, place],
        sums.rows[np.arange(len(n))[:, None], code_numbers, place],
    )
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
    top, left = (array[np.arange(len(code)), code] for array in (top, left))
    right = (decrease == 0) | (2 * left >= n[:, 0, 0])
    return _Split(*(array.reshape(level) for array in (code, top, right, decrease)))


def _inner(
    codes: _Sorted, sums: _Sums, r: Array, node: Array, where: Array
) -> tuple[Array, Array, Array]:
    """The best split inside each of some bins: gain, number of the last value left, rows left."""
    (z, b), (k, n) = codes.several.shape, r.shape
    q, code, bin_ = np.unravel_index(where, (len(sums.square), z, b))
    (nodes, tree), node_rows = np.divmod(q, k), q % len(sums.rows)
    first, length = codes.ends[code, bin_], np.diff(codes.ends)[code, bin_][:, None]
    step = np.arange(length.max())
    position = (code * n + first)[:, None] + step
    np.minimum(position, z * n - 1, out=position)
    entry = codes.rows.take(position)
    entry += (tree * n)[:, None]
    inside = node.take(entry) == nodes.astype(np.uint8)[:, None]
    inside &= step < length
    value = r.take(entry)
    value *= inside
    u, rows = (torch.from_numpy(a).cumsum(1, dtype=torch.float64).numpy() for a in (value, inside))
    u += sums.residuals[q, code, bin_][:, None]
    rows += sums.rows[node_rows, code, bin_][:, None]
    count = sums.rows[node_rows, 0, -1:]
    u -= rows * (sums.residuals[q, 0, -1:] / count)
    gain = u * u
    gain /= _weight(rows, count)
    gain *= codes.free.take(position) & (step < length)
    place = np.arange(len(q)), gain.argmax(1)
    return gain[place], codes.number.take(position[place]), rows[place]


def _weight(rows: Array, n: Array) -> Array:
    """Rows on the left times rows on the right; where a side is empty as if it had one row."""
    weight: Array = n - rows
    weight *= rows
    np.maximum(weight, np.maximum(n - 1, 1), out=weight)
    return weight


def _keys(codes: _Sorted, node: Array, row: Array) -> Array:
    """The bins of rows of nodes, counted through all nodes [rows, z]."""
    keys: Array = codes.bins.take(row, axis=0)
    keys += (node * codes.several.size)[:, None]
    return keys


def _binned(codes: _Sorted, keys: Array, q: int, values: Array | None = None) -> Array:
    """Sums of the values of rows, or their number, in each bin of q nodes [q, z, b]."""
    weights = None if values is None else np.repeat(values, keys.shape[1])
    sums = np.bincount(keys.ravel(), weights, minlength=q * codes.several.size)
    return sums.reshape(q, *codes.several.shape)


def _cumulated(bins: Array) -> Array:
    """Sums up to each end of a bin; torch is four times as fast at it."""
    out = torch.zeros(*bins.shape[:-1], bins.shape[-1] + 1, dtype=torch.float64)
    torch.cumsum(torch.from_numpy(bins), -1, dtype=torch.float64, out=out[..., 1:])
    return out.numpy()


class _Trees(NamedTuple):
    """One tree for each row of residuals."""

    code: Array
    """What is compared in each node, from the root on and from left to right [nodes, k]."""
    cut: Array
    """Larger values go right."""
    leaf: Array
    """The leaf of each row, counted through all trees [k, n]."""


def _grow(order: _Sorted, r: Array, ties: Array, importance: Array) -> _Trees:
    tree, node = np.arange(len(r)), np.zeros(r.shape, dtype=np.uint8)
    # Nodes of a level are numbered with smaller children first: where do they stand from the left?
    place = np.zeros((1, len(r)), dtype=np.int64)
    code = np.zeros((LEAVES - 1, len(r)), dtype=np.int64)
    cut = np.full(code.shape, np.inf, dtype=np.float32)
    sums = _root_sums(order, r)
    for depth in range(DEPTH):
        node_number = 2**depth - 1 + place
        split = _best_splits(order, sums, r, node, ties[tree, node_number])
        importance += np.bincount(split.code.ravel(), split.decrease.ravel(), len(importance))
        if not split.decrease.any():
            place *= 2 ** (DEPTH - depth)
            break
        code[node_number, tree] = split.code
        cut[node_number, tree], small = _part(order, split, node)
        if depth + 1 < DEPTH:
            sums = _child_sums(order, sums, r, node, small)
        node += np.uint8(2**depth) * ~small
        place = np.concatenate([2 * place + split.right, 2 * place + ~split.right])
    leaf = (place * len(r) + tree).take(_node_numbers(node))
    return _Trees(code, cut, leaf)


def _node_numbers(node: Array) -> Array:
    """Numbers of nodes that count through all trees [k, n]."""
    out = node.astype(np.int64)
    out *= len(node)
    out += np.arange(len(node))[:, None]
    return out


def _leaves(trees: _Trees, points: Array) -> Array:
    """The leaf of each point, counted through all trees [k, m]."""
    splits = zip(trees.code, trees.cut, strict=True)
    right = [points.take(code, axis=0) > cut[:, None] for code, cut in splits]
    leaf = np.zeros(right[0].shape, dtype=np.uint8)
    turns: list[Array] = []
    for depth in range(DEPTH):
        ways = right[2**depth - 1 : 2 ** (depth + 1) - 1]
        for turn in turns:
            half = len(ways) // 2
            # The second half where a point has turned right; bits are faster than np.where.
            ways = [a ^ ((a ^ b) & turn) for a, b in zip(ways[:half], ways[half:], strict=True)]
        turns += ways
        leaf = 2 * leaf + ways[0]
    return _node_numbers(leaf)


def _part(order: _Sorted, split: _Split, node: Array) -> tuple[Array, Array]:
    """Where the nodes of a level are cut [nodes, k], and the rows of their smaller children [k, n].

    A cut is the middle between the values that a node's rows have on both sides of it.
    """
    most = order.ranks.dtype.type(node.shape[1] + 1)
    cut, small = np.empty(split.code.shape, dtype=np.float32), np.zeros(node.shape, dtype=bool)
    for i, (code, top, right, decrease) in enumerate(zip(*split, strict=True)):
        rank, inside = order.ranks.take(code, axis=0), node == i
        beyond = rank > np.where(decrease > 0, top, most).astype(rank.dtype)[:, None]
        beyond &= inside
        small |= beyond
        small[~right] ^= inside[~right]
        low = (rank * (inside ^ beyond)).max(1)
        high = most - ((most - rank) * beyond).max(1)
        low, high = order.values[code, low], order.values[code, high]
        middle = low / 2 + high / 2
        cut[i] = np.where(middle < high, middle, low)
    return np.where(split.decrease > 0, cut, np.inf), small
