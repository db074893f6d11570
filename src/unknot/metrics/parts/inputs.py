"""What a user gives to metrics: the codes of one model and what goes with them."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from unknot.core.border import check_type, check_whole
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.factor_table import FactorTable, as_table
from unknot.core.factors import KINDS, Kind
from unknot.core.representation import Representation
from unknot.core.text import shown
from unknot.metrics.parts.array_rows import Array
from unknot.metrics.parts.drawing import Codes, check_grid, table_rows, take, take_codes, take_two
from unknot.metrics.parts.given import (
    GivenCodes,
    GivenFactors,
    as_codes,
    as_factors,
    as_factors_of_both,
)
from unknot.metrics.parts.rows import Rows

Images: TypeAlias = Array | Callable[[Tensor], Tensor] | None


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
        check_type("codes", codes, np.ndarray, Tensor, Representation)
        seed = check_whole("seed", seed, 0)
        if test is None:
            factors = as_factors(factors)
        else:
            if not isinstance(test, Sequence) or len(test) != 2:
                raise ConfigError(f"test is a pair, (codes, factors); got {shown(test)}.")
            factors, others = as_factors_of_both(factors, test[1])
            test = as_codes(test[0]), others
        if isinstance(codes, Representation) and isinstance(codes.space, FactorTable):
            check_grid(codes, factors, test)
            index = table_rows(codes.space, seed)
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
        distinct: bool = False,
    ) -> Rows:
        """The rows that a metric sees, with its seed; see `take`.

        ``split`` is how many rows to test on, and whether they differ (`take_two`); ``posteriors``
        names who reads log-variances too, for messages.
        """
        if split and split[0] == 0 and self.test is None:
            split = None
        if not isinstance(self.codes, Representation) and samples is not None and not split:
            samples = None if self.codes.ndim and samples >= len(self.codes) else samples
        key = (samples, factors, split, bool(posteriors), distinct)
        if key not in self._rows:
            grid = self.codes if isinstance(self.codes, Representation) else None
            rows = (
                self._split(samples, *split)
                if split
                else self._take(samples, factors, posteriors, distinct)
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

    def _take(self, samples: int | None, factors: bool, posteriors: str, distinct: bool) -> Rows:
        codes = side_by_side(posteriors, self.codes, self.logvar) if posteriors else self.codes
        if factors:
            rows = take(codes, self.factors, samples=samples, seed=self.seed, distinct=distinct)
        else:
            rows = take_codes(codes, samples=samples, seed=self.seed, distinct=distinct)
        if not posteriors:
            return rows
        mean, logvar = rows.codes.chunk(2, dim=1)
        return replace(rows, codes=mean, logvar=logvar)


def side_by_side(metric: str, codes: Codes, logvar: Codes | None) -> Codes:
    """Means and log-variances of posteriors as one table, so that rows are drawn for both."""
    if logvar is None:
        raise ConfigError(
            f"{metric} reads whole posteriors: give their means as codes and their log-variances, "
            "of the same shape, as `logvar`; in a file, as the array `logvars`."
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


def _ask(images: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """What a function of rows gives."""
    check_type("What images gives", pictures := images(rows), Tensor)
    return pictures


def _pictures(
    images: Array | Callable[[Tensor], Tensor], codes: Codes
) -> Callable[[Tensor], Tensor]:
    if callable(images):
        return partial(_ask, images)
    check_type("images", images, np.ndarray, Tensor)
    rows = codes.space.size if isinstance(codes, Representation) else len(codes)
    if len(images) != rows:
        raise ShapeError(f"Expected {rows} images, one per row; got {len(images)}.")
    if isinstance(images, Tensor):
        return lambda index: images[index.to(images.device)]
    return lambda index: torch.from_numpy(images[index.numpy()])
