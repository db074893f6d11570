"""Traversals as one asks for them: around an image, over a range, or one latent of many images."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from unknot.core.border import check_whole
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.registry import nearest
from unknot.core.text import number, shown
from unknot.report.model.between import MOST_STEPS, image_of
from unknot.report.model.latents import Latents, check_member, measure_latents, sample_rows
from unknot.report.model.traversals import (
    CLEAR,
    COLUMNS,
    REACH,
    column_names,
    decode,
    latent_lines,
    middle_row,
    title,
)
from unknot.report.sheet import Row, pixels, sheet
from unknot.runs.run import Run

ORDERS = ("kl", "factor")
BASES = 8
"""Images whose latent moves, unless some are named."""
MOST_BASES = 200

Span: TypeAlias = "tuple[float, float] | Mapping[int, tuple[float, float]] | None"
"""Smallest and largest value of every latent, or of each that is named."""


def traverse_latents(
    run: Run,
    member: int = 0,
    *,
    base: Any = None,
    span: Span = None,
    steps: int = COLUMNS,
    order: str = "kl",
) -> UInt8[np.ndarray, "h w 3"]:
    """A row for each latent: the code of an image, decoded while the latent moves.

    Args:
        run: The trained models.
        member: Which model.
        base: An image, or its row; the one in the middle of the data when None.
        span: Values of every latent from which to which, or of each latent that is shown; two
            standard deviations on both sides of its mean when None.
        steps: Columns.
        order: ``kl``: the most informative latents first; ``factor``: those of the first factor.

    Paper: Moğultay Özcan 2024, figure 6.2 (a range for each latent).
    """
    _check_images(run)
    steps = check_whole("steps", steps, 2, MOST_STEPS)
    latents = measure_latents(run)[check_member(run, member)]
    numbers = _order(latents, order)
    spans = _check_span(span, len(numbers))
    if isinstance(span, Mapping):
        numbers = [z for z in numbers if z in spans]
    names = run.dataset.space.names
    code = _codes(run, [_middle(run) if base is None else base], member)
    rows = []
    for z in numbers:
        images = decode_line(run, code, z, places(latents, z, spans.get(z), steps), member)
        lines = latent_lines(latents, z, names)
        if isinstance(span, Mapping):
            lines = (*lines, " to ".join(map(number, spans[z])))
        rows.append(Row(lines, pixels(run.dataset, images[0]), faded=not latents.used[z]))
    note = f"Each row decodes one image's code while one latent moves {_range_text(span)}."
    columns = [] if isinstance(span, Mapping) else _column_names(span, steps)
    return sheet(rows, title=f"Latent traversals: {title(run, member)}", columns=columns, note=note)


def traverse_images(
    run: Run,
    latent: int | str,
    member: int = 0,
    *,
    bases: Sequence[Any] | None = None,
    span: Span = None,
    steps: int = COLUMNS,
) -> UInt8[np.ndarray, "h w 3"]:
    """A row for each image: its code, decoded while one latent moves.

    Args:
        run: The trained models.
        latent: The number of the latent, or a factor, for the latent that follows it most.
        member: Which model.
        bases: Images, or their rows; some of the data when None.
        span: Values of the latent from which to which.
        steps: Columns.

    Paper: Kumar et al. 2018, figures 3 and 4.
    """
    _check_images(run)
    steps = check_whole("steps", steps, 2, MOST_STEPS)
    latents = measure_latents(run)[check_member(run, member)]
    z = _latent(latents, latent, run.dataset.space.names)
    spans = _check_span(span, len(latents.kl))
    if isinstance(span, Mapping) and [*spans] != [z]:
        raise ConfigError(f"span names other latents than z{z}, the one that moves.")
    if bases is None:
        bases = sample_rows(run, BASES)[:BASES].tolist() if run.has_data else []
    if not isinstance(bases, Sequence | np.ndarray | Tensor) or not 0 < len(bases) <= MOST_BASES:
        raise ConfigError(f"bases must be a list of 1 to {MOST_BASES} images or rows.")
    seen = torch.cat([image_of(run, base) for base in bases])
    values = places(latents, z, spans.get(z), steps)
    images = decode_line(run, _codes(run, bases, member), z, values, member)
    table = np.concatenate([pixels(run.dataset, seen)[:, None], pixels(run.dataset, images)], 1)
    rows = [
        Row((_base_name(base),), shown_row) for base, shown_row in zip(bases, table, strict=True)
    ]
    what = ", ".join(latent_lines(latents, z, run.dataset.space.names))
    limits = spans.get(z)
    return sheet(
        rows,
        title=f"Traversals of {what}: {title(run, member)}",
        columns=["image", *_column_names(limits, steps)],
        note=f"Each row decodes the code of its image while z{z} moves {_range_text(limits)}.",
    )


def decode_line(
    run: Run, codes: Float[Tensor, "n z"], latent: int, values: Float[Tensor, " t"], member: int
) -> Float[Tensor, "n t c h w"]:
    """What a member decodes while one latent of each code takes these values."""
    moved = codes[:, None].repeat(1, len(values), 1)
    moved[..., latent] = values.to(moved)
    count = len(run.spec.seed_list)
    return torch.stack([decode(run, row.expand(count, *row.shape))[member] for row in moved])


def places(
    latents: Latents, latent: int, span: tuple[float, float] | None, steps: int
) -> Float[Tensor, " t"]:
    """Values of a latent from left to right."""
    if span is None:
        mean, reach = float(latents.mean[latent]), REACH * float(latents.sd[latent])
        span = mean - reach, mean + reach
    return torch.linspace(*span, steps, dtype=torch.float64)


def factor_order(latents: Latents) -> list[int]:
    """Latents by the factor that they follow, the strongest first; mixed and inactive ones last."""
    shares = np.nan_to_num(latents.explained)
    best, share = shares.argmax(1), shares.max(1)

    def place(z: int) -> tuple[int, int, float]:
        if not latents.used[z]:
            return 2, 0, -float(latents.kl[z])
        return (0, int(best[z]), -float(share[z])) if share[z] >= CLEAR else (1, 0, -latents.kl[z])

    return sorted(range(len(latents.kl)), key=place)


def _order(latents: Latents, order: str) -> list[int]:
    if order not in ORDERS:
        raise ConfigError(f"There is no order '{shown(order)}'{nearest(str(order), [*ORDERS])}")
    if order == "kl":
        return latents.order
    if np.isnan(latents.explained).all():
        raise DataError('order="factor" needs data with factors, and a model that follows some.')
    return factor_order(latents)


def _latent(latents: Latents, latent: int | str, names: Sequence[str]) -> int:
    if not isinstance(latent, str):
        return check_whole("The number of a latent", latent, 0, len(latents.kl) - 1)
    if latent not in names:
        raise ConfigError(f"There is no factor '{shown(latent)}'{nearest(latent, [*names])}")
    return int(np.nan_to_num(latents.explained[:, list(names).index(latent)]).argmax())


def _check_span(span: Span, latents: int) -> dict[int, tuple[float, float]]:
    """The range of each latent that has one."""
    if span is None:
        return {}
    if not isinstance(span, Mapping):
        return dict.fromkeys(range(latents), _pair(span))
    if not span:
        raise ConfigError("span names no latent.")
    return {
        check_whole("The number of a latent", z, 0, latents - 1): _pair(pair)
        for z, pair in span.items()
    }


def _pair(pair: Any) -> tuple[float, float]:
    try:
        low, high = map(float, pair)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError(f"span must be two numbers, the smaller first; got {shown(pair)}.")
    return low, high


def _check_images(run: Run) -> None:
    if run.dataset.noun == "rows":
        raise ShapeError("A table has one traversal, run.traverse(): what each latent moves.")


def _middle(run: Run) -> int | None:
    return middle_row(run.dataset.space) if run.has_data else None


def _codes(run: Run, bases: Sequence[Any], member: int) -> Float[Tensor, "n z"]:
    """Codes of images; that of the prior's middle where there is none."""
    width = run.spec.net.settings.latents
    if any(base is None for base in bases):
        return torch.zeros(len(bases), width)
    images = torch.cat([image_of(run, base) for base in bases])
    return run.encode(images).reshape(len(run.spec.seed_list), len(bases), width)[member]


def _column_names(span: Any, steps: int) -> list[str]:
    if span is not None:
        return [number(v, 3) for v in np.linspace(*_pair(span), steps).round(9) + 0.0]
    return column_names(np.linspace(-REACH, REACH, steps).round(2) + 0.0)


def _range_text(span: Any) -> str:
    if span is None:
        return f"from {REACH:g} standard deviations (σ) below its mean to {REACH:g} above"
    if isinstance(span, Mapping):
        return "over the range beside it"
    low, high = map(number, _pair(span))
    return f"from {low} to {high}"


def _base_name(base: Any) -> str:
    return "given" if np.ndim(base) else f"row {int(base)}"
