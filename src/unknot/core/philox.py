"""Philox4x32-10 on arrays of 32-bit words, of NumPy or of PyTorch alike.

Paper: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
"""

import zlib
from typing import Any, TypeAlias

Words: TypeAlias = Any
"""An int64 array of either library; each entry holds one word."""

WORD = 0xFFFFFFFF
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)


def philox(
    counter: tuple[Words, Words, Words, Words], key: tuple[Words, Words]
) -> tuple[Words, Words, Words, Words]:
    """Ten rounds on arrays of words."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = _multiply(c0, MULTIPLIERS[0])
        high1, low1 = _multiply(c2, MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + WEYL[0]) & WORD, (k1 + WEYL[1]) & WORD
    return c0, c1, c2, c3


def _multiply(a: Words, m: int) -> tuple[Words, Words]:
    """High and low word of a 32 x 32 bit product; int64 wraps around, which keeps all 64 bits."""
    product = a * m
    return (product >> 32) & WORD, product & WORD


def stream_number(stream: str) -> int:
    """The 32-bit number that stands for a stream's name."""
    return zlib.crc32(stream.encode())
