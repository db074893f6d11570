"""Philox4x32-10 in Python's whole numbers, written from the paper.

Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3: a round sends the
words (c0, c1, c2, c3) with round keys (k0, k1) to
(hi(M1 c2) ^ c1 ^ k0, lo(M1 c2), hi(M0 c0) ^ c3 ^ k1, lo(M0 c0)); keys grow by Weyl constants, the
golden ratio and the square root of 3 less 1.
"""

from binascii import crc32
from math import isqrt

BASE = 2**32
M0, M1 = 0xD2511F53, 0xCD9E8D57
# floor(2**32 (sqrt(5) - 1) / 2) and floor(2**32 (sqrt(3) - 1)).
W0, W1 = (isqrt(5 * BASE**2) - BASE) // 2, isqrt(3 * BASE**2) - BASE


def philox4x32(counter: tuple[int, ...], key: tuple[int, ...], rounds: int = 10) -> tuple[int, ...]:
    """Four words for a counter of four and a key of two."""
    c0, c1, c2, c3 = counter
    for i in range(rounds):
        k0, k1 = (key[0] + i * W0) % BASE, (key[1] + i * W1) % BASE
        hi0, lo0 = divmod(M0 * c0, BASE)
        hi1, lo1 = divmod(M1 * c2, BASE)
        c0, c1, c2, c3 = hi1 ^ c1 ^ k0, lo1, hi0 ^ c3 ^ k1, lo0
    return c0, c1, c2, c3


def words(seed: int, stream: str, step: int, n: int) -> list[int]:
    """The documented layout: the seed is the key; block number, step and name are the counter."""
    key = seed % BASE, seed // BASE % BASE
    drawn: list[int] = []
    for block in range(-(-n // 4)):
        counter = step % BASE, block, step // BASE % BASE, crc32(stream.encode())
        drawn.extend(philox4x32(counter, key))
    return drawn[:n]
