"""What selecting models without labels loses: criteria that need none, beside scores that do."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    from unknot.analysis.results import Results

Among: TypeAlias = Literal["configurations", "runs"]
FEWEST = 3
"""With fewer there is little to choose from."""
SAME = 1e-12
"""Means of a criterion that differ by no more count as equal."""


@dataclass(frozen=True)
class BlindChoice:
    """What one criterion would choose, and what that is worth by one score."""

    criterion: str
    score: str
    among: str
    """``configurations``, by their means over seeds, or ``runs``."""
    n: int
    """How many of these there are."""
    correlation: float
    """Spearman's, with both turned so that more is better; NaN where one of them is constant."""
    chosen: float
    """The score of what the criterion would choose, mean where it cannot tell several apart."""
    best: float
    mean: float
    """What choosing by chance would give on average."""
    lost: float
    """How far the choice is from the best, in units of the score; never below 0."""
    regained: float
    """Of the way from the mean to the best, the share that the criterion goes; NaN where these
    are equal."""

    def row(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def blind_selection(
    results: "Results", criteria: Sequence[str], scores: Sequence[str], *, among: Among
) -> list[BlindChoice]:
    """What each criterion would choose, and how much of each score is lost by that.

    Runs, or configurations, that lack one of the two are left out.

    Args:
        results: Of one dataset.
        criteria: Columns that need no labels, such as ``udr``, ``elbo`` or ``recon``.
        scores: Columns of scores that do.
        among: ``configurations`` or ``runs``.

    Example:
        >>> from unknot.analysis import Results
        >>> rows = [("a", 0.3, 9.0), ("b", 0.5, 5.0), ("c", 0.4, 2.0)]
        >>> table = [dict(zip(("objective", "mig", "recon"), row, strict=True)) for row in rows]
        >>> results = Results(table, ["mig"], lower=["recon"])
        >>> (choice,) = blind_selection(results, ["recon"], ["mig"], among="configurations")
        >>> choice.chosen, choice.best, round(choice.lost, 6), choice.correlation
        (0.4, 0.5, 0.1, 0.5)
    """
    choices = []
    for score in scores:
        for criterion in criteria:
            of_score, of_criterion = _pairs(results, score, criterion, among)
            if len(of_score) >= FEWEST:
                signs = results.sign(score), results.sign(criterion)
                choices.append(_choice(criterion, score, among, of_score, of_criterion, signs))
    return choices


def _pairs(
    results: "Results", score: str, criterion: str, among: Among
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """A score and a criterion of the same runs or configurations."""
    pairs = list[list[float]]()
    for configuration in results.configurations:
        if not configuration.has(score, criterion):
            continue
        a, b = (configuration.sample(name) for name in (score, criterion))
        if a.seeds == b.seeds:
            both = np.stack([a.values, b.values], axis=1).tolist()
        else:  # some runs lack one of the two
            other = dict(zip(b.seeds, map(float, b.values), strict=True))
            both = [
                [float(value), other[seed]]
                for seed, value in zip(a.seeds, a.values, strict=True)
                if seed in other
            ]
        if both and among == "configurations":
            both = [np.mean(both, axis=0).tolist()]
        pairs += both
    table = np.array(pairs).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _choice(
    criterion: str,
    score: str,
    among: str,
    of_score: Float[np.ndarray, " n"],
    of_criterion: Float[np.ndarray, " n"],
    signs: tuple[float, float],
) -> BlindChoice:
    from scipy.stats import rankdata

    gain, praise = signs[0] * of_score, signs[1] * of_criterion
    tied = praise >= praise.max() - SAME * max(1.0, float(np.abs(praise).max()))
    chosen, best, mean = float(gain[tied].mean()), float(gain.max()), float(gain.mean())
    ranks = [rankdata(values) for values in (gain, praise)]
    constant = any(float(np.ptp(values)) == 0 for values in ranks)
    return BlindChoice(
        criterion,
        score,
        among,
        len(gain),
        float("nan") if constant else float(np.corrcoef(ranks)[0, 1]),
        signs[0] * chosen,
        signs[0] * best,
        signs[0] * mean,
        max(best - chosen, 0.0),
        (chosen - mean) / (best - mean) if best > mean else float("nan"),
    )
