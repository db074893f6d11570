"""Images in objects of Python: arrays, tensors, and datasets of PyTorch and Hugging Face.

What was made of them is known in this process for as long as somebody holds it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factor_table import FactorTable
from unknot.core.registry import nearest
from unknot.data.parts.decoding import Header, Target, fit_array, fit_picture, picture_header
from unknot.data.parts.images import Stored
from unknot.data.parts.labels import name_classes
from unknot.data.parts.reading import Options, Reading, describe, plan
from unknot.data.parts.shelf import Progress
from unknot.data.parts.stacks import as_rows, depth_of, read_stack
from unknot.data.parts.values import SparseValues, Values

ROWS = 10_000
"""Whose pixels are hashed of a dataset that makes its images by a formula."""


def read_object(source: Any, options: Options, on_progress: Progress) -> Reading:
    """Images from an object.

    Args:
        source: An array or tensor ``[n, ...]``, or what has a length and items: images, tuples
            that begin with one, or rows with a column ``image``.
        options: What the images are to be.
        on_progress: Told how many items are read.

    Raises:
        DataError: It is no such object, or its images do not go together.
    """
    if isinstance(source, Tensor):
        source = as_array(source)
    if isinstance(source, np.ndarray):
        return read_stack(source, options, "the array")
    if isinstance(source, tuple | list) and len(source) == 2 and _are_rows_and_labels(*source):
        raise DataError(
            "Got a pair of arrays. Images and labels are two arguments: "
            "unknot.dataset(images, labels=labels)."
        )
    is_sequence = hasattr(source, "__len__") and hasattr(source, "__getitem__")
    if not is_sequence or isinstance(source, str | bytes | Mapping) or len(source) == 0:
        loader = " A loader draws batches of its own; use loader.dataset."
        raise DataError(
            "Expected a path, an array, a tensor or a dataset with a length and items; got "
            f"{type(source).__name__}.{loader if isinstance(source, DataLoader) else ''}"
        )
    return _read_items(source, options, on_progress)


def _are_rows_and_labels(first: Any, second: Any) -> bool:
    """Whether two things are images or a table with their labels, and not two images."""
    if not all(getattr(part, "ndim", 0) for part in (first, second)):
        return False
    if not len(first) == len(second) > 2 or second.ndim > 2:
        return False
    return second.ndim == 1 or tuple(second.shape) != tuple(first.shape[:2])


def as_array(tensor: Tensor) -> np.ndarray:
    """The numbers of a tensor.

    Raises:
        DataError: It is sparse, or has a shape and no numbers.
    """
    try:
        return tensor.detach().cpu().resolve_conj().resolve_neg().numpy()
    except (TypeError, NotImplementedError, RuntimeError) as error:
        raise DataError(
            f"A tensor of the layout {tensor.layout} on the device {tensor.device} has no array of "
            "numbers; make one with tensor.to_dense().float().cpu()."
        ) from error


def hash_dataset(dataset: FactorDataset) -> str:
    """A hash of pixels, factors and standardisation; of images by formula, of 10,000 rows."""
    space = dataset.space
    facts = (space.names, space.sizes, space.kinds, dataset.shape, dataset.mean, dataset.std)
    digest = hashlib.sha256(repr(facts).encode())
    if isinstance(space, FactorTable):
        digest.update(space.key.encode())
    stored = isinstance(dataset.images, Stored | Values | SparseValues)
    count = len(dataset) if stored else min(len(dataset), ROWS)
    for rows in (torch.arange(count) * (len(dataset) // count)).split(256):
        digest.update(dataset.images.pixels(rows).cpu().contiguous().numpy().data)
    return digest.hexdigest()[:32]


def _read_items(source: Any, options: Options, on_progress: Progress) -> Reading:
    count = min(len(source), options.limit or len(source))
    column = _image_column(source)
    pixels: np.ndarray | None = None
    header, target = Header(1, 1, 1), Target(1, 1, 1)
    headers = set[Header]()
    for row in range(count):
        image = _image(source[row], column)
        header = _header_of(image)
        if pixels is None:
            target = plan({header: 1}, options, "the dataset")
            pixels = np.empty((count, *target.shape), target.depth)
        elif header not in headers:
            _check_alike(header, next(iter(headers)), options)
        headers.add(header)
        is_array = isinstance(image, np.ndarray)
        pixels[row] = fit_array(image, target) if is_array else fit_picture(image, target)
        on_progress(row + 1, count)
    reading = read_stack(pixels, Options(crop="none"), "the dataset")
    return replace(reading, note=describe(dict.fromkeys(headers, 1), target))


def _check_alike(header: Header, first: Header, options: Options) -> None:
    """The first image decides, so others may differ only in what was asked for."""
    if (header.height, header.width) != (first.height, first.width) and options.size is None:
        raise DataError(
            f"Images of the dataset have different sizes, such as {first.height} x {first.width} "
            f"and {header.height} x {header.width}; say which they should have, size=64."
        )
    if header.channels != first.channels and options.channels is None:
        raise DataError("Some images of the dataset are grey, others not; set channels=1 or 3.")
    if header.depth != first.depth:
        raise DataError(f"Images of the dataset are {first.depth} and {header.depth}; use one.")


def _image_column(source: Any) -> str | None:
    """The column of a Hugging Face dataset that has the images; None for other datasets."""
    names = getattr(source, "column_names", None)
    if names is None:
        return None
    features = getattr(source, "features", None) or {}
    columns = [n for n in names if type(features.get(n)).__name__ == "Image"]
    columns = columns or [n for n in names if n in ("image", "img", "images")]
    if len(columns) != 1:
        raise DataError(
            f"Expected one column of images; the dataset has {columns or names}. "
            "Take one with .select_columns(...)."
        )
    return str(columns[0])


def _image(item: Any, column: str | None) -> Any:
    """The image of an item: a picture, or an array ``[c, h, w]``."""
    if isinstance(item, dict):
        item = item.get(column or "image")
    elif isinstance(item, tuple | list) and len(item):
        item = item[0]
    if isinstance(item, Tensor):
        item = as_array(item)
    if isinstance(item, np.ndarray):
        return as_rows(item[None], "the dataset")[0]
    if hasattr(item, "mode") and hasattr(item, "getexif"):
        return item
    raise DataError(
        "Expected items that are images (pictures, tensors or arrays) or tuples that begin with "
        f"one; got {type(item).__name__}."
    )


def columns_by_name(source: Any, names: Sequence[str], count: int) -> dict[str, list[Any]]:
    """Columns of a Hugging Face dataset by name, up to a row; of classes, what they are called."""
    columns = {}
    for name in names:
        if name not in (known := [*source.column_names]):
            raise DataError(f"The dataset has no column '{name}'{nearest(name, known)}")
        feature = (getattr(source, "features", None) or {}).get(name)
        texts = getattr(feature, "names", None)  # only classes have them
        columns[name] = name_classes(source[name][:count], texts or ())
    return columns


def _header_of(image: Any) -> Header:
    if not isinstance(image, np.ndarray):
        return picture_header(image)
    c, h, w = image.shape
    return Header(h, w, c, depth_of(image.dtype))


_datasets: WeakValueDictionary[str, FactorDataset] = WeakValueDictionary()
"""By the hash of their content, for as long as somebody holds them."""


def give_dataset(content: str, dataset: FactorDataset) -> None:
    """Make a dataset known in this process."""
    _datasets[content] = dataset


def find_dataset(content: str | None) -> FactorDataset | None:
    """The dataset of a hash, if it was given and is still held."""
    return None if content is None else _datasets.get(content)
