"""The user's own images."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace, Kind
from unknot.data.parts.images import BAD_ARCHIVE, Bytes, as_bytes


@dataclass(frozen=True)
class Arrays:
    """Your own images from an npz file, with factors if you have them.

    The file holds ``images``, uint8 or floats in [0, 1], as ``[n, h, w]``, ``[n, h, w, c]`` or
    ``[n, c, h, w]`` with 1 or 3 channels. If the images cover a full grid it may also hold
    ``factors`` (integers ``[n, f]``, rows in any order) and ``names`` (``[f]``): the different
    values of a factor are numbered from 0 in ascending order, and all factors count as ordered.
    Without ``factors`` there is one nominal factor, ``index``.

    Args:
        path: The npz file.
    """

    path: str

    def load(self) -> FactorDataset:
        """All images, in grid order.

        Raises:
            DataError: The file is missing or damaged, or its arrays are not as described.
            ShapeError: ``images`` is not a stack of images.
        """
        arrays = _read(self.path)
        images = as_bytes(arrays["images"], f"'{self.path}'").stored
        if "factors" not in arrays:
            space = FactorSpace(("index",), (len(images),), ("nominal",))
            return FactorDataset("arrays", space, Bytes(images))
        factors = arrays["factors"]
        fits = factors.ndim == 2 and factors.shape[1] > 0 and len(factors) == len(images)
        if not fits or factors.dtype.kind not in "iu":
            raise DataError(
                f"'factors' in '{self.path}' must be integers [{len(images)}, f], one row per "
                f"image; got {factors.dtype} {factors.shape}."
            )
        names = _names(arrays.get("names"), factors.shape[1], self.path)
        space, order = _grid(factors, names, self.path)
        return FactorDataset("arrays", space, Bytes(images[torch.from_numpy(order)]))


def _read(path: str) -> dict[str, np.ndarray]:
    """The file's arrays, by name; those we do not know are left closed."""
    try:
        with (
            Path(path).expanduser().open("rb") as raw,  # numpy would leave a bad file open
            np.load(raw, allow_pickle=False) as file,
        ):
            if "images" not in file:
                others = ", ".join(sorted(file)) or "no arrays"
                raise DataError(f"'{path}' needs an array 'images'; it holds {others}.")
            return {name: file[name] for name in ("images", "factors", "names") if name in file}
    except OSError as error:
        raise DataError(f"Cannot read '{path}': {error.strerror}.") from error
    except BAD_ARCHIVE as error:
        raise DataError(
            f"'{path}' is damaged or not an npz file of plain arrays (no objects); "
            "write it with numpy.savez(path, images=...)."
        ) from error


def _names(names: np.ndarray | None, count: int, path: str) -> tuple[str, ...]:
    if names is None:
        return tuple(f"factor_{i}" for i in range(count))
    if names.dtype.kind != "U" or names.shape != (count,):
        raise DataError(
            f"'names' in '{path}' must be {count} strings, one per column of 'factors'; "
            f"got {names.dtype} {names.shape}."
        )
    return tuple(names.tolist())


def _grid(
    factors: np.ndarray, names: tuple[str, ...], path: str
) -> tuple[FactorSpace, Int64[np.ndarray, " n"]]:
    """The factor space of a table of values, and the row of the table at each grid point."""
    columns = [np.unique(column, return_inverse=True) for column in factors.T]
    sizes = tuple(len(values) for values, _ in columns)
    ranks = [rank.reshape(-1) for _, rank in columns]
    different = len(np.unique(factors, axis=0))
    if not math.prod(sizes) == len(factors) == different:
        raise DataError(
            f"'factors' in '{path}' must name every point of a full grid once; its columns have "
            f"{sizes} values, which makes {math.prod(sizes)} points, and {len(factors)} rows, "
            f"{different} of them different."
        )
    order = np.lexsort(ranks[::-1])
    ordered: Kind = "ordered"
    return FactorSpace(names, sizes, (ordered,) * len(names)), order
