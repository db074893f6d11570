"""Whether scores agree about which models are good."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from unknot.analysis.plain_table import PlainTable, columns, numbers, numeric
from unknot.core.errors import ConfigError
from unknot.core.typed import typed

FEWEST = 3
"""Two models always agree or disagree completely."""


@dataclass(frozen=True, repr=False, eq=False)
class ScoreAgreement:
    """Correlations of scores over models; both axes of a table are ``names``."""

    names: tuple[str, ...]
    spearman: Float[np.ndarray, "s s"]
    spearman_p: Float[np.ndarray, "s s"]
    pearson: Float[np.ndarray, "s s"]
    pearson_p: Float[np.ndarray, "s s"]
    n: Int[np.ndarray, "s s"]
    """Models that have both scores."""
    remarks: tuple[str, ...] = ()

    def between(self, a: str, b: str) -> tuple[float, float]:
        """Spearman's correlation of two scores, and its p-value."""
        i, j = self.names.index(a), self.names.index(b)
        return float(self.spearman[i, j]), float(self.spearman_p[i, j])

    def __repr__(self) -> str:
        wide = max(len(name) for name in self.names) + 1
        lines = [
            f"{name:<{wide}}" + "".join(f"{value:>7.2f}" for value in row)
            for name, row in zip(self.names, self.spearman, strict=True)
        ]
        return "\n".join([*lines, *self.remarks])


@typed("scores")
def agreement(table: PlainTable, scores: Sequence[str] | None = None) -> ScoreAgreement:
    r"""Spearman's and Pearson's correlation of each pair of scores over models.

    A p-value is the two-sided chance of such a correlation between unrelated scores, from Student's
    distribution of $r \sqrt{(n - 2) / (1 - r^2)}$: exact for Pearson's under normality, rough for
    Spearman's below ten models. Nothing is corrected for the number of pairs. Datasets have
    levels of their own, so that pooling them makes scores agree: correlate within each, with
    ``{name: agreement(part) for name, part in split_table(table, "dataset").items()}``.

    Args:
        table: One row a model; see `unknot.analysis.plain_table`.
        scores: Names of columns; all that hold numbers unless given.

    Raises:
        ConfigError: There is no such column, or none that holds numbers.
        DataError: A column holds something else than numbers.

    Example:
        >>> pair = agreement({"mig": [0.1, 0.2, 0.3, 0.5], "sap": [0.0, 0.3, 0.2, 0.4]})
        >>> pair
        mig    1.00   0.80
        sap    0.80   1.00
        >>> round(pair.between("mig", "sap")[1], 2)
        0.2
    """
    from scipy import stats

    plain = columns(table)
    names = tuple(numeric(plain) if scores is None else scores)
    if not names:
        raise ConfigError(f"No column of the table holds numbers; there are {', '.join(plain)}.")
    values = [numbers(plain, name) for name in names]
    size = len(names)
    spearman, spearman_p, pearson, pearson_p = (np.zeros((size, size)) for _ in range(4))
    n = np.zeros((size, size), dtype=np.int64)
    flat = set()
    for i in range(size):
        for j in range(i, size):
            both = ~np.isnan(values[i]) & ~np.isnan(values[j])
            a, b = values[i][both], values[j][both]
            correlations = (0.0, 1.0, 0.0, 1.0)
            if len(a) >= FEWEST and np.ptp(a) > 0 and np.ptp(b) > 0:
                correlations = (*stats.spearmanr(a, b), *stats.pearsonr(a, b))
            else:
                flat.add(f"{names[i]} and {names[j]}" if i != j else names[i])
            for matrix, value in zip(
                (spearman, spearman_p, pearson, pearson_p, n), (*correlations, len(a)), strict=True
            ):
                matrix[i, j] = matrix[j, i] = value
    remarks: tuple[str, ...] = ()
    if flat:
        remarks = (
            f"no correlation, shown as 0, for want of {FEWEST} models or of differences: "
            + ", ".join(sorted(flat)),
        )
    return ScoreAgreement(names, spearman, spearman_p, pearson, pearson_p, n, remarks)
