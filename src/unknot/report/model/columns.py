"""What the columns of a table do: how far each latent moves them, how well they are decoded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.text import number, shorten
from unknot.report.model.latents import Latents, check_member, sample_rows
from unknot.report.model.pictures import reconstruct
from unknot.report.model.traversals import REACH, decoded_sweep
from unknot.runs.run import Run

SAMPLE = 2048
"""Rows that columns are measured on."""
LONGEST = 24
"""Characters of a column's name in a figure."""


@dataclass(frozen=True)
class ColumnChanges:
    """Columns decoded while one latent moves from 2 standard deviations below its mean to 2 above.

    The other latents keep the code of one row.
    """

    names: tuple[str, ...]
    low: Float[np.ndarray, "z d"]
    """In the units of the table."""
    high: Float[np.ndarray, "z d"]
    change: Float[np.ndarray, "z d"]
    """From low to high, in standard deviations of the column; of counts those of log1p."""

    def top(self, latent: int, count: int) -> list[int]:
        """Columns that move most with a latent."""
        return [int(c) for c in np.argsort(-np.abs(self.change[latent]), kind="stable")[:count]]

    def text(self, latent: int, column: int) -> str:
        """How a column moves, in its own units."""
        ends = (number(float(side[latent, column]), 3) for side in (self.low, self.high))
        return f"{shorten(self.names[column], LONGEST)}  {' → '.join(ends)}"

    def texts(self, count: int = 3) -> list[str]:
        """How the columns that move most with each latent do."""
        return [
            ", ".join(self.text(z, c) for c in self.top(z, count)) for z in range(len(self.low))
        ]


def measure_columns(run: Run, latents: Sequence[Latents], member: int = 0) -> ColumnChanges:
    """How far each latent of a model moves each column.

    Args:
        run: Trained models of a table.
        latents: From `measure_latents`, one for each model.
        member: Which model.
    """
    check_member(run, member)
    ends = np.array([-REACH, REACH])
    steps = decoded_sweep(run, latents, ends, members=(member,))
    by_rank = torch.stack([decoded[0] for decoded in steps])
    values = torch.empty_like(by_rank)
    values[latents[member].order] = by_rank
    spread = _spreads(run)
    change = (values[:, 1] - values[:, 0])[..., 0, 0].double().cpu().numpy() / spread
    low, high = _units(run.dataset, values).transpose(1, 0, 2)
    return ColumnChanges(run.dataset.columns, low, high, change)


def reconstruct_rows(
    run: Run, member: int = 0, *, n: int = SAMPLE
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]]:
    """Rows and what the decoder makes of their codes, as `dataset.batch` has them."""
    x, decoded = reconstruct(run, member, n=n)
    return x.flatten(1), decoded.flatten(1)


def explained_share(
    x: Float[Tensor, "n d"], decoded: Float[Tensor, "n d"]
) -> Float[np.ndarray, " d"]:
    """R² of each column: the share of its variance that is decoded; NaN for one of one value.

    Example:
        >>> x = torch.tensor([[0.0, 1.0], [2.0, 1.0]])
        >>> explained_share(x, torch.ones(2, 2)).tolist()
        [0.0, nan]
    """
    x, decoded = x.double().cpu(), decoded.double().cpu()
    total = (x - x.mean(0)).square().sum(0)
    share = 1 - (x - decoded).square().sum(0) / total
    return torch.where(total > 0, share, torch.nan).numpy()


def in_units(dataset: FactorDataset, x: Float[Tensor, "n d"]) -> Float[np.ndarray, "n d"]:
    """Numbers as the table has them."""
    return _units(dataset, x[..., None, None])


def _units(dataset: FactorDataset, x: Float[Tensor, "*n d 1 1"]) -> Float[np.ndarray, "*n d"]:
    return dataset.unit(x)[..., 0, 0].double().cpu().numpy()


def _spreads(run: Run) -> Float[np.ndarray, " d"]:
    """Standard deviation of each column as `dataset.batch` has it; 1 where it is not known."""
    if not run.has_data:
        return np.ones(len(run.dataset.columns))
    x = run.dataset.batch(sample_rows(run, SAMPLE)).flatten(1).double().cpu().numpy()
    spread = x.std(0)
    return np.where(spread > 0, spread, 1.0)
