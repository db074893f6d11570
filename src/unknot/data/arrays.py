"""The user's own images."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.files import open_file, os_reason
from unknot.data.parts.grids import read_grid, without_factors
from unknot.data.parts.images import BAD_ARCHIVE, Bytes, as_bytes
from unknot.data.parts.npz import open_arrays, read_member


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

    Example: `unknot.dataset("images.npz")`
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
            return FactorDataset("arrays", without_factors(len(images)), Bytes(images))
        names = arrays.get("names")
        space, order = read_grid(arrays["factors"], names, len(images), self.path)
        return FactorDataset("arrays", space, Bytes(images[torch.from_numpy(order)]))


def _read(path: str) -> dict[str, np.ndarray]:
    """The file's arrays, by name; those we do not know are left closed."""
    try:
        with (
            open_file(Path(path).expanduser()) as raw,  # numpy would leave a bad file open
            open_arrays(raw) as file,
        ):
            if "images" not in file:
                others = ", ".join(sorted(file)) or "no arrays"
                raise DataError(f"'{path}' needs an array 'images'; it holds {others}.")
            names = [name for name in ("images", "factors", "names") if name in file]
            return {name: read_member(file, name) for name in names}
    except OSError as error:
        raise DataError(f"Cannot read '{path}': {os_reason(error)}.") from error
    except BAD_ARCHIVE as error:
        raise DataError(
            f"'{path}' is damaged or not an npz file of plain arrays (no objects); "
            "write it with numpy.savez(path, images=...)."
        ) from error
