"""Pictures of a dataset, and of a model's reconstructions and samples."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ShapeError
from unknot.core.factor_table import FactorTable
from unknot.losses.counts import row_totals
from unknot.losses.overlap import Overlap
from unknot.report.model.latents import check_member, sample_rows
from unknot.report.model.traversals import decode, middle_row, title
from unknot.report.sheet import Row, pixels, sheet
from unknot.runs.run import Run

ACROSS = 9
BRIGHTEST = 16
"""Largest factor by which mean images are brightened."""
AVERAGED = 512
"""Images and samples of a mean image."""


def reconstruct(
    run: Run, member: int = 0, *, n: int
) -> tuple[Float[Tensor, "n c h w"], Float[Tensor, "n c h w"]]:
    """Images of the dataset, and what the decoder makes of the means of their codes.

    Decoded counts have the totals of the rows that they are of.
    """
    x = run.dataset.batch(sample_rows(run, n)[:n])
    decoded = decode(run, run.encode(x).reshape(len(run.spec.seed_list), len(x), -1))
    y = decoded[check_member(run, member)].to(x)
    if run.dataset.row_total is not None:
        y = (y.expm1() * row_totals(x) / run.dataset.row_total).log1p()
    return x, y


def pairs(run: Run, member: int = 0, *, n: int) -> UInt8[np.ndarray, "2 n h w 3"]:
    """Images of the dataset, and their reconstructions."""
    return np.stack([pixels(run.dataset, part) for part in reconstruct(run, member, n=n)])


def prior_samples(run: Run, member: int = 0, *, n: int) -> UInt8[np.ndarray, "n h w 3"]:
    """What the decoder makes of codes drawn from the prior, the same codes for every run."""
    z = noise.normal(0, "report", 1, n, run.spec.net.settings.latents)
    decoded = decode(run, z.expand(len(run.spec.seed_list), *z.shape))
    return pixels(run.dataset, decoded[check_member(run, member)])


def with_differences(run: Run, member: int = 0, *, n: int) -> UInt8[np.ndarray, "3 n h w 3"]:
    """Images, their reconstructions, and the absolute difference of each pixel."""
    image, model = pairs(run, member, n=n)
    off = np.abs(image.astype(np.int16) - model).astype(np.uint8)
    return np.stack([image, model, off])


def mean_images(run: Run, member: int = 0) -> UInt8[np.ndarray, "3 h w 3"]:
    """Mean image of the dataset, mean of decoded samples from the prior, and their difference."""
    rows = sample_rows(run, AVERAGED)[:AVERAGED]
    data = pixels(run.dataset, run.dataset.batch(rows)).mean(0)
    sampled = prior_samples(run, member, n=AVERAGED).mean(0)
    return np.stack([data, sampled, np.abs(data - sampled)]).round().astype(np.uint8)


def brightness(images: UInt8[np.ndarray, "..."]) -> int:
    """The whole factor that makes dark images, such as means of sparse ones, as bright as can be.

    Example:
        >>> brightness(np.array([3, 60], np.uint8)), brightness(np.array([0], np.uint8))
        (4, 1)
    """
    return min(BRIGHTEST, 255 // int(images.max())) if images.any() else 1


def reconstructions(run: Run, member: int = 0) -> UInt8[np.ndarray, "h w 3"]:
    """Rows of images, each above its reconstructions."""
    both = pairs(run, member, n=2 * ACROSS)
    rows = [
        Row((name,), images, apart=name == "image" and start > 0)
        for start in range(0, both.shape[1], ACROSS)
        for name, images in zip(
            ("image", "reconstruction"), both[:, start : start + ACROSS], strict=True
        )
    ]
    return sheet(
        rows,
        title=f"Reconstructions: {title(run, member)}",
        note="Images of the dataset, each above its reconstruction.",
    )


def samples(run: Run, member: int = 0) -> UInt8[np.ndarray, "h w 3"]:
    """Images decoded from samples of the prior."""
    decoded = prior_samples(run, member, n=4 * ACROSS)
    return sheet(
        [Row((), images) for images in decoded.reshape(4, ACROSS, *decoded.shape[1:])],
        title=f"Samples from the prior: {title(run, member)}",
        note="Codes sampled from the standard normal prior and decoded. "
        "Samples of a good model look like the data.",
    )


def dataset_picture(
    dataset: FactorDataset,
    *,
    row: int | None = None,
    columns: int = 12,
    kernel: Overlap | None = None,
) -> UInt8[np.ndarray, "h w 3"]:
    """One row per factor, which moves through its values while the others stay.

    Of images without factors, some that are spread evenly over the rows.

    Args:
        dataset: What to show.
        row: The image to start from; the middle of the grid by default.
        columns: How many values to show at most, evenly chosen.
        kernel: Draw below each row of a factor what this kernel makes of it (Michlo 2022,
            figure 6.3).
    """
    space = dataset.space
    if kernel is not None:
        check_blur(dataset, kernel)
    if space.stands_in:
        return _contact_sheet(dataset, columns)
    if isinstance(space, FactorTable):
        return _label_sheet(dataset, space, columns)
    start = torch.tensor(middle_row(space) if row is None else row)
    rows: list[Row] = []
    for f, (name, size, kind) in enumerate(zip(space.names, space.sizes, space.kinds, strict=True)):
        values = np.linspace(0, size - 1, min(size, columns)).round().astype(np.int64)
        index = space.traversal(start, f)[torch.from_numpy(values)]
        count = f"{size} values" if len(values) == size else f"{len(values)} of {size} values"
        x = dataset.batch(index)
        rows.append(Row((name, count, kind), pixels(dataset, x), apart=bool(rows and kernel)))
        if kernel is not None:
            rows.append(Row((f"{name}, blurred",), _blurred(dataset, x, kernel)))
    c, h, w = dataset.shape
    below = "" if kernel is None else f" Below it: the same through a {kernel.caption}."
    return sheet(
        rows,
        title=f"{dataset.name}: {len(dataset):,} {dataset.noun}",
        note=f"Each row varies one factor of the same image; the other factors stay fixed.{below} "
        f"Images are {w} × {h} pixels, {'grey' if c == 1 else 'in colour'}.",
    )


def check_blur(dataset: FactorDataset, kernel: Overlap) -> None:
    """Refuse what has no traversals or no pixels to blur.

    Raises:
        ShapeError: There are no images, or the kernel reaches further than they do.
        DataError: The images have no grid of factors.
    """
    if dataset.noun != "images":
        raise ShapeError(f"A kernel blurs images; {dataset.name} has {dataset.noun}.")
    dataset.require_factors("A picture through a kernel")
    dataset.space.require_grid("A picture through a kernel")
    kernel.check(dataset.shape)


def _blurred(
    dataset: FactorDataset, x: Float[Tensor, "n c h w"], kernel: Overlap
) -> UInt8[np.ndarray, "n h w 3"]:
    """Images through a kernel, from black to the brightest of them."""
    unit = kernel.blur(dataset.unit(x)).clamp(min=0)
    plain = replace(dataset, mean=(), std=())
    return pixels(plain, unit / unit.max().clamp(min=torch.finfo(unit.dtype).tiny))


def _label_sheet(
    dataset: FactorDataset, table: FactorTable, columns: int
) -> UInt8[np.ndarray, "h w 3"]:
    """One row per label: for some of its values, the first image that has it."""
    rows = []
    for k, (name, size, kind) in enumerate(zip(table.names, table.sizes, table.kinds, strict=True)):
        column = table.values[:, k]
        present = column[column >= 0].unique()
        places = np.linspace(0, len(present) - 1, min(len(present), columns)).round()
        index = torch.stack([(column == present[int(p)]).nonzero()[0, 0] for p in places])
        count = f"{size} values" if len(index) == size else f"{len(index)} of {size} values"
        rows.append(Row((name, count, kind), pixels(dataset, dataset.batch(index))))
    return sheet(
        rows,
        title=f"{dataset.name}: {len(dataset):,} {dataset.noun}",
        note=f"Each row shows one of the {dataset.noun} for each of several values of a label.",
    )


def _contact_sheet(dataset: FactorDataset, columns: int) -> UInt8[np.ndarray, "h w 3"]:
    """Images spread evenly over the rows, at most four lines of them."""
    count = min(len(dataset), 4 * columns)
    index = torch.arange(count) * (len(dataset) - 1) // max(count - 1, 1)
    images = pixels(dataset, dataset.batch(index))
    rows = [Row((), images[start : start + columns]) for start in range(0, count, columns)]
    choice = f"All {dataset.noun}" if count == len(dataset) else f"{count}, evenly chosen"
    return sheet(rows, title=dataset.name, note=f"{choice}. {dataset.summary}.")
