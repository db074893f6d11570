"""FactorDataset: a factor grid and the image of each of its points."""

from collections.abc import Callable, Sized
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.data import Dataset

from unknot.core.border import check_whole
from unknot.core.errors import ConfigError, DataError
from unknot.core.factor_table import Space
from unknot.core.text import shown


@runtime_checkable
class Images(Protocol):
    """Where pixels come from: stored bytes, stored bits, or a formula."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        ...

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows, in [0, 1], on the device that holds them."""
        ...

    def to(self, device: torch.device) -> "Images":
        """The same images held by another device."""
        ...


@runtime_checkable
class NuisanceVariants(Protocol):
    """Images of which each row has variants: the same factors, other nuisances.

    Row ``r`` of ``size`` has its variant ``v`` at the index ``r + size * v``, and a plain row
    number is variant 0. Training draws a variant with each row; scores, codes and pictures take
    plain rows, so that an image is the same whenever it is looked at.
    """

    @property
    def variants(self) -> int:
        """How many; with the rows few enough that an index fits 63 bits."""
        ...


@runtime_checkable
class FileSettings(Protocol):
    """Settings of a dataset that its files decide in part, and that a run has to write down."""

    content: str | None
    """A hash of what the files hold: with it, where they lie takes no part in a run's id."""

    @property
    def title(self) -> str:
        """What people call the dataset."""
        ...

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width, once they are decided."""
        ...

    @property
    def unbounded(self) -> bool:
        """Whether values lie outside [0, 1]."""
        ...

    def pin(self, on_progress: Callable[[int, int], None] = ...) -> "FileSettings":
        """The same settings with what the files decide written down."""
        ...


@dataclass(frozen=True)
class FactorDataset(Dataset[Tensor]):
    """A named grid of images, which PyTorch's ``DataLoader`` takes as it is.

    Args:
        name: What the registry calls it.
        space: The factors; row numbers follow its order.
        images: Where the pixels come from.
        mean: Channel means to subtract; empty for images in [0, 1].
        std: Channel deviations to divide by; empty for images in [0, 1].
        note: What was decided when the images were read, for people.
        origin: The settings that it was loaded from, if any: with them a run can load it again.
        columns: Of a table, whose rows are images of one pixel with a channel for each column.
        row_total: Of counts, which `batch` gives as log1p: the median of the rows' totals.
        measured: Whether the scale of values, or mean and deviation, were measured on its own rows
            rather than fixed by who published it.
        measured_on: The split on whose training part they were; None for all rows.
    """

    name: str
    space: Space
    images: Images
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    note: str = ""
    origin: Any = field(default=None, compare=False, repr=False)
    columns: tuple[str, ...] = ()
    row_total: float | None = None
    measured: bool = False
    measured_on: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.images, Sized) and len(self.images) != self.space.size:
            raise DataError(
                f"{self.name} has {len(self.images)} images for {self.space.size} rows of factors."
            )

    def __len__(self) -> int:
        return self.space.size

    def __getitem__(self, row: int) -> Float[Tensor, "c h w"]:
        """One image, as `batch` gives it."""
        row = check_whole("The number of a row", row)
        if not -len(self) <= row < len(self):
            raise IndexError(f"{self.name} has rows 0 to {len(self) - 1}; got {row}.")
        return self.batch(torch.tensor(row % len(self)))

    @property
    def summary(self) -> str:
        """How many images of which size, and what was decided when they were read, in a line."""
        c, h, w = self.shape
        channels = f"{c:,} channel{'' if c == 1 else 's'}"
        size = {
            "rows": f" of {c:,} columns",
            "signals": f" of {w:,} points, {channels}",
            "images": f", {h} x {w} x {c}",
        }[self.noun]
        size = f"{len(self):,} {self.noun if len(self) != 1 else self.noun[:-1]}{size}"
        return f"{size}, {self.note}" if self.note else size

    @property
    def noun(self) -> Literal["images", "rows", "signals"]:
        """What is in it: images, rows of a table, or signals: height 1, and not within [0, 1]."""
        _, h, w = self.shape
        unbounded = bool(self.mean) or self.row_total is not None
        return "rows" if self.columns else "signals" if h == 1 < w and unbounded else "images"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of an image."""
        return self.images.shape

    @property
    def ends(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Of images that are scaled: what becomes 0 in each channel, and what becomes 1."""
        return getattr(self.images, "ends", ((), ()))

    @property
    def streamed(self) -> bool:
        """Whether images stay in the host's memory and go to the device batch by batch.

        Rows are then best drawn on the CPU, where the images are looked up: row numbers on a GPU
        would have to be waited for.
        """
        return bool(getattr(self.images, "streamed", False))

    def batch(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Float images of the given rows: in [0, 1], or standardised where the dataset is.

        Raises:
            DataError: There is no such row.
        """
        return self.at(self.rows(index))

    def at(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """The same for rows that a sampler gave: nobody looks at them, which would cost a wait."""
        return self.standardize(self.images.pixels(index))

    def rows(self, index: Any) -> Int[Tensor, "*n"]:
        """Row numbers as a tensor.

        Raises:
            DataError: They are no whole numbers, or there is no such row.
        """
        rows = _as_tensor(index)
        if not rows.numel():
            return rows.long()
        if rows.is_floating_point() or rows.is_complex() or rows.dtype == torch.bool:
            raise DataError(f"Rows are whole numbers; got {rows.dtype}.")
        first, last = (int(row) for row in rows.aminmax())
        if first < 0 or last >= self.space.size * getattr(self.images, "variants", 1):
            row = first if first < 0 else last
            raise DataError(f"{self.name} has rows 0 to {self.space.size - 1}; got {row}.")
        return rows

    def standardize(self, x: Float[Tensor, "*n c h w"]) -> Float[Tensor, "*n c h w"]:
        """Images in [0, 1] as `batch` gives them; of counts, their log1p."""
        if self.row_total is not None:
            return x.log1p()
        if not self.mean:
            return x
        return (x - _channels(self.mean, x)) / _channels(self.std, x)

    def unit(self, x: Float[Tensor, "*n c h w"]) -> Float[Tensor, "*n c h w"]:
        """Undo the standardisation, for looking at images."""
        if self.row_total is not None:
            return x.expm1()
        if not self.mean:
            return x
        return x * _channels(self.std, x) + _channels(self.mean, x)

    def signature(self) -> list[float]:
        """Numbers by which other images can be told: one for each of 64 rows spread over the grid.

        Each is a mean in which later pixels weigh more. Machines and devices agree on it but for
        rounding, as they need not on a hash.
        """
        n = min(64, len(self))
        x = self.images.pixels(torch.arange(n) * (len(self) // n)).double().flatten(1)
        means: list[float] = (x * torch.linspace(0, 1, x.shape[1]).to(x)).mean(1).tolist()
        return means

    def require_factors(self, who: str, instead: str = "") -> None:
        """Refuse images that came without factors, whose rows differ in their number alone.

        Args:
            who: What needs factors, in the plural, for the message.
            instead: What else one could do.

        Raises:
            ConfigError: They did.
        """
        if self.space.stands_in:
            raise ConfigError(
                f"{who} compare factors and {self.name} has none; "
                f"give labels, or add 'factors' to its file{instead}."
            )

    def to(self, device: torch.device) -> "FactorDataset":
        """The same dataset with its images held by another device."""
        return replace(self, images=self.images.to(device))


def _as_tensor(index: Any) -> Tensor:
    try:
        return index if isinstance(index, Tensor) else torch.as_tensor(index)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise DataError(f"Rows are whole numbers; got {shown(index)}.") from error


def _channels(values: tuple[float, ...], x: Tensor) -> Float[Tensor, "c 1 1"]:
    """One value per channel, filled in on the device: a copy could not be in a CUDA graph."""
    if x.device.type == "cpu":  # of a table with thousands of columns, filling in takes longest
        return x.new_tensor(values)[:, None, None]
    return torch.stack([x.new_full((1, 1), value) for value in values])
