"""Slow second implementations of the other scores, in NumPy, from the papers."""

import itertools

import numpy as np


def irs(codes, factors, quantile):
    """Suter et al. 2019, with a quantile in the place of the maximum inside groups."""
    total, weight = 0.0, 0.0
    for code in codes.T:
        largest = np.abs(code - code.mean()).max()
        if largest == 0:
            continue
        best = 0.0
        for factor in factors.T:
            groups = [code[factor == value] for value in np.unique(factor)]
            away = [np.percentile(np.abs(g - g.mean()), 100 * quantile) for g in groups]
            best = max(best, 1 - np.mean(away) / largest)
        total, weight = total + largest * best, weight + largest
    return total / weight if weight else 0.0


def threshold_accuracy(code, level):
    """Best balanced accuracy of thresholds; tries every choice, in every order of the classes."""
    cuts = [-np.inf, *np.unique(code)]
    best = 0.0
    orders, size = itertools.permutations(np.unique(level)), len(np.unique(level))
    choices = itertools.combinations_with_replacement(cuts, size - 1)
    for classes, chosen in itertools.product(orders, choices):
        edges = [-np.inf, *chosen, np.inf]
        recalls = [
            np.mean((edges[i] < code[level == c]) & (code[level == c] <= edges[i + 1]))
            for i, c in enumerate(classes)
        ]
        best = max(best, float(np.mean(recalls)))
    return best


def area_under_curve(belief, positive):
    """Share of pairs of a positive and a negative that are in order; equal ones count half."""
    above = belief[positive][:, None] - belief[~positive]
    return np.mean((above > 0) + 0.5 * (above == 0))


def concentration(row):
    """One minus the entropy of shares in units of its maximum."""
    shares = [value / sum(row) for value in row if value / sum(row) > 0]
    return 1 + sum(p * np.log(p) for p in shares) / np.log(len(row))
