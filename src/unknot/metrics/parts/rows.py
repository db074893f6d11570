"""Rows: checked codes and factors, the only thing a metric computes on."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import compress
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from unknot.core import noise
from unknot.core.border import check_mask, check_type
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.factor_table import FactorTable, Space, as_table
from unknot.core.factors import KINDS, Kind
from unknot.core.representation import Representation
from unknot.metrics.parts.given import (
    GivenCodes,
    GivenFactors,
    as_codes,
    as_factors,
    as_factors_of_both,
)
from unknot.metrics.parts.information import (
    Counting,
    Information,
    correlation,
    discretize,
    information,
    midranks,
)

Array: TypeAlias = Tensor | NDArray[Any]
Codes: TypeAlias = Array | Representation
Labels: TypeAlias = Array | FactorTable
Factors: TypeAlias = Labels | None
Test: TypeAlias = tuple[Array, Labels] | None
Images: TypeAlias = Array | Callable[[Tensor], Tensor] | None
T = TypeVar("T")

FEWEST = 10
"""Fewer rows than this say nothing about any metric."""
GRID_SAMPLES, GRID_TEST_SAMPLES = 10_000, 5_000
"""Grid points drawn where a protocol asks for all given rows."""
TABLE_ROWS = 20_000
"""Rows of a table of labels that metrics look at, at most."""
QUANTILE_BINS = 20
"""Levels of a continuous factor for metrics that count or classify: bins of equal mass."""
LARGEST_FACTOR = 2**53
"""Beyond it float64, in which some metrics compute on factors, does not tell all numbers apart."""
LARGEST_SHUFFLE = 10_000_000
"""Larger grids are drawn with replacement; one point in a hundred is then drawn twice at most."""


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

    def complete(self) -> "Rows":
        """Only rows that have all labels, to learn from and to test on."""
        if not self.has_gaps and not (self.test and self.test.has_gaps):
            return self

        def compute() -> Rows:
            train = _without_gaps(self)
            test = None if self.test is None else _without_gaps(self.test)
            gone = len(self) - len(train)
            if self.test is not None and test is not None:
                gone += len(self.test) - len(test)
            rows = _with_remark(train, f"{gone:,} rows that lack a label were left out")
            varying = _varying(rows, len(rows))
            if test is None:
                columns = [torch.unique(c, return_inverse=True)[1] for c in varying.levels.T]
                return replace(varying, levels=torch.stack(columns, dim=1))
            kept = [rows.names.index(name) for name in varying.names]
            return replace(varying, test=_choose(test, kept))

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


def take(codes: Codes, factors: Factors = None, *, samples: int | None, seed: int) -> Rows:
    """The rows a metric sees: at most so many of given rows, chosen by the seed, or of a grid.

    A grid is drawn with replacement. Without ``samples`` these are all given rows, or 10,000
    different grid points.
    """
    if isinstance(codes, Representation):
        _check_grid(codes, factors, None)
        return _take_grid(codes, samples=samples, seed=seed)
    rows = _from_arrays(codes, factors, None)
    if samples is not None and len(rows) > samples:
        rows = rows[_permutation(seed, len(rows))[:samples]]
    return _varying(rows, len(rows))


def _take_grid(codes: Representation, *, samples: int | None, seed: int) -> Rows:
    """Rows of a grid, as `take` has them, whether or not it has factors."""
    if samples is None:
        index = _shuffled(codes.space, seed)[:GRID_SAMPLES]
    else:
        index = noise.integers(seed, "metric/rows", 0, samples, high=codes.space.size)
    return _from_grid(codes, index, len(index))


def take_codes(codes: Codes, *, samples: int | None, seed: int) -> Rows:
    """The rows that other metrics see under the same seed, without factors; see `take`."""
    if isinstance(codes, Representation) and isinstance(codes.space, FactorTable):
        codes = codes.codes(_table_rows(codes.space, seed))
    if isinstance(codes, Representation):
        rows = _take_grid(codes, samples=samples, seed=seed)
    else:
        check_type("codes", codes, np.ndarray, Tensor)
        # The number of a row stands in for its factors, so that codes are checked in one place.
        stand_in = torch.arange(len(codes) if codes.ndim else 0)[:, None]
        rows = take(codes, stand_in, samples=samples, seed=seed)
    nothing = rows.values[:, :0]
    return replace(rows, values=nothing, levels=nothing, names=(), kinds=(), remarks=())


def take_two(
    codes: Codes,
    factors: Factors,
    test: Test,
    *,
    samples: int | None,
    test_samples: int | None,
    seed: int,
    distinct: bool = False,
) -> tuple[Rows, Rows]:
    """Rows to learn from and rows to test on, with levels numbered alike.

    Given rows without a test set are split at random in the proportion of the two sizes. With
    ``test_samples=0`` both are the same rows. ``distinct`` draws different points of a grid.
    Other arguments and errors are those of `take`.
    """
    if test_samples == 0:
        rows = take(codes, factors, samples=samples, seed=seed)
        if test is not None:
            rows = _with_remark(
                rows, "fits and evaluates on the same rows; the test set was not used"
            )
        return rows, rows
    sizes = (samples or GRID_SAMPLES, test_samples or GRID_TEST_SAMPLES)
    if isinstance(codes, Representation):
        _check_grid(codes, factors, test)
        return _two_from_grid(codes, sizes, seed, distinct)
    if test is not None:
        rows = _from_arrays(codes, factors, test)
        cut = len(codes)
        train, other = torch.arange(cut), torch.arange(cut, len(rows))
        if samples is not None and cut > samples:
            train = _permutation(seed, cut)[:samples]
        if test_samples is not None and len(other) > test_samples:
            other = cut + _permutation(seed, len(other))[:test_samples]
        used, cut = torch.cat([train, other]), len(train)
    else:
        rows = _from_arrays(codes, factors, None)
        n = len(rows) if samples is None else min(len(rows), sum(sizes))
        used, cut = _permutation(seed, len(rows))[:n], round(n * sizes[0] / sum(sizes))
    rows = _varying(rows[used], cut)
    return rows[:cut], rows[cut:]


def _two_from_grid(
    grid: Representation, sizes: tuple[int, int], seed: int, distinct: bool
) -> tuple[Rows, Rows]:
    if distinct:
        index = _shuffled(grid.space, seed)[: sum(sizes)]
        cut = round(len(index) * sizes[0] / sum(sizes))
    else:
        high = grid.space.size
        train = noise.integers(seed, "metric/rows", 0, sizes[0], high=high)
        other = noise.integers(seed, "metric/test rows", 0, sizes[1], high=high)
        index, cut = torch.cat([train, other]), sizes[0]
    rows = _from_grid(grid, index, cut)
    share = torch.isin(index[cut:], index[:cut]).double().mean().item()
    if share > 0.05:
        rows = _with_remark(rows, f"{100 * share:.0f} % of the test points are training points too")
    return rows[:cut], rows[cut:]


def _with_remark(rows: Rows, remark: str) -> Rows:
    return replace(rows, remarks=(*rows.remarks, remark))


def _check_grid(codes: Representation, factors: Factors, test: Test) -> None:
    if factors is not None or test is not None:
        raise ConfigError(
            "A Representation brings its own factors and rows; leave `factors` and `test` out."
        )
    if codes.space.stands_in:
        raise ConfigError(
            "This metric compares codes with factors and the images have none; add 'factors' to "
            "their file."
        )


def _table_rows(table: FactorTable, seed: int) -> Int[Tensor, " n"]:
    """All rows of a table, or as many as metrics look at."""
    if table.size <= TABLE_ROWS:
        return torch.arange(table.size)
    return noise.permutation(seed, "metric/table", 0, table.size, 1)[:TABLE_ROWS, 0]


def _correlation(codes: Tensor, values: Tensor, ranks: bool) -> Float[Tensor, "z f"]:
    return correlation(*(midranks(codes), midranks(values)) if ranks else (codes, values))


def _shuffled(space: Space, seed: int) -> Int[Tensor, " n"]:
    if space.size > LARGEST_SHUFFLE:
        return noise.integers(
            seed, "metric/rows", 0, GRID_SAMPLES + GRID_TEST_SAMPLES, high=space.size
        )
    return _permutation(seed, space.size)


@lru_cache(maxsize=2)  # every score of a grid shuffles it alike, and most do little else
def _permutation(seed: int, n: int) -> Int[Tensor, " n"]:
    return noise.permutation(seed, "metric/rows", 0, n, 1)[:, 0]


def _from_grid(grid: Representation, index: Int[Tensor, " n"], cut: int) -> Rows:
    codes = grid.codes(index).detach().double()
    _check_codes(codes)
    values = grid.factors(index).to(codes.device)
    return _varying(_rows(codes, values, grid.space.names, grid.space.kinds), cut)


def _from_arrays(codes: Array, factors: Factors, test: Test) -> Rows:
    if factors is None:
        raise ConfigError("Codes as an array need the factors of the same rows: pass `factors`.")
    pairs = [(codes, factors)] if test is None else [(codes, factors), test]
    if isinstance(factors, FactorTable):
        return _from_tables([(c, f) for c, f in pairs if isinstance(f, FactorTable)])
    checked = [_pair(c, f) for c, f in pairs if not isinstance(f, FactorTable)]
    if len(checked) < len(pairs):
        raise ConfigError("Factors of the test rows must be an array, as those of the others are.")
    widths = {(c.shape[1], f.shape[1]) for c, f in checked}
    if len(widths) > 1:
        raise ShapeError(
            "Test arrays need as many codes and factors as the others; got (codes, factors) "
            f"{sorted(widths)}."
        )
    all_codes, all_values = (torch.cat(parts) for parts in zip(*checked, strict=True))
    names = tuple(f"factor {k}" for k in range(all_values.shape[1]))
    ordered: Kind = "ordered"
    return _rows(all_codes, all_values, names, (ordered,) * len(names))


def _from_tables(pairs: Sequence[tuple[Array, FactorTable]]) -> Rows:
    """Rows of labelled codes, and of those to test on after them."""
    first = pairs[0][1]
    scale = first.names, first.kinds, first.levels
    if any((table.names, table.kinds, table.levels) != scale for _, table in pairs):
        raise DataError("Labels of the test rows need the names, kinds and levels of the others.")
    for codes, table in pairs:
        if len(codes) != table.size:
            raise ShapeError(
                f"Codes and labels need one row per point each; got {len(codes)} and {table.size}."
            )
    stand_ins = [torch.arange(table.size)[:, None] for _, table in pairs]
    codes = torch.cat([_pair(c, s)[0] for (c, _), s in zip(pairs, stand_ins, strict=True)])
    table = FactorTable(
        first.names, first.kinds, first.levels, torch.cat([table.values for _, table in pairs])
    )
    values = torch.stack([table.numbers(k) for k in range(len(table))], dim=1)
    levels = [_number(values[:, k], kind) for k, kind in enumerate(table.kinds)]
    if bool((values == values.round()).all()):  # NaN equals nothing
        values = values.long()
    device = codes.device
    return Rows(
        codes,
        values.to(device),
        torch.stack(levels, dim=1).to(device),
        table.names,
        table.kinds,
    )


def _number(values: Float[Tensor, " n"], kind: Kind) -> Int[Tensor, " n"]:
    """Levels from 0 without gaps, -1 where a value is missing."""
    known = ~values.isnan()
    levels = torch.full(values.shape, -1)
    bins = QUANTILE_BINS if kind == "continuous" else len(values)
    levels[known] = discretize(values[known, None], bins, "quantile")[:, 0]
    return levels


def _pair(codes: Array, factors: Array) -> tuple[Tensor, Tensor]:
    """One pair of arrays, checked, as float64 and int64 on the device of the codes."""
    for name, array in (("codes", codes), ("factors", factors)):
        check_type(name, array, np.ndarray, Tensor)
        if array.ndim != 2 or 0 in array.shape:
            raise ShapeError(
                f"Expected {name} as a table [rows, columns] with both above 0; got shape "
                f"{tuple(array.shape)}. One column is array.reshape(-1, 1)."
            )
    if len(codes) != len(factors):
        raise ShapeError(
            f"Codes and factors need one row per point each; got {len(codes)} and {len(factors)}."
        )
    if len(codes) < FEWEST:
        raise DataError(f"A metric needs at least {FEWEST} rows; got {len(codes)}.")
    numbers, values = _tensor(codes, "codes").double(), _tensor(factors, "factors")
    _check_codes(numbers)
    real = values.double()
    integral = (real == real.round()) & (real.abs() < LARGEST_FACTOR)
    if not bool(integral.all()):
        raise DataError(
            "Factors must be whole numbers between -2^53 and 2^53, one per value of the factor; "
            f"got {real[~integral][0].item():g}. Number the values first: "
            "numpy.unique(column, return_inverse=True)[1]."
        )
    return numbers, values.long().to(numbers.device)


def _tensor(array: Array, name: str) -> Tensor:
    if isinstance(array, Tensor):
        if array.is_complex():
            raise DataError(f"Expected real numbers in {name}; got the type {array.dtype}.")
        return array.detach()
    check_mask(array, name)
    if array.dtype.kind not in "fiub":
        raise DataError(f"Expected real numbers in {name}; got the type {array.dtype}.")
    # A copy: torch warns about arrays that cannot be written to, and has no unsigned 16 to 64 bit;
    # of these the largest would come out negative as signed ones.
    return torch.from_numpy(array.astype(np.float64 if array.dtype.kind in "fu" else np.int64))


def _check_codes(codes: Tensor) -> None:
    finite = codes.isfinite()
    if not bool(finite.all()):
        raise DataError(
            f"{int((~finite).any(1).sum())} of {len(codes)} rows have codes that are NaN or "
            "infinite; leave these rows out, or look for the divergence of the model."
        )


def _rows(codes: Tensor, values: Tensor, names: tuple[str, ...], kinds: tuple[Kind, ...]) -> Rows:
    columns = [torch.unique(column, return_inverse=True)[1] for column in values.T]
    return Rows(codes, values, torch.stack(columns, dim=1), names, kinds)


def _varying(rows: Rows, cut: int) -> Rows:
    """Without the factors that have a single value in the first ``cut`` rows."""
    first = rows.levels[:cut].amax(0)  # some level, where there is any
    varies = ((rows.levels[:cut] != first) & (rows.levels[:cut] >= 0)).any(0).tolist()
    if not any(varies):
        raise DataError(
            "Every factor has one single value in these rows: there is nothing to find."
        )
    if all(varies):
        return rows
    varying = _choose(rows, [*compress(range(len(varies)), varies)])
    left = [name for name in rows.names if name not in varying.names]
    return _with_remark(varying, f"left out for having one value: {', '.join(left)}")


def _choose(rows: Rows, columns: Sequence[int]) -> Rows:
    """The same rows with some of their factors."""
    return replace(
        rows,
        values=rows.values[:, columns],
        levels=rows.levels[:, columns],
        names=tuple(rows.names[k] for k in columns),
        kinds=tuple(rows.kinds[k] for k in columns),
    )


def _without_gaps(rows: Rows) -> Rows:
    known = (rows.levels >= 0).all(1)
    if int(known.sum()) < FEWEST:
        raise DataError(
            f"Only {int(known.sum())} of {len(rows)} rows have all labels "
            f"({', '.join(rows.names)}); give fewer labels or fill the gaps."
        )
    return rows[known]


class Inputs:
    """The codes of one model and what goes with them; metrics of the same settings share rows."""

    def __init__(
        self,
        codes: GivenCodes,
        factors: GivenFactors = None,
        seed: int = 0,
        logvar: GivenCodes = None,
        test: tuple[GivenCodes, GivenFactors] | None = None,
        kinds: Sequence[str] | None = None,
        images: Images = None,
    ) -> None:
        codes, logvar = as_codes(codes), as_codes(logvar)
        if test is None:
            factors = as_factors(factors)
        else:
            factors, others = as_factors_of_both(factors, test[1])
            test = as_codes(test[0]), others
        if isinstance(codes, Representation) and isinstance(codes.space, FactorTable):
            _check_grid(codes, factors, test)
            index = _table_rows(codes.space, seed)
            factors, codes = as_table(codes.space, index), codes.codes(index)
            if isinstance(logvar, Representation):
                logvar = logvar.codes(index)
            if callable(images):
                images = partial(_images_at, images, index)
        self.codes, self.factors, self.seed, self.logvar = codes, factors, seed, logvar
        self.test, self.kinds, self.images = test, kinds, images
        self._rows: dict[Hashable, Rows] = {}

    def rows(
        self,
        samples: int | None,
        *,
        factors: bool = True,
        split: tuple[int | None, bool] | None = None,
        posteriors: str = "",
    ) -> Rows:
        """The rows that a metric sees, with its seed; see `take`.

        ``split`` is how many rows to test on, and whether they differ (`take_two`); ``posteriors``
        names who reads log-variances too, for messages.
        """
        if split and split[0] == 0 and self.test is None:
            split = None
        if not isinstance(self.codes, Representation) and samples is not None and not split:
            samples = None if self.codes.ndim and samples >= len(self.codes) else samples
        key = (samples, factors, split, bool(posteriors))
        if key not in self._rows:
            grid = self.codes if isinstance(self.codes, Representation) else None
            rows = (
                self._split(samples, *split) if split else self._take(samples, factors, posteriors)
            )
            self._rows[key] = replace(rows, seed=self.seed, grid=grid)
        rows = self._rows[key]
        if self.kinds is not None:
            rows = replace(rows, kinds=_checked_kinds(self.kinds, rows))
        if self.images is not None:
            rows = replace(rows, images=_pictures(self.images, self.codes))
        return rows

    def _split(self, samples: int | None, test_samples: int | None, distinct: bool) -> Rows:
        train, test = take_two(
            self.codes, self.factors, self.test, samples=samples, test_samples=test_samples,
            seed=self.seed, distinct=distinct,
        )  # fmt: skip
        return train if test is train else replace(train, test=test)

    def _take(self, samples: int | None, factors: bool, posteriors: str) -> Rows:
        codes = side_by_side(posteriors, self.codes, self.logvar) if posteriors else self.codes
        if factors:
            rows = take(codes, self.factors, samples=samples, seed=self.seed)
        else:
            rows = take_codes(codes, samples=samples, seed=self.seed)
        if not posteriors:
            return rows
        mean, logvar = rows.codes.chunk(2, dim=1)
        return replace(rows, codes=mean, logvar=logvar)


def side_by_side(metric: str, codes: Codes, logvar: Codes | None) -> Codes:
    """Means and log-variances of posteriors as one table, so that rows are drawn for both."""
    if logvar is None:
        raise ConfigError(
            f"{metric} reads whole posteriors: give their means as codes and their log-variances, "
            "of the same shape, as `logvar`."
        )
    if isinstance(codes, Representation) and isinstance(logvar, Representation):
        if codes.space != logvar.space or codes.latents != logvar.latents:
            raise ShapeError("logvar must be of the grid and the codes that it goes with.")
        means, logvars = codes, logvar
        return Representation(
            codes.space,
            2 * codes.latents,
            lambda index: torch.cat([means.codes(index), logvars.codes(index)], dim=1),
        )
    if isinstance(codes, Representation) or isinstance(logvar, Representation):
        raise ShapeError("Codes and logvar must both be arrays, or both representations.")
    if codes.shape != logvar.shape:
        raise ShapeError(
            f"Expected logvar of the shape of codes, {tuple(codes.shape)}; "
            f"got {tuple(logvar.shape)}."
        )
    mean, other = (take_codes(array, samples=None, seed=0).codes for array in (codes, logvar))
    return torch.cat([mean, other.to(mean.device)], dim=1)


def _checked_kinds(kinds: Sequence[str], rows: Rows) -> tuple[Kind, ...]:
    checked = tuple(kind for name in kinds for kind in KINDS if kind == name)
    if not len(checked) == len(kinds) == len(rows.names):
        raise ConfigError(
            f"Expected one kind of {KINDS} for each of the {len(rows.names)} factors that vary; "
            f"got {tuple(kinds)}."
        )
    return checked


def _images_at(images: Callable[[Tensor], Tensor], index: Tensor, rows: Tensor) -> Tensor:
    return images(index[rows])


def _pictures(
    images: Array | Callable[[Tensor], Tensor], codes: Codes
) -> Callable[[Tensor], Tensor]:
    if callable(images):
        return images
    rows = codes.space.size if isinstance(codes, Representation) else len(codes)
    if len(images) != rows:
        raise ShapeError(f"Expected {rows} images, one per row; got {len(images)}.")
    if isinstance(images, Tensor):
        return lambda index: images[index.to(images.device)]
    return lambda index: torch.from_numpy(images[index.numpy()])
