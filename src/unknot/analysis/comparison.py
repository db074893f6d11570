"""Comparison of our configurations with published ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unknot.analysis.intervals import NAN
from unknot.analysis.statistics import Summary
from unknot.core.text import setting_text

FAR = 3.0
"""Standard errors beyond which a difference is flagged."""


@dataclass(frozen=True)
class Difference:
    """One score of one of our configurations and of the published one of the same settings."""

    ours: Summary
    published: Summary
    differs: tuple[str, ...]
    """Settings that both name and that are not the same, in words: ours, then theirs."""

    @property
    def difference(self) -> float:
        """Our mean minus the published one."""
        return self.ours.mean - self.published.mean

    @property
    def error(self) -> float:
        """Standard error of the difference, by one spread for both; NaN where none is known."""
        ours, theirs = self.ours, self.published
        if not (ours.n and theirs.n and ours.n + theirs.n > 2):
            return NAN
        # One run has no spread of its own, and adds nothing to it.
        squares = sum(
            (summary.n - 1) * summary.sd**2 for summary in (ours, theirs) if summary.n > 1
        )
        return math.sqrt(squares / (ours.n + theirs.n - 2) * (1 / ours.n + 1 / theirs.n))

    @property
    def z(self) -> float:
        """The difference in standard errors; NaN where there is no spread to go by."""
        if self.error == 0:
            return math.copysign(math.inf, self.difference) if self.difference else 0.0
        return self.difference / self.error

    @property
    def flagged(self) -> bool:
        """Whether it is more than chance would explain."""
        return abs(self.z) > FAR

    def row(self) -> dict[str, Any]:
        """As plain values of one line of a table."""
        return {
            "data": self.ours.data or self.published.data,
            "objective": self.ours.objective,
            "swept_value": self.published.swept_value,
            "score": self.ours.score,
            "ours": self.ours.mean,
            "ours_se": self.ours.se,
            "ours_n": self.ours.n,
            "ours_missing": self.ours.missing,
            "published": self.published.mean,
            "published_se": self.published.se,
            "published_n": self.published.n,
            "published_missing": self.published.missing,
            "difference": self.difference,
            "z": self.z,
            "flagged": self.flagged,
            "differs": "; ".join(self.differs),
        }


@dataclass(frozen=True)
class Comparison:
    """Configuration by configuration, and what has no counterpart."""

    differences: tuple[Difference, ...]
    only_ours: tuple[str, ...]
    only_published: tuple[str, ...]

    @property
    def within(self) -> float:
        """Share of those with a z-value that lie within three standard errors; NaN of none."""
        flags = [d.flagged for d in self.differences if not math.isnan(d.z)]
        return 1 - sum(flags) / len(flags) if flags else NAN

    def rows(self) -> list[dict[str, Any]]:
        """As plain rows, a configuration and score each."""
        return [difference.row() for difference in self.differences]


def compare(ours: Sequence[Summary], published: Sequence[Summary]) -> Comparison:
    r"""Compare our configurations with published ones, score by score.

    $$z = \frac{m_1 - m_2}{s \sqrt{1 / n_1 + 1 / n_2}}, \quad
      s^2 = \frac{(n_1 - 1) s_1^2 + (n_2 - 1) s_2^2}{n_1 + n_2 - 2}$$
    The spread is that of both together, as of runs of one distribution: two or three of ours hardly
    have one of their own, and by that, equal means of three against fifty would be flagged in 7 of
    100, where it is 4 of 1,000.

    Two are counterparts when they agree in data, objective and the settings by which the
    published ones of that objective differ. Other settings that both name may differ, which every
    row then says: a shorter training is not a reproduction.

    Args:
        ours: From `Results.summaries`.
        published: The same of a published table; ``sd`` may be NaN where none was printed.
    """
    axes = _axes(published)
    theirs = {(_place(s, axes), s.score): s for s in published}
    differences, only = [], []
    for summary in ours:
        other = theirs.get((_place(summary, axes), summary.score))
        if other is None:
            only.append(f"{summary.label}, {summary.score}")
        else:
            differences.append(Difference(summary, other, _differs(summary, other)))
    met = {id(d.published) for d in differences}
    left = [f"{s.label}, {s.score}" for s in published if id(s) not in met]
    return Comparison(tuple(differences), tuple(only), tuple(left))


def _axes(published: Sequence[Summary]) -> dict[tuple[str, str], list[str]]:
    """For each objective and dataset the settings by which published configurations differ."""
    together: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for summary in published:
        together.setdefault((summary.data, summary.objective), []).append(summary.settings)
    return {
        where: [
            name
            for name in dict.fromkeys(n for settings in group for n in settings)
            if len({str(settings.get(name)) for settings in group}) > 1
        ]
        for where, group in together.items()
    }


def _place(summary: Summary, axes: dict[tuple[str, str], list[str]]) -> tuple[Any, ...]:
    where = (summary.data, summary.objective)
    return (*where, *(setting_text(summary.settings.get(name)) for name in axes.get(where, [])))


def _differs(ours: Summary, published: Summary) -> tuple[str, ...]:
    return tuple(
        f"{name} {setting_text(value)}, not {setting_text(published.settings[name])}"
        for name, value in ours.settings.items()
        if name in published.settings
        and setting_text(value) != setting_text(published.settings[name])
    )
