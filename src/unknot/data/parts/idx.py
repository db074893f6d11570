"""MNIST's format: arrays of bytes behind a head of big-endian integers, packed with gzip."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from unknot.core.errors import DataError
from unknot.core.files import os_reason

BYTES = 0x0800
"""What the first four bytes say of an array of bytes; the number of axes is added."""


def read_idx(file: Path, shape: tuple[int, ...]) -> UInt8[np.ndarray, "..."]:
    """An array of bytes with the shape it should have.

    Raises:
        DataError: The file is damaged or another.
    """
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            data = opened.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"'{file}' is damaged ({error}); fetch it again.") from error
    except OSError as error:
        raise DataError(f"Cannot read '{file}': {os_reason(error)}.") from error
    head = b"".join(n.to_bytes(4, "big") for n in (BYTES + len(shape), *shape))
    if data[: len(head)] != head or len(data) != len(head) + math.prod(shape):
        raise DataError(f"'{file}' should have an array of bytes of the shape {shape}.")
    return np.frombuffer(data, np.uint8, offset=len(head)).reshape(shape)
