"""Where differences between scores of models come from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unknot.analysis.plain_table import PlainTable, columns, labels, numbers
from unknot.core.errors import DataError


@dataclass(frozen=True, repr=False, eq=False)
class VarianceShares:
    """Shares of the variance of a score, by what explains it; the last is the rest."""

    score: str
    shares: dict[str, float]
    """Sums of squares as a share of the total, as published studies have them."""
    corrected: dict[str, float]
    """The same without what chance alone would explain; may fall below 0 by chance."""
    groups: dict[str, int]
    """Different settings down to each column."""
    n: int
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name} {100 * share:.0f} % ({100 * self.corrected[name]:.0f} %)"
            for name, share in self.shares.items()
        )
        return "; ".join([f"{self.score}: {parts}", *self.remarks])


def variance_shares(
    table: PlainTable,
    score: str,
    *,
    by: Sequence[str] = ("objective", "strength"),
    rest: str = "seed",
) -> VarianceShares:
    r"""Share of a score's variance due to objective, to strength given objective, and to the seed.

    With groups of models that agree in the first $i$ columns of ``by``, and $B_i$ the sum of
    squares between their means, column $i$ explains $(B_i - B_{i-1}) / T$ of the total $T$, and
    what is left within the last groups is the rest. This is $\eta^2$ of a nested analysis of
    variance, and the gain in $R^2$ of linear regression on one-hot columns of each group, as in
    Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".

    Many groups of few models explain much by chance: 36 settings of 3 seeds a third of pure noise.
    ``corrected`` takes off for each column as many times the variance within settings as it has
    degrees of freedom ($\epsilon^2$, Kelley 1935), and adds up to 1 too.

    Args:
        table: One row a model; see `unknot.analysis.plain_table`.
        score: Name of the column to explain. Models without it are left out.
        by: Names of columns, each within those before it.
        rest: What to call the rest.

    Raises:
        ConfigError: There is no such column.
        DataError: The score does not vary, or no setting has two models.

    Example:
        >>> table = {"objective": ["a", "a", "b", "b"], "mig": [0.1, 0.2, 0.3, 0.4]}
        >>> variance_shares(table, "mig", by=["objective"])
        mig: objective 80 % (70 %), seed 20 % (30 %)
    """
    given = columns(table)
    values = numbers(given, score)
    there = ~np.isnan(values)
    settings = list(zip(*(labels(given, name) for name in by), strict=True))
    settings = [setting for setting, known in zip(settings, there, strict=True) if known]
    values = values[there]
    n = len(values)
    total = float(((values - values.mean()) ** 2).sum()) if n else 0.0
    if n < 2 or np.ptp(values) == 0:
        raise DataError(f"'{score}' does not vary over {n} models: there is nothing to explain.")
    between, sizes = [0.0], [1]
    for depth in range(1, len(by) + 1):
        numbered: dict[tuple[object, ...], int] = {}
        group = np.array([numbered.setdefault(own[:depth], len(numbered)) for own in settings])
        count = np.bincount(group)
        means = np.bincount(group, weights=values) / count
        between.append(float((count * (means - values.mean()) ** 2).sum()))
        sizes.append(len(count))
    if sizes[-1] == n:
        raise DataError(
            f"Every setting of {', '.join(by)} has one model, so that the {rest} cannot be told "
            "from it. Give several models of one setting."
        )
    noise = (total - between[-1]) / (n - sizes[-1])
    shares, corrected = {}, {}
    for i, name in enumerate(by):
        gain = between[i + 1] - between[i]
        shares[name] = gain / total
        corrected[name] = (gain - (sizes[i + 1] - sizes[i]) * noise) / total
    shares[rest] = 1 - between[-1] / total
    corrected[rest] = noise * (n - 1) / total
    missing = int((~there).sum())
    remarks = (f"{missing} models without '{score}' were left out",) if missing else ()
    return VarianceShares(
        score, shares, corrected, dict(zip(by, sizes[1:], strict=True)), n, remarks
    )
