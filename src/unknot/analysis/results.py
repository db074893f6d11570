"""All that a table of runs says, computed once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from unknot.analysis import fronts, seeds, statistics
from unknot.analysis import ranking as ranks
from unknot.analysis.agreements import ScoreAgreement, agreement
from unknot.analysis.blind import Among, BlindChoice, blind_selection
from unknot.analysis.configurations import (
    Columns,
    Configuration,
    configurations,
    has_diverged,
    hashable,
    objective_first,
    pick,
    plain_columns,
    sample,
    score_names,
    setting_names,
)
from unknot.analysis.health import is_sound
from unknot.analysis.intervals import LEVEL, NO_BOUNDS, Bounds, kept_bounds
from unknot.analysis.lines import Line, setting_lines
from unknot.analysis.plain_table import PlainTable, column, keep, numbers, split_table
from unknot.analysis.statistics import DRAWS, Summary, VarianceShares, variance_shares
from unknot.core.errors import ConfigError, DataError
from unknot.core.text import shown
from unknot.core.typed import typed

Means = tuple[Float[np.ndarray, "c s"], Float[np.ndarray, "draws c s"]]
"""Means of configurations by score, and those of resampled seeds."""


DIFFERENT_LOSSES = "a loss of different objectives or weights is not the same function"


class Results:
    """What a table of runs says; every number is computed when it is first asked for, and kept.

    Args:
        table: One row a run; see `unknot.analysis.configurations`.
        scores: Names of the columns that are compared; all that are scores unless given.
        settings: Names of the columns that are settings; guessed by their names unless given.
        others: Names of further columns that are summarised.
        lower: Names of columns for which lower is better.
        losses: Names of columns that are parts of a training loss.
        silent: Scores by which nothing is ranked, and why.
        bounds: The smallest and the largest value that a column can have, None where there is no
            such; intervals of means are cut off there. A bound that a run lies beyond is none.
        cost: Name of the column that scores are traded against; lower is better.
        level: Of the intervals.
        draws: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        ConfigError: There is no such column, or the level is no probability.

    Example:
        >>> rows = [{"objective": "vae", "mig": mig} for mig in (0.1, 0.4, 0.1)]
        >>> results = Results([*rows, {"objective": "vae", "status": "diverged"}])
        >>> (mig,) = results.summaries()
        >>> mig.n, round(mig.mean, 3), mig.median, mig.missing
        (3, 0.2, 0.1, '1 diverged')
    """

    @typed("scores", "settings", "level", "draws", "seed")
    def __init__(
        self,
        table: PlainTable,
        scores: Sequence[str] | None = None,
        *,
        settings: Sequence[str] | None = None,
        others: Sequence[str] = (),
        lower: Iterable[str] = (),
        losses: Iterable[str] = (),
        silent: Mapping[str, str] | None = None,
        bounds: Mapping[str, Bounds] | None = None,
        cost: str = "recon",
        level: float = LEVEL,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> None:
        if not 0 < level < 1:
            raise ConfigError(f"level is a probability such as 0.95; got {level}.")
        self.table = plain_columns(table)
        self.settings = setting_names(self.table)
        if settings is not None:
            names = set(settings)
            self.settings = objective_first(name for name in self.table if name in names)
        self.lower, self.losses = frozenset(lower), frozenset(losses)
        self.silent = dict(silent or {})
        self._bounds = {
            name: kept_bounds(sample(self.table, name).values, of_column)
            for name, of_column in (bounds or {}).items()
            if name in self.table
        }
        self.cost, self.level, self.draws, self.seed = cost, level, draws, seed
        self.others = [name for name in others if name in self.table]
        self._scores = None if scores is None else self.choose(scores)
        self._summaries: dict[str, list[Summary]] = {}
        self._means: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._fronts: dict[tuple[str, str], fronts.Front] = {}

    # The table

    @cached_property
    def scores(self) -> list[str]:
        """Names of the columns that are compared.

        Raises:
            ConfigError: None was given, and the table has none.
        """
        if self._scores is not None:
            return self._scores
        names = score_names(self.table, self.settings)
        if not names:
            raise ConfigError(f"The table has no scores; its columns are {', '.join(self.table)}.")
        return names

    @cached_property
    def unranked(self) -> dict[str, str]:
        """Columns by which no configuration is called best, and why.

        Losses are functions of the objective and its weights: where these differ, so do they.
        """
        objectives = {
            tuple((n, hashable(v)) for n, v in c.settings.items() if n.startswith("objective"))
            for c in self.configurations
        }
        different = self.losses if len(objectives) > 1 else ()
        return {**dict.fromkeys(different, DIFFERENT_LOSSES), **self.silent}

    @property
    def ranked(self) -> list[str]:
        """The scores by which configurations are compared."""
        return [score for score in self.scores if score not in self.unranked]

    def marked(self, **columns: Sequence[Any]) -> "Results":
        """The same results with further columns."""
        return self._part({**self.table, **{name: list(v) for name, v in columns.items()}})

    @property
    def panels(self) -> list[str]:
        """The scores, and the cost where runs have it."""
        cost = [self.cost] if self.cost not in self.scores and self.has(self.cost) else []
        return [*self.scores, *cost]

    @typed()
    def choose(self, scores: Sequence[str] | None) -> list[str]:
        """The columns asked for, or all scores.

        Raises:
            ConfigError: There is no such column, or no score at all.
        """
        if scores is None:
            return self.scores
        for name in scores:
            column(self.table, name)
        return list(scores)

    @typed()
    def sign(self, score: str) -> float:
        """-1 where lower is better, else 1."""
        return -1.0 if score in self.lower else 1.0

    @typed()
    def bounds(self, score: str) -> Bounds:
        """The smallest and the largest value that a score can have; None where there is no such."""
        return self._bounds.get(score, NO_BOUNDS)

    @typed()
    def has(self, score: str) -> bool:
        """Whether some run that finished has the score."""
        return any(c.has(score) for c in self.configurations)

    @typed()
    def varies(self, score: str) -> bool:
        """Whether two runs have different numbers of it."""
        values = numbers(self.table, score)
        values = values[~np.isnan(values)]
        return len(values) > 1 and float(np.ptp(values)) > 0

    def runs_with(self, *scores: str) -> int:
        """How many runs have numbers of all these, whatever became of them."""
        if any(s not in self.table for s in scores):
            return 0
        return int(np.all([~np.isnan(numbers(self.table, s)) for s in scores], axis=0).sum())

    @cached_property
    def configurations(self) -> list[Configuration]:
        """Runs by their settings, in the order in which figures and tables have them."""
        return configurations(self.table, self.settings)

    @cached_property
    def objectives(self) -> list[Configuration]:
        """All runs of each objective together, as if they were one configuration."""
        parts = split_table(self.table, "objective")
        return [Configuration(str(name), "", "", {}, runs) for name, runs in parts.items()]

    @cached_property
    def lines(self) -> list[Line]:
        """Configurations that differ in one number; see `setting_lines`."""
        return setting_lines(self.configurations)

    @cached_property
    def by_data(self) -> dict[str, "Results"]:
        """The results of each dataset, with the scores that some run on it has."""
        if "data" not in self.table:
            return {"": self._part(self.table)}
        return {
            str(name): self._part(table) for name, table in split_table(self.table, "data").items()
        }

    @typed()
    def only(self, name: str, values: Iterable[Any]) -> "Results":
        """The results of the runs with certain values of a setting."""
        choices = set(values)
        return self.where([value in choices for value in column(self.table, name)])

    @typed()
    def where(self, rows: Iterable[Any]) -> "Results":
        """The results of the runs that are marked."""
        try:
            marks = [bool(mark) for mark in rows]
        except (TypeError, ValueError, RuntimeError):  # of an array inside, say
            marks = []
        if len(marks) != (count := len(next(iter(self.table.values())))):
            raise ConfigError(
                f"rows must have True or False for each of {count:,} runs; got {shown(rows)}."
            )
        return self._part(keep(self.table, marks))

    @typed()
    def without(self, name: str) -> "Results":
        """The results as if a setting had never been there."""
        table = {n: values for n, values in self.table.items() if n != name}
        return self._part(table, [n for n in self.settings if n != name])

    def _part(self, table: Columns, settings: Sequence[str] | None = None) -> "Results":
        part = Results(
            table, self._scores, settings=self.settings if settings is None else settings,
            others=self.others, lower=self.lower, losses=self.losses, silent=self.silent,
            bounds=self._bounds, cost=self.cost, level=self.level, draws=self.draws, seed=self.seed,
        )  # fmt: skip
        if self._scores is not None:
            part._scores = [name for name in self._scores if part.has(name)]
        return part

    def _check_one_dataset(self) -> None:
        """Levels of two datasets cannot be averaged."""
        data = list(dict.fromkeys(c.data for c in self.configurations))
        if len(data) > 1:
            raise ConfigError(
                f"Expected the runs of one dataset; got {', '.join(data)}. Split the table with "
                "unknot.analysis.split_table(table, 'data')."
            )

    # Each score by itself

    @typed()
    def summaries(self, scores: Sequence[str] | None = None) -> list[Summary]:
        """Each score of each configuration: counts, mean, median, spread and intervals.

        Intervals are of five seeds or more; `unknot.analysis.intervals` says what they assume, and
        how often they hold the truth. Runs that diverged, or that have no number, are counted and
        not averaged.
        """
        names = self.choose(scores)
        missing = [name for name in dict.fromkeys(names) if name not in self._summaries]
        new: dict[str, list[Summary]] = {name: [] for name in missing}
        for configuration in self.configurations if missing else ():
            for name in missing:
                new[name].append(
                    statistics.summary(configuration, name, self.level, self.bounds(name))
                )
        self._summaries |= new
        places = range(len(self.configurations))
        return [self._summaries[name][i] for i in places for name in names]

    def summary(self, configuration: Configuration, scores: Sequence[str]) -> dict[str, Summary]:
        """The summaries of one of the configurations, by score."""
        self.summaries(scores)
        place = next(i for i, other in enumerate(self.configurations) if other is configuration)
        return {score: self._summaries[score][place] for score in scores}

    @typed()
    def means(self, scores: Sequence[str]) -> Means:
        """Means by configuration and score, and those of resampled seeds; NaN where none has it.

        Raises:
            ConfigError: There are several datasets.
        """
        self._check_one_dataset()
        if not scores:
            raise ConfigError("scores are one or more names; got none.")
        missing = [name for name in dict.fromkeys(scores) if name not in self._means]
        if missing:
            means, draws = statistics.resampled_means(
                self.configurations, missing, self.draws, self.seed
            )
            self._means |= {name: (means[:, k], draws[:, :, k]) for k, name in enumerate(missing)}
        pairs = [self._means[name] for name in scores]
        return np.stack([m for m, _ in pairs], 1), np.stack([d for _, d in pairs], 2)

    # Which is best

    @cached_property
    def ranking(self) -> ranks.Ranking:
        """Objectives ranked at each score by the mean over their configurations.

        The interval of the mean rank is of resampled seeds, with these scores and configurations;
        it takes ten seeds of each.

        Raises:
            ConfigError: There are several datasets.

        Example:
            >>> rows = {"objective": list("aabb"), "x": [1.0, 2, 3, 4], "y": [1.0, 1, 1, 1]}
            >>> ranking = Results(rows).ranking
            >>> ranking.winners("x"), ranking.winners("y"), ranking.mean_rank.tolist()
            (('b',), ('a', 'b'), [1.75, 1.25])
        """
        return ranks.ranking(self._compared(self.ranked))

    @cached_property
    def best_values(self) -> list[ranks.Best]:
        """For each objective and score the best swept value, and how often seeds would agree.

        How often takes ten seeds of each value. The interval of the mean is that of the
        configuration which was chosen for its mean, so that its lower end is the one to trust.

        Raises:
            ConfigError: There are several datasets.
        """
        return ranks.best_values(self._compared(self.ranked)) if self.ranked else []

    @cached_property
    def winners(self) -> list[ranks.Winner]:
        """The best configuration of each score, and how sure that is.

        Raises:
            ConfigError: There are several datasets.
        """
        return ranks.winners(self._compared(self.ranked)) if self.ranked else []

    def _compared(self, scores: Sequence[str]) -> ranks.Means:
        sign = np.array([self.sign(name) for name in scores])
        sound = [[is_sound(c, s) for s in scores] for c in self.configurations]
        return ranks.Means(
            self.configurations, scores, sign, *self.means(scores), np.array(sound), self.level,
            [self.bounds(score) for score in scores],
        )  # fmt: skip

    @typed()
    def front(self, score: str, cost: str | None = None) -> fronts.Front:
        """The configurations that no other beats in a score without a higher cost.

        Raises:
            ConfigError: There is no such column, or there are several datasets.
            DataError: No configuration has both.

        Example:
            >>> table = {"objective": list("abc"), "mig": [0.1, 0.3, 0.2], "recon": [1.0, 2.0, 3.0]}
            >>> Results(table).front("mig").on.tolist()
            [True, True, False]
        """
        pair = score, cost or self.cost
        if pair not in self._fronts:
            self._fronts[pair] = fronts.front(self._compared(self.choose(pair)))
        return self._fronts[pair]

    # How scores hang together, and where differences come from

    @typed()
    def agreement(self, scores: Sequence[str] | None = None) -> ScoreAgreement:
        """Spearman's and Pearson's correlation of each pair of scores, of runs without divergence.

        See `unknot.analysis.agreement`; correlate within one dataset.

        Raises:
            ConfigError: There is no such score.
            DataError: All runs diverged.
        """
        table, remarks = self._converged
        pairs = agreement(table, self.choose(scores))
        return replace(pairs, remarks=(*remarks, *pairs.remarks))

    @typed()
    def blind_selection(
        self,
        criteria: Sequence[str],
        scores: Sequence[str] | None = None,
        *,
        among: Among = "configurations",
    ) -> list[BlindChoice]:
        """What each criterion would choose, and how much of each score is lost by that.

        See `unknot.analysis.blind.blind_selection`; select within one dataset.

        Args:
            criteria: Columns that need no labels, such as ``recon`` or ``elbo``.
            scores: Columns that do; the scores of these results unless given.
            among: ``configurations``, by their means over seeds, or ``runs``.

        Raises:
            ConfigError: There is no such column.
        """
        self._check_one_dataset()
        names = [*self.choose(scores)]
        return blind_selection(self, self.choose(criteria), names, among=among)

    @typed()
    def variance_shares(self, scores: Sequence[str] | None = None) -> list[VarianceShares]:
        """How much of each score's variance is due to objective, swept value and seed.

        See `unknot.analysis.variance_shares`; of one dataset, over runs that did not diverge.
        Scores that do not vary are left out.

        Raises:
            ConfigError: There is no such score.
            DataError: All runs diverged, or no configuration has two seeds.
        """
        names = self.choose(scores)
        table, remarks = self._converged
        runs: Columns = {}
        for configuration in configurations(table, self.settings):
            for name, values in {
                **configuration.runs,
                "swept_value": [configuration.swept_value] * configuration.size,
            }.items():
                runs.setdefault(name, []).extend(values)
        result = []
        for score in names:
            if len({v for v in runs[score] if v is not None and v == v}) > 1:
                shares = variance_shares(runs, score)
                result.append(replace(shares, remarks=(*remarks, *shares.remarks)))
        return result

    @cached_property
    def _converged(self) -> tuple[Columns, tuple[str, ...]]:
        """The runs that did not diverge, and a remark on those that did."""
        diverged = has_diverged(self.table)
        if all(diverged):
            raise DataError(f"All {len(diverged)} runs of the table diverged.")
        n = sum(diverged)
        remarks = (f"{n} runs that diverged were left out",) if n else ()
        return keep(self.table, [not out for out in diverged]), remarks

    # How many seeds it takes

    @typed()
    def contrasts(self, score: str) -> list[tuple[Configuration, Configuration]]:
        """Pairs of configurations that people ask about, the better first."""
        return seeds.contrasts(self.configurations, score, self.sign(score))

    @typed()
    def seed_pairs(
        self, score: str, *, first: int | None = None, draws: int = seeds.PAIR_DRAWS
    ) -> list[dict[str, Any]]:
        """How likely n seeds show the order, for each two of the first configurations."""
        return seeds.every_pair(self.configurations[:first], score, self.sign(score), draws=draws)

    @typed()
    def seeds_needed(
        self,
        first: Mapping[str, Any],
        second: Mapping[str, Any],
        score: str,
        *,
        most: int = 50,
        draws: int = 10_000,
    ) -> seeds.SeedCount:
        """How likely n seeds of each of two configurations show which scores higher.

        See `unknot.analysis.seeds_needed`.

        Args:
            first: Settings that pick out runs, such as ``{"objective": "vae"}``.
            second: Those of the other.
            score: Name of a column.
            most: Largest number of seeds to look at.
            draws: Of the bootstrap.

        Raises:
            ConfigError: There is no such setting or run.
            DataError: One has fewer than two runs with the score.
        """
        sides = [sample(pick(self.table, settings), score) for settings in (first, second)]
        count = seeds.seeds_needed(
            *(side.values for side in sides), level=self.level, most=most, draws=draws,
            seed=self.seed,
        )  # fmt: skip
        lost = sum(side.missing for side in sides)
        remarks = (f"{lost} runs without '{score}' were left out",) if lost else ()
        return replace(count, remarks=(*remarks, *count.remarks))
