"""Gradient boosting for classes: the trees of scikit-learn's default, many at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise

DEPTH, RATE = 3, 0.1
SAME = 1e-7
"""Values of a code that are closer than this count as one, as they do in scikit-learn."""
FLAT = 1e-12
"""A split that lowers the mean squared residual by less is rounding."""
BINS, IN_BIN = 256, 16
"""At most so many bins, and about so many rows in each where rows are few: a matter of speed."""
ROUGH = 1e-5
"""Bounds come from sums in single precision."""
CELLS = 2**17
"""Bins of all codes and trees that are worked on at a time: what fits the caches."""


@dataclass(frozen=True)
class Boosted:
    """What boosting found: how much each code serves, and the class predicted for each row."""

    importance: Float[Tensor, " z"]
    """Shares of the squared residuals explained; all 0 where nothing could be split."""
    train: Int[Tensor, " n"]
    held: Int[Tensor, " m"]


def boost(
    codes: Float[Tensor, "n z"],
    level: Int[Tensor, " n"],
    held: Float[Tensor, "m z"],
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
    once and cut into bins of equal mass; sums over the bins of a node, for all trees of a round
    together, give the decrease at the ends of the bins and a bound for splits inside. Only bins
    whose bound exceeds the best end are looked into. A right child is its parent less the left one.

    Paper: Friedman 2001, "Greedy function approximation: a gradient boosting machine", algorithm 6.
    Differs: where splits are equally good, the code is drawn from ``seed``; scikit-learn does so
    too, with other numbers. A node that no split improves is a leaf.

    Args:
        codes: Rows to learn from; compared in single precision, as scikit-learn does.
        level: Their classes.
        held: Further rows to predict.
        rounds: Trees for each class.
        single: Residuals in single precision. Splits that are equal to six digits then count as
            equal; else to ten.
        seed: Of the draws between equal splits.
    """
    n = len(codes)
    points = torch.cat([codes, held]).float().T.contiguous()
    search = _search(points[:, :n], single)
    classes, member = level.unique(return_inverse=True)
    hit = member == torch.arange(len(classes))[:, None]
    scores, share = hit.double().mean(1).log(), (len(classes) - 1) / len(classes)
    if two := len(classes) == 2:
        hit, scores, share = hit[1:], scores[1:] - scores[:1], 1.0
    scores = scores[:, None].repeat(1, points.shape[1]).to(search.dtype)
    importance = torch.zeros(len(points), dtype=torch.float64)
    for step in range(rounds):
        now = scores[:, :n]
        residuals = hit.to(now) - (now.sigmoid() if two else now.softmax(0))
        ties = noise.uniform(seed, "metric/ties", step, len(hit), 2**DEPTH - 1, len(points))
        for first in range(0, len(hit), search.width):
            trees = slice(first, first + search.width)
            r = residuals[trees]
            leaf = _grow(search, points, r, ties[trees], importance)
            weight = r.abs()
            above, below = (
                r.new_zeros(len(r), 2**DEPTH).scatter_add_(1, leaf[:, :n], v)
                for v in (r, weight * (1 - weight))
            )
            value = torch.where(below > 0, share * above / below, 0.0)
            scores[trees] += RATE * value.gather(1, leaf)
    found = classes[(scores[0] > 0).long() if two else scores.argmax(0)]
    return Boosted(importance / importance.sum().clamp_min(1e-300), found[:n], found[n:])


@dataclass(frozen=True)
class _Search:
    """Codes sorted once."""

    values: Tensor
    """Each code in order [z, n]."""
    rows: Tensor
    """Where these values come from [z, n]."""
    number: Tensor
    """Which different value it is, from 1 on [z, n]."""
    ranks: Tensor
    """The same for the rows as given [z, n]."""
    ends: Tensor
    """How many rows lie up to the end of each bin, from 0 on [z, b + 1]."""
    several: Tensor
    """Whether a bin has more than one value [z, b]."""
    matrix: Any
    """Which rows are in which bin, sparse [z b, n]."""
    width: int
    """Trees at a time."""
    dtype: torch.dtype

    @property
    def equal(self) -> float:
        """How near two decreases are that count as equal."""
        return 1e-6 if self.dtype == torch.float32 else 1e-10


