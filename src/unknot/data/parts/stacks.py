"""Arrays of images ``[n, ...]`` as rows ``[n, c, h, w]``: hashed, checked, converted."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from unknot.core.errors import DataError, ShapeError
from unknot.data.parts import shelf
from unknot.data.parts.decoding import Depth, Header, Target, fit_array
from unknot.data.parts.reading import Options, Reading, describe, plan
from unknot.data.parts.shelf import Progress

CHUNK_BYTES = 64 << 20
"""Of a chunk that is read at a time."""


def read_stack(
    array: Any,
    options: Options,
    source: str,
    *,
    key: str | None = None,
    on_progress: Progress = lambda *_: None,
) -> Reading:
    """Images from an array, in its own type if that is uint8, uint16 or float32.

    Args:
        array: A NumPy array, or one on the disk that is read in slices.
        options: What the images are to be.
        source: Where it came from, for messages.
        key: Names the array in the cache; None keeps nothing on the disk.
        on_progress: Told after each chunk that is read.
    """
    axes = _axes(array.shape, source)
    _check_numbers(array, source)
    count = min(len(array), options.limit or len(array))
    c, h, w = (1 if axis is None else array.shape[axis] for axis in axes)
    header = Header(h, w, c, depth_of(array.dtype))
    target = _plan(header, options, source)
    same = target.shape == (c, h, w) and array.dtype == target.depth
    note = describe({header: count}, target)
    if isinstance(array, np.ndarray) and (same or key is None):

        def find() -> dict[str, Any]:
            return _examine(_chunks(array, count, on_progress), array, count)

        facts = find() if key is None else shelf.recall_facts(f"{key}-{count}", find)
        pixels = _rows(array[:count], axes)
        if not same:
            pixels = np.concatenate([_convert(some, target) for some in _split(pixels)])
    else:
        entry_key = shelf.make_key(key, count, asdict(target))
        entry = shelf.recall(entry_key) or _keep(entry_key, array, axes, count, target, on_progress)
        facts, pixels = entry.facts, entry.pixels
    if not facts["finite"]:
        raise DataError(f"Images in {source} hold NaN or infinite values; clean them first.")
    return Reading(pixels, facts["content"], note)


def as_rows(array: np.ndarray, source: str) -> np.ndarray:
    """A view ``[n, c, h, w]`` of an array, in uint8, uint16 or float32."""
    _check_numbers(array, source)
    rows = _rows(array, _axes(array.shape, source))
    return _typed(rows, depth_of(array.dtype))


def _check_numbers(array: Any, source: str) -> None:
    if array.dtype.kind not in "buif":
        raise DataError(f"Images must be numbers; {source} holds {array.dtype}.")


def _axes(shape: tuple[int, ...], source: str) -> tuple[int | None, int, int]:
    """Which axes are channels, height and width; channels are the fewer of the two that may be."""
    if 0 in shape:
        raise DataError(f"There are no images in {source}; its shape is {tuple(shape)}.")
    if len(shape) == 3:
        return None, 1, 2
    if len(shape) != 4:
        raise ShapeError(
            f"Expected images [n, h, w], [n, h, w, c] or [n, c, h, w] in {source}; "
            f"got shape {tuple(shape)}."
        )
    first = shape[1] in (1, 3) or (shape[3] not in (1, 3) and shape[1] <= shape[3])
    return (1, 2, 3) if first else (3, 1, 2)


def depth_of(dtype: np.dtype) -> Depth:
    """The type that holds all values: uint8, uint16 or float32."""
    if dtype in (np.bool_, np.uint8):
        return "uint8"
    return "uint16" if dtype == np.uint16 else "float32"


def _plan(header: Header, options: Options, source: str) -> Target:
    """As of pictures, but an array's images keep their size unless another is asked for."""
    sides = options.sides or (header.height, header.width)
    crop = options.crop
    checked = Options(sides, crop, options.channels)
    return plan({header: 1}, checked, source.strip("'"))


def _rows(array: np.ndarray, axes: tuple[int | None, int, int]) -> np.ndarray:
    """A view ``[n, c, h, w]``."""
    channels, h, w = axes
    return array[:, None] if channels is None else array.transpose(0, channels, h, w)


def _chunks(array: Any, count: int, on_progress: Progress) -> Iterator[np.ndarray]:
    size = int(np.prod(array.shape[1:])) * array.dtype.itemsize
    step = max(1, CHUNK_BYTES // size)
    for start in range(0, count, step):
        stop = min(start + step, count)
        yield np.asarray(array[start:stop])
        on_progress(stop, count)


def lies_in_unit(pixels: np.ndarray) -> bool:
    """Whether all values lie in [0, 1]."""
    return all(some.min() >= 0 and some.max() <= 1 for some in _split(pixels))


def _split(pixels: np.ndarray) -> Iterator[np.ndarray]:
    return _chunks(pixels, len(pixels), lambda *_: None)


def _examine(chunks: Iterator[np.ndarray], array: Any, count: int) -> dict[str, Any]:
    """Hash of what an array holds, and whether all values are finite."""
    digest = _digest(array, count)
    finite = True
    for chunk in chunks:
        digest.update(np.ascontiguousarray(chunk).data)
        finite = finite and bool(chunk.dtype.kind != "f" or np.isfinite(chunk).all())
    return {"content": digest.hexdigest()[:32], "finite": finite}


def _keep(
    key: str,
    array: Any,
    axes: tuple[int | None, int, int],
    count: int,
    target: Target,
    on_progress: Progress,
) -> shelf.Entry:
    digest, finite = _digest(array, count), True

    def converted() -> Iterator[np.ndarray]:
        nonlocal finite
        for chunk in _chunks(array, count, on_progress):
            digest.update(np.ascontiguousarray(chunk).data)
            finite = finite and bool(chunk.dtype.kind != "f" or np.isfinite(chunk).all())
            yield _convert(_rows(chunk, axes), target)

    def facts() -> dict[str, Any]:
        return {"content": digest.hexdigest()[:32], "finite": finite}

    size = count * int(np.prod(target.shape)) * np.dtype(target.depth).itemsize
    return shelf.put(key, converted(), facts, size)


def _digest(array: Any, count: int) -> "hashlib._Hash":
    return hashlib.sha256(f"{array.dtype.str} {(count, *array.shape[1:])}".encode())


def _convert(rows: np.ndarray, target: Target) -> np.ndarray:
    rows = _typed(rows, target.depth)
    if rows.shape[1:] == target.shape:
        return rows
    return np.stack([fit_array(row, target) for row in rows])


def _typed(rows: np.ndarray, depth: Depth) -> np.ndarray:
    if rows.dtype == np.bool_:
        rows = rows.astype(np.uint8) * np.uint8(255)
    return rows.astype(depth, copy=False)
