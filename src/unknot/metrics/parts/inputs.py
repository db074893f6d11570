"""Inputs: the codes of one model and what goes with them, from which metrics take their rows."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import torch
from torch import Tensor

from unknot.core.errors import ConfigError, ShapeError
from unknot.core.factors import KINDS, Kind
from unknot.core.representation import Representation
from unknot.metrics.parts.rows import (
    Array,
    Codes,
    Factors,
    Rows,
    Test,
    take,
    take_codes,
    take_two,
)

Images: TypeAlias = Array | Callable[[Tensor], Tensor] | None


@dataclass(frozen=True, eq=False)
class Inputs:
    """The codes of one model and what goes with them; metrics of the same settings share rows."""

    codes: Codes
    factors: Factors = None
    seed: int = 0
    logvar: Codes | None = None
    test: Test = None
    kinds: Sequence[str] | None = None
    images: Images = None
    _memory: dict[Hashable, Rows] = field(default_factory=dict, init=False, repr=False)

    def rows(
        self,
        samples: int | None,
        *,
        factors: bool = True,
        split: tuple[int | None, bool] | None = None,
        posteriors: str = "",
    ) -> Rows:
        """The rows that a metric sees, with its seed.

        Args:
            samples: At most so many; see `take`.
            factors: Whether they have factors.
            split: How many rows to test on, and whether they differ; see `take_two`.
            posteriors: Who reads log-variances too, for messages; else they have none.
        """
        if split and split[0] == 0 and self.test is None:
            split = None
        if not isinstance(self.codes, Representation) and samples is not None and not split:
            samples = None if self.codes.ndim and samples >= len(self.codes) else samples
        key = (samples, factors, split, bool(posteriors))
        if key not in self._memory:
            rows = self._take(samples, factors, split, posteriors)
            grid = self.codes if isinstance(self.codes, Representation) else None
            self._memory[key] = replace(rows, seed=self.seed, grid=grid)
        rows = self._memory[key]
        if self.kinds is not None:
            rows = replace(rows, kinds=_checked_kinds(self.kinds, rows))
        if self.images is not None:
            rows = replace(rows, images=_pictures(self.images, self.codes))
        return rows

    def _take(
        self,
        samples: int | None,
        factors: bool,
        split: tuple[int | None, bool] | None,
        posteriors: str,
    ) -> Rows:
        if split:
            train, test = take_two(
                self.codes,
                self.factors,
                self.test,
                samples=samples,
                test_samples=split[0],
                seed=self.seed,
                distinct=split[1],
            )
            return train if test is train else replace(train, test=test)
        codes = side_by_side(posteriors, self.codes, self.logvar) if posteriors else self.codes
        if factors:
            rows = take(codes, self.factors, samples=samples, seed=self.seed)
        else:
            rows = take_codes(codes, samples=samples, seed=self.seed)
        if posteriors:
            mean, logvar = rows.codes.chunk(2, dim=1)
            rows = replace(rows, codes=mean, logvar=logvar)
        return rows


def side_by_side(metric: str, codes: Codes, logvar: Codes | None) -> Codes:
    """Means and log-variances of posteriors as one table, so that rows are drawn for both.

    Args:
        metric: The score that asks, for messages.
        codes: Posterior means ``[n, z]``, or a representation.
        logvar: Log-variances of the same shape, or a representation of them on the same grid.
    """
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
    known = tuple(kind for given in kinds for kind in KINDS if kind == given)
    if not len(known) == len(kinds) == len(rows.names):
        raise ConfigError(
            f"Expected one kind of {KINDS} for each of the {len(rows.names)} factors that vary; "
            f"got {tuple(kinds)}."
        )
    return known


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
