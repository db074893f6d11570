"""Gradient boosting for classes: the trees of scikit-learn's default, many at a time."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.metrics.parts.splits import Array, Sorted, Split, best, children, root, sort

DEPTH, RATE = 3, 0.1
LEAVES = 2**DEPTH
BINS, IN_BIN = 256, 16
"""At most so many bins, and about so many rows in each where rows are few: a matter of speed."""
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
        held: Further rows to predict.
        rounds: Trees for each class.
        single: Residuals in single precision. Splits that are equal to six digits then count as
            equal; else to ten.
        seed: Of the draws between equal splits.
    """
    bins = min(BINS, max(1, len(codes) // IN_BIN))
    order = sort(codes.float().T.numpy(), bins=bins, single=single)
    width = max(1, CELLS // order.several.size)
    points = held.float().T.contiguous().numpy()
    classes, member = level.unique(return_inverse=True)
    hit = (member == torch.arange(len(classes))[:, None]).numpy()
    start, share = np.log(hit.mean(1)), (len(classes) - 1) / len(classes)
    if two := len(classes) == 2:
        hit, start, share = hit[1:], start[1:] - start[:1], 1.0
    hits, k, z = np.nonzero(hit), len(hit), len(points)
    scores, held_scores = (
        np.repeat(start[:, None], of.shape[1], axis=1).astype(order.dtype)
        for of in (order.ranks, points)
    )
    importance = np.zeros(z)
    at_once = min(rounds, max(1, CELLS // (k * LEAVES * z)))
    for step in range(rounds):
        if step % at_once == 0:
            steps = torch.arange(step, step + at_once)
            ties = noise.uniform(seed, "metric/ties", steps, k, LEAVES - 1, z).numpy()
        now = torch.from_numpy(scores)
        residuals = -(now.sigmoid() if two else now.softmax(0)).numpy()
        residuals[hits] += 1
        for first in range(0, k, width):
            trees = slice(first, first + width)
            r = residuals[trees]
            grown = _grow(order, r, ties[step % at_once, trees], importance)
            weight = np.abs(r)
            weight -= weight * weight
            above, below = (
                np.bincount(grown.leaf.ravel(), of.ravel(), minlength=LEAVES * len(r))
                for of in (r, weight)
            )
            value = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
            value = (RATE * share * value).astype(r.dtype)
            scores[trees] += value.take(grown.leaf)
            held_scores[trees] += value.take(_leaves(grown, points))
    train, test = (
        classes[torch.from_numpy((of[0] > 0).astype(int) if two else of.argmax(0))]
        for of in (scores, held_scores)
    )
    return Boosted(torch.from_numpy(importance / max(importance.sum(), 1e-300)), train, test)


class _Grown(NamedTuple):
    """One tree for each row of residuals."""

    code: Array
    """What is compared in each node, from the root on and from left to right [nodes, k]."""
    cut: Array
    """Larger values go right."""
    leaf: Array
    """The leaf of each row, counted through all trees [k, n]."""


def _grow(order: Sorted, r: Array, ties: Array, importance: Array) -> _Grown:
    tree, node = np.arange(len(r)), np.zeros(r.shape, dtype=np.uint8)
    # Nodes of a level are numbered with smaller children first: where do they stand from the left?
    place = np.zeros((1, len(r)), dtype=np.int64)
    code = np.zeros((LEAVES - 1, len(r)), dtype=np.int64)
    cut = np.full(code.shape, np.inf, dtype=np.float32)
    sums = root(order, r)
    for depth in range(DEPTH):
        at = 2**depth - 1 + place
        split = best(order, sums, r, node, ties[tree, at])
        importance += np.bincount(split.code.ravel(), split.decrease.ravel(), len(importance))
        if not split.decrease.any():
            place *= 2 ** (DEPTH - depth)
            break
        code[at, tree] = split.code
        cut[at, tree], small = _part(order, split, node)
        if depth + 1 < DEPTH:
            sums = children(order, sums, r, node, small)
        node += np.uint8(2**depth) * ~small
        place = np.concatenate([2 * place + split.right, 2 * place + ~split.right])
    leaf = (place * len(r) + tree).take(_counted(node))
    return _Grown(code, cut, leaf)


def _counted(node: Array) -> Array:
    """Numbers of nodes that count through all trees [k, n]."""
    out = node.astype(np.int64)
    out *= len(node)
    out += np.arange(len(node))[:, None]
    return out


def _leaves(grown: _Grown, points: Array) -> Array:
    """The leaf of each point, counted through all trees [k, m]."""
    splits = zip(grown.code, grown.cut, strict=True)
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
    return _counted(leaf)


def _part(order: Sorted, split: Split, node: Array) -> tuple[Array, Array]:
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
