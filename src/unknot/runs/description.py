"""Description: what a run folder says of its models, so that they are of use without their data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError, StoreError
from unknot.core.factor_table import FactorTable, Space
from unknot.core.factors import FactorSpace, Kind
from unknot.data.parts.scaling import set_scale
from unknot.losses.likelihood import likelihood_of, pixel_likelihood
from unknot.runs.spec import TrainSpec
from unknot.samplers.parts.split import Split

Pair: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]
CLOSE = 1e-5
"""Machines and devices agree on the fingerprint of images but for rounding."""


@dataclass(frozen=True)
class AbsentImages:
    """Images that are not here, of which shape and fingerprint are known."""

    shape: tuple[int, int, int]
    fingerprint: tuple[float, ...]
    reason: str
    """Why they are not here, for the message."""
    ends: Pair = ((), ())
    """What becomes 0 and what becomes 1 in each channel of images that are scaled."""

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:  # noqa: ARG002
        """There are none."""
        raise DataError(
            f"The run was opened without its images ({self.reason.rstrip('.')}). Say where they "
            "are with --data PATH, or unknot.load(..., data=PATH)."
        )

    def to(self, device: torch.device) -> "AbsentImages":  # noqa: ARG002 - the protocol's
        """They are on no device."""
        return self


def describe(dataset: FactorDataset, spec: TrainSpec) -> dict[str, Any]:
    """What models need of their data to encode, decode and be drawn, as plain values."""
    images = dataset.images
    fingerprint = [*images.fingerprint] if isinstance(images, AbsentImages) else dataset.signature()
    return {
        "name": dataset.name,
        "image": [*dataset.shape],
        "mean": [*dataset.mean],
        "std": [*dataset.std],
        **({"low": [*dataset.ends[0]], "high": [*dataset.ends[1]]} if all(dataset.ends) else {}),
        "factors": {
            "names": [*dataset.space.names],
            "sizes": [*dataset.space.sizes],
            "kinds": [*dataset.space.kinds],
            **({} if dataset.space.is_grid else {"rows": len(dataset)}),
        },
        **({"columns": [*dataset.columns]} if dataset.columns else {}),
        **({} if dataset.row_total is None else {"row_total": dataset.row_total}),
        "likelihood": pixel_likelihood(likelihood_of(spec.objective.settings)),
        "fingerprint": fingerprint,
    }


def absent_dataset(description: Mapping[str, Any], reason: str) -> FactorDataset:
    """The dataset of a description, with everything but its images.

    Args:
        description: What `describe` gave.
        reason: Why the images are not here.
    """
    try:
        factors = description["factors"]
        names, sizes, kinds = (tuple(factors[part]) for part in ("names", "sizes", "kinds"))
        space = _space(names, sizes, kinds, factors.get("rows"))
        channels, height, width = map(int, description["image"])
        name = str(description["name"])
        fingerprint = tuple(map(float, description["fingerprint"]))
        ends, (mean, std) = _scale_of(description)
        images = AbsentImages((channels, height, width), fingerprint, reason, ends)
        total = None if "row_total" not in description else float(description["row_total"])
        columns = tuple(map(str, description.get("columns", ())))
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"The run does not describe its data: {error!r}.") from error
    return FactorDataset(name, space, images, mean, std, columns=columns, row_total=total)


def scale_as_trained(
    dataset: FactorDataset, description: Mapping[str, Any], split: Split | None
) -> FactorDataset:
    """A dataset whose values are scaled by what was measured when the run began.

    Args:
        dataset: As its files give it, scaled by all of its rows.
        description: What `describe` gave.
        split: Of the run.
    """
    if not dataset.measured:
        return dataset
    try:
        ends, moments = _scale_of(description)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"The run does not describe its data: {error!r}.") from error
    return set_scale(dataset, ends, moments, split)


def _scale_of(description: Mapping[str, Any]) -> tuple[Pair, Pair]:
    """Low and high of each channel where they were written down, mean and standard deviation."""
    low, high = (tuple(map(float, description.get(part, ()))) for part in ("low", "high"))
    mean, std = (tuple(map(float, description[part])) for part in ("mean", "std"))
    return (low, high), (mean, std)


def _space(
    names: tuple[str, ...], sizes: tuple[int, ...], kinds: tuple[Kind, ...], rows: int | None
) -> Space:
    """A grid; or a table of so many rows, whose labels are not here either."""
    if rows is None:
        return FactorSpace(names, sizes, kinds)
    levels = tuple(tuple(range(size)) for size in sizes)
    return FactorTable(names, kinds, levels, torch.full((rows, len(names)), -1))


def check_images(dataset: FactorDataset, fingerprint: Sequence[float] | None, where: str) -> None:
    """Refuse images other than those that models were trained on.

    Args:
        dataset: What is there now.
        fingerprint: Of what was there; None where nobody wrote it down.
        where: What says so, for the message.
    """
    if fingerprint is None or isinstance(dataset.images, AbsentImages):
        return
    now = dataset.signature()
    same = len(fingerprint) == len(now)
    if not same or not all(abs(a - b) <= CLOSE for a, b in zip(fingerprint, now, strict=True)):
        raise StoreError(
            f"The images of {dataset.name} are no longer those that were trained on, says {where}; "
            "put those back, or train again in another folder."
        )
