"""Slow second implementations of the scores made of information, in NumPy, from the papers."""

import math

import numpy as np


def bins(values, n):
    """Equal-width bins between the extremes, column by column."""
    edges = [np.histogram(column, n)[1][:-1] for column in values.T]
    return np.stack([np.digitize(v, e) - 1 for v, e in zip(values.T, edges, strict=True)], axis=1)


def entropy(*columns):
    """Joint entropy of columns in nats."""
    rows = list(zip(*columns, strict=True))
    shares = [rows.count(row) / len(rows) for row in set(rows)]
    return -sum(p * math.log(p) for p in shares)


def tables(codes, factors):
    """Mutual information and joint entropy, codes by factors."""
    z, f = codes.shape[1], factors.shape[1]
    mutual, joint = np.zeros((z, f)), np.zeros((z, f))
    for j in range(z):
        for k in range(f):
            a, b = codes[:, j].tolist(), factors[:, k].tolist()
            joint[j, k] = entropy(a, b)
            mutual[j, k] = max(entropy(a) + entropy(b) - joint[j, k], 0)
    return mutual, joint


def two_best(values):
    ordered = sorted(values, reverse=True)
    return ordered[0], (ordered[1] if len(ordered) > 1 else 0.0)


def mig(codes, factors, n):
    """Chen et al. 2018."""
    mutual, _ = tables(bins(codes, n), factors)
    gaps = []
    for k in range(factors.shape[1]):
        first, second = two_best(mutual[:, k])
        gaps.append((first - second) / entropy(factors[:, k].tolist()))
    return np.mean(gaps)


def mig_sup(codes, factors, n):
    """Li et al. 2020."""
    mutual, _ = tables(bins(codes, n), factors)
    mutual = mutual / [entropy(column.tolist()) for column in factors.T]
    return np.mean([first - second for first, second in map(two_best, mutual)])


def jemmig(codes, factors, n):
    """Do and Tran 2020."""
    mutual, joint = tables(bins(codes, n), factors)
    scores = []
    for k, column in enumerate(factors.T):
        first, second = two_best(mutual[:, k])
        excess = joint[np.argmax(mutual[:, k]), k] - first + second
        scores.append(max(1 - excess / (entropy(column.tolist()) + math.log(n)), 0))
    return np.mean(scores)


def dcimig(codes, factors, n):
    """Sepliarskaia et al. 2019."""
    mutual, _ = tables(bins(codes, n), factors)
    best = np.zeros(factors.shape[1])
    for row in mutual:
        first, second = two_best(row)
        k = int(np.argmax(row))
        best[k] = max(best[k], first - second)
    return best.sum() / sum(entropy(column.tolist()) for column in factors.T)


def modularity(codes, factors, n):
    """Ridgeway and Mozer 2018; a code without information scores 0."""
    mutual, _ = tables(bins(codes, n), factors)
    scores = []
    for row in mutual:
        best = int(np.argmax(row))
        others = sum(value**2 for k, value in enumerate(row) if k != best)
        room = row[best] ** 2 * max(len(row) - 1, 1)
        scores.append(1 - others / room if room > 0 else 0.0)
    return np.mean(scores)
