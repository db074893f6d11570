"""All that a table of runs says, computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from unknot.analysis import fronts, seeds, statistics
from unknot.analysis import ranking as ranks
from unknot.analysis.agreements import ScoreAgreement, agreement
from unknot.analysis.blind import Among, BlindChoice, blind_selection
from unknot.analysis.configurations import Columns, Configuration, configurations, pick, sample
from unknot.analysis.health import is_sound
from unknot.analysis.run_table import RunTable
from unknot.analysis.statistics import Summary, VarianceShares, variance_shares
from unknot.core.errors import ConfigError
from unknot.core.typed import typed

Means = tuple[Float[np.ndarray, "c s"], Float[np.ndarray, "draws c s"]]
"""Means of configurations by score, and those of resampled seeds."""


class Results(RunTable):
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

    # What was computed before, by score

    @cached_property
    def _summaries(self) -> dict[str, list[Summary]]:
        return {}

    @cached_property
    def _means(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        return {}

    @cached_property
    def _fronts(self) -> dict[tuple[str, str], fronts.Front]:
        return {}

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
        self._summaries.update(new)
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
            for k, name in enumerate(missing):
                self._means[name] = means[:, k], draws[:, :, k]
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
        table, remarks = self.converged
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
        table, remarks = self.converged
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
