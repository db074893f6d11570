"""Random indices of the bootstrap: the numbers of `unknot.core.noise`, without PyTorch."""

import numpy as np
from jaxtyping import Int

from unknot.core.philox import WORD, philox, stream_number


def indices(seed: int, stream: str, draws: int, n: int, *, high: int) -> Int[np.ndarray, "draws n"]:
    """Uniform integers in ``0 .. high - 1``, the same as ``noise.integers`` gives at step 0.

    Example:
        >>> indices(0, "study", 2, 3, high=10).tolist()
        [[7, 3, 3], [5, 2, 0]]
    """
    size = draws * n
    block = np.arange(-(-size // 2))
    zero = np.zeros_like(block)
    key = np.full_like(block, seed & WORD), np.full_like(block, (seed >> 32) & WORD)
    name = np.full_like(block, stream_number(stream))
    words = np.stack(philox((zero, block, zero, name), key), axis=-1).reshape(-1)
    keys = words[0::2] | ((words[1::2] & 0x7FFFFFFF) << 32)
    index: np.ndarray = keys[:size].reshape(draws, n) % high
    return index
