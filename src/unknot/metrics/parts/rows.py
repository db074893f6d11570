"""Rows: checked codes and factors, the only thing a metric computes on."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.errors import ConfigError, DataError
from unknot.core.factors import Kind
from unknot.core.representation import Representation
from unknot.metrics.parts.columns import correlation, midranks
from unknot.metrics.parts.information import Counting, Information, information

T = TypeVar("T")
FEWEST = 10
"""Fewer rows than this say nothing about any metric."""


@dataclass(eq=False)
class Rows:
    """Codes and factors of the same points; factors with one value are left out.

    It remembers what metrics have computed of it; change nothing else, use `replace`.
    """

    codes: Float[Tensor, "n z"]
    """Float64 and finite."""
    values: Int[Tensor, "n f"] | Float[Tensor, "n f"]
    """Factor values as given; real numbers where a factor is continuous or labels are missing,
    which are NaN."""
    levels: Int[Tensor, "n f"]
    """The same values numbered 0, 1, ... without gaps, in order; -1 where they are missing."""
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    remarks: tuple[str, ...] = ()
    seed: int = 0
    """Random seed for the metric."""
    grid: Representation | None = None
    """All points, where there is a grid; never of a table of labels."""
    logvar: Float[Tensor, "n z"] | None = None
    """Log-variances of posteriors whose means are the codes, for metrics that need them."""
    test: "Rows | None" = None
    """Rows to test on, for metrics that learn; None where they are these rows."""
    images: Callable[[Tensor], Tensor] | None = None
    """Images by row number, for metrics that take them."""
    _memory: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> "Rows":
        return replace(
            self,
            codes=self.codes[index],
            values=self.values[index],
            levels=self.levels[index],
            logvar=None if self.logvar is None else self.logvar[index],
        )

    @property
    def test_rows(self) -> "Rows":
        """The rows to test on: others, or these."""
        return self if self.test is None else self.test

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What several metrics read of the same rows, computed when it is first asked for."""
        if key not in self._memory:
            self._memory[key] = compute()
        result: T = self._memory[key]
        return result

    @property
    def has_gaps(self) -> bool:
        """Whether labels are missing."""
        return self.remember("gaps", lambda: bool((self.levels < 0).any()))

    def by_factor(self) -> list["Rows"]:
        """Rows of one factor each, those that have its label, to learn from and to test on.

        Without gaps these are the rows as they are, with all factors, once.
        """
        if not self.has_gaps and not (self.test and self.test.has_gaps):
            return [self]
        return [self._labelled(k) for k in range(len(self.names))]

    def _labelled(self, factor: int) -> "Rows":
        """Rows that have the label of a factor, with this factor alone."""
        test = None if self.test is None else self.test._labelled(factor)
        rows = self.choose([factor])[self.levels[:, factor] >= 0]
        if len(rows) < FEWEST:
            raise DataError(
                f"Only {len(rows)} of {len(self)} rows have the label {self.names[factor]}; fill "
                "the gaps or leave the label out."
            )
        return replace(rows, test=test)

    def complete(self) -> "Rows":
        """Only rows that have all labels, to learn from and to test on."""
        if not self.has_gaps and not (self.test and self.test.has_gaps):
            return self

        def compute() -> Rows:
            train = self._without_gaps()
            test = None if self.test is None else self.test._without_gaps()
            gone = len(self) - len(train)
            if self.test is not None and test is not None:
                gone += len(self.test) - len(test)
            rows = train.with_remark(f"{gone:,} rows that lack a label were left out")
            varying = rows.varying(len(rows))
            if test is None:
                columns = [torch.unique(c, return_inverse=True)[1] for c in varying.levels.T]
                return replace(varying, levels=torch.stack(columns, dim=1))
            kept = [rows.names.index(name) for name in varying.names]
            return replace(varying, test=test.choose(kept))

        return self.remember("complete", compute)

    def information(self, counting: Counting) -> Information:
        """Information of each code about each factor, as `unknot.metrics.parts.information`."""
        return self.remember(
            ("information", counting),
            lambda: information(self.codes, self.values, self.levels, counting),
        )

    def correlations(self, *, ranks: bool) -> Float[Tensor, "z f"]:
        """Pearson's correlation of each code and each factor, or Spearman's."""

        def compute() -> Tensor:
            codes, values = self.codes, self.values.double()
            if not self.has_gaps:
                return _correlation(codes, values, ranks)
            tables = [
                _correlation(codes[known], column[known, None], ranks)
                for known, column in zip(self.levels.T >= 0, values.T, strict=True)
            ]
            return torch.cat(tables, dim=1)

        return self.remember(("correlations", ranks), compute)

    def perfect(self) -> "Rows":
        """The same points with one code per factor, its value; surplus codes are constant."""

        def compute() -> Rows:
            surplus = max(self.codes.shape[1] - self.values.shape[1], 0)
            dead = self.codes.new_zeros(len(self), surplus)
            values = self.values.double().nan_to_num()  # a missing label says nothing anywhere
            return replace(self, codes=torch.cat([values, dead], dim=1))

        return self.remember("perfect", compute)

    def half(self, step: int) -> "Rows":
        """Half of the rows, drawn without replacement, for an interval; test rows likewise."""
        n = len(self)
        index = noise.permutation(self.seed, "metric/half", step, n, 1)[: max(1, n // 2), 0]
        test = None if self.test is None else self.test.half(step)
        return replace(self[index.to(self.codes.device)], test=test)

    def posteriors(self) -> tuple[Float[Tensor, "n z"], Float[Tensor, "n z"]]:
        """Means and log-variances."""
        if self.logvar is None:
            raise ConfigError("These rows have no log-variances: declare that they are needed.")
        return self.codes, self.logvar

    def with_remark(self, remark: str) -> "Rows":
        """The same rows, with one more sentence for whoever reads a score of them."""
        return replace(self, remarks=(*self.remarks, remark))

    def varying(self, cut: int) -> "Rows":
        """Without the factors that have a single value in the first ``cut`` rows."""
        first = self.levels[:cut].amax(0)  # some level, where there is any
        varies = ((self.levels[:cut] != first) & (self.levels[:cut] >= 0)).any(0).tolist()
        if not any(varies):
            raise DataError(
                "Every factor has one single value in these rows: there is nothing to find."
            )
        if all(varies):
            return self
        varying = self.choose([*compress(range(len(varies)), varies)])
        left = [name for name in self.names if name not in varying.names]
        return varying.with_remark(f"left out for having one value: {', '.join(left)}")

    def choose(self, columns: Sequence[int]) -> "Rows":
        """The same rows with some of their factors."""
        return replace(
            self,
            values=self.values[:, columns],
            levels=self.levels[:, columns],
            names=tuple(self.names[k] for k in columns),
            kinds=tuple(self.kinds[k] for k in columns),
        )

    def _without_gaps(self) -> "Rows":
        known = (self.levels >= 0).all(1)
        if int(known.sum()) < FEWEST:
            raise DataError(
                f"Only {int(known.sum())} of {len(self)} rows have all labels "
                f"({', '.join(self.names)}); give fewer labels or fill the gaps."
            )
        return self[known]


def _correlation(codes: Tensor, values: Tensor, ranks: bool) -> Float[Tensor, "z f"]:
    return correlation(*(midranks(codes), midranks(values)) if ranks else (codes, values))