def _search(points: Tensor, single: bool) -> _Search:
    from scipy.sparse import csr_array

    z, n = points.shape
    values, rows = points.sort(dim=1, stable=True)
    number = F.pad((values[:, 1:] > values[:, :-1] + SAME).cumsum(1), (1, 0))
    bins, bin_ = min(BINS, max(1, n // IN_BIN)), number.clone()
    for j in range(z):
        if number[j, -1] >= bins:
            counts = number[j].bincount()
            middle = (counts.cumsum(0) - counts / 2) * bins / n
            bin_[j] = middle.long().unique(return_inverse=True)[1][number[j]]
    b = int(bin_.max()) + 1
    ends = F.pad(torch.searchsorted(bin_, torch.arange(b).repeat(z, 1), right=True), (1, 0))
    first, last = ends[:, :-1].clamp_max(n - 1), ends[:, 1:] - 1
    starts = (ends[:, :-1] + n * torch.arange(z)[:, None]).flatten()
    ones, bounds = np.ones(z * n), F.pad(starts, (0, 1), value=z * n).int()
    return _Search(
        values=values,
        rows=rows,
        number=number + 1,
        ranks=torch.empty_like(values).scatter_(1, rows, number + 1.0),
        ends=ends,
        several=number.gather(1, last) > number.gather(1, first),
        matrix=csr_array((ones, rows.flatten().int().numpy(), bounds.numpy()), shape=(z * b, n)),
        width=max(1, CELLS // (z * b)),
        dtype=torch.float32 if single else torch.float64,
    )


def _grow(
    search: _Search, points: Tensor, residuals: Tensor, ties: Tensor, importance: Tensor
) -> Tensor:
    """Grow one tree for each row of residuals; the leaf of each point in each tree [k, n + m]."""
    k, n = residuals.shape
    leaf = torch.zeros(k, points.shape[1], dtype=torch.uint8)

    def split(sums: Tensor, inside: Tensor, r: Tensor, depth: int, node: int) -> None:
        within = inside[:, :n]
        code, top, decrease = _best(search, sums, r, within, ties[:, node])
        importance.index_add_(0, code, decrease)
        if not bool((decrease > 0).any()):
            return
        cut = _cut(search, code, top, within)
        cut = torch.where(decrease > 0, cut, torch.inf)
        right = (points.index_select(0, code) > cut[:, None]) & inside
        leaf.add_(right, alpha=2 ** (DEPTH - 1 - depth))
        if depth + 1 < DEPTH:
            left = inside ^ right
            r_left = r * left[:, :n]
            fewer = _sums(search, r_left, left[:, :n])
            split(fewer, left, r_left, depth + 1, 2 * node + 1)
            split(sums - fewer, right, r - r_left, depth + 1, 2 * node + 2)

    inside = torch.ones_like(leaf, dtype=torch.bool)
    split(_sums(search, residuals, inside[:, :n]), inside, residuals, 0, 0)
    return leaf.long()


def _cut(search: _Search, code: Tensor, top: Tensor, inside: Tensor) -> Tensor:
    """The middle between the values that a node's rows have on both sides of a value's number."""
    ranks, most = search.ranks.index_select(0, code), search.values.shape[1] + 1
    left = (ranks <= top[:, None]) & inside
    low = (ranks * left).amax(1).long()
    high = most - ((most - ranks) * (inside ^ left)).amax(1).long()
    first = torch.searchsorted(search.number[code], torch.stack([low, high], 1))
    low, high = search.values[code[:, None], first.clamp_max(most - 2)].T
    middle = low / 2 + high / 2
    return torch.where(middle < high, middle, low)


def _sums(search: _Search, r: Tensor, inside: Tensor) -> Tensor:
    """Residuals, rows and positive residuals up to each end of a bin, in a node [3, k, z, b + 1].

    Numbers of rows are exact and bounds may be rough, so only residuals need full precision.
    """
    (z, b), k = search.several.shape, len(r)
    table = r.T.contiguous()
    rough = torch.cat([inside.T, table.clamp_min(0)], 1).float()
    out = torch.zeros(3, k, z, b + 1, dtype=torch.float64)
    members = torch.from_numpy(search.matrix.indices)
    offsets = torch.from_numpy(search.matrix.indptr[:-1])
    for part, of in ((out[:1], table), (out[1:], rough)):
        if of.dtype == torch.float32:
            total = F.embedding_bag(members, of, offsets, mode="sum")
        else:
            total = torch.from_numpy(search.matrix @ of.numpy())
        part[..., 1:] = total.T.view(-1, k, z, b)
    return out.cumsum_(-1)


def _best(
    search: _Search, sums: Tensor, r: Tensor, inside: Tensor, ties: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    r"""The best split of a node of each tree: code, number of the last value left, decrease.

    With $u$ the sum of the centred residuals of the $c$ rows on the left, the squared residuals of
    $n$ rows decrease by $n u^2 / c (n - c)$. Inside a bin, $u$ rises above its start, or falls
    below its end, by at most the positive terms in the bin.
    """
    residuals, rows, positive = sums
    each, n = torch.arange(len(search.values)), rows[:, :1, -1:]
    mean = residuals[:, :1, -1:] / n.clamp_min(1)
    u, weight = residuals - rows * mean, _weight(rows, n)
    gain, at = (u.square() / weight).max(-1)
    top = search.number[each, search.ends[each, at] - 1]
    square = r.square().sum(1, keepdim=True, dtype=torch.float64) / n[:, 0].clamp_min(1)
    mixed = square * (1 - search.equal) - mean[:, 0].square() > FLAT

    count = rows.diff()
    rise = positive.diff() + count * (-mean).clamp_min(0)
    bound = torch.maximum(u[..., :-1] + rise, rise - u[..., 1:]).square_()
    bound /= torch.minimum(weight[..., :-1], weight[..., 1:])
    look = bound * (1 + ROUGH) >= gain.amax(1)[:, None, None]
    look &= (count > 1) & search.several & mixed[..., None]
    if len(where := look.nonzero()):
        tree, code, _ = where.T
        inner, number = _inner(search, sums, r, inside, where)
        gain.view(-1).scatter_reduce_(0, tree * len(each) + code, inner, "amax")
        won = inner >= gain[tree, code]
        top[tree[won], code[won]] = number[won]

    best = gain.amax(1, keepdim=True)
    code = ((gain >= best * (1 - search.equal)) * ties).argmax(1, keepdim=True)
    decrease = torch.where(mixed & (best > FLAT), best * n[:, 0], 0.0)
    return code[:, 0], top.gather(1, code)[:, 0], decrease[:, 0]


def _inner(
    search: _Search, sums: Tensor, r: Tensor, inside: Tensor, where: Tensor
) -> tuple[Tensor, Tensor]:
    """The best split inside each of some bins (tree, code, bin), and the value it comes after."""
    tree, code, bin_ = where.T[..., None]
    first, last = search.ends[code, bin_], search.ends[code, bin_ + 1]
    at = first + torch.arange(int((last - first).max()))
    valid, at = at < last, at.clamp_max(search.values.shape[1] - 1)
    row, number = search.rows[code, at], search.number[code, at]
    free = valid & (search.number[code, (at + 1).clamp_max(search.values.shape[1] - 1)] > number)
    residuals = sums[0, tree, code, bin_] + (r[tree, row] * valid).double().cumsum(1)
    rows = sums[1, tree, code, bin_] + (inside[tree, row] & valid).cumsum(1)
    total, n = sums[:2, tree, 0, -1]
    u = residuals - rows * (total / n)
    gain, place = (u.square() / _weight(rows, n) * free).max(1, keepdim=True)
    return gain[:, 0], number.gather(1, place)[:, 0]


def _weight(rows: Tensor, n: Tensor) -> Tensor:
    """Rows on the left times rows on the right; where a side is empty as if it had one row."""
    n = n.clamp_min(2)
    rows = torch.minimum(rows.clamp_min(1), n - 1)
    return rows * (n - rows)
