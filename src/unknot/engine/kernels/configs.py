"""How a kernel is cut into blocks on a GPU, for many members and for few."""

from collections.abc import Iterator
from dataclasses import replace

from unknot.engine.kernels.shape import Config, Shape
from unknot.engine.kernels.tuned import tuned

FEWEST = 96
"""Programs below which much of a GPU is idle: three quarters of the 132 processors of an H200."""


def config(
    shape: Shape, precision: str, capability: tuple[int, int], rows: int, members: int
) -> Config:
    """How to cut a kernel.

    Args:
        shape: The kernel.
        precision: ``bf16``, ``tf32`` or ``float32``.
        capability: Of the GPU.
        rows: Rows of a member: pixels of the small image, or windows of it.
        members: How many models.
    """
    best = _usual(shape, precision, capability)
    for smaller in _smaller(best, shape):
        if programs(best, shape, rows, members) >= FEWEST:
            break
        best = smaller
    return best


def programs(how: Config, shape: Shape, rows: int, members: int) -> int:
    """How many programs a launch has."""
    if _sums(shape):
        return tiles(how, shape) * splits(how, shape, rows, members) * members
    return -(-rows // how.bm) * -(-extent(shape)[0] // how.bn) * members


def tiles(how: Config, shape: Shape) -> int:
    """Blocks of a weight."""
    n, k = extent(shape)
    return -(-n // how.bn) * (1 if shape.kernel.startswith("joint") else -(-k // how.bk))


def splits(how: Config, shape: Shape, rows: int, members: int) -> int:
    """How many programs share the sum over the rows of a block of a weight."""
    share = how.programs // (tiles(how, shape) * members)
    return max(1, min(share, rows // (how.least * how.bm)))


def _usual(shape: Shape, precision: str, capability: tuple[int, int]) -> Config:
    """For as many programs as there are in a population."""
    best = tuned(shape, precision, capability)
    if best:
        return best
    item = 2 if precision == "bf16" else 4
    # Numbers of twice the size, half as many of them at a time: shared memory stays the same.
    deep = 128 // item
    n, k = extent(shape)
    if shape.kernel == "joint_down":
        return Config(deep, block(n, deep), block(k, 256), 8, 2)  # registers are what is short
    if shape.kernel == "joint_up":
        return Config(deep, block(n, 32), block(k, 64), 8, 2)
    if shape.kernel.startswith("weight_gradient"):
        return Config(deep, block(n, 64), block(k, 128), 4, 3)
    return Config(128, block(n, 64), block(k, deep), 4, 3)


def _smaller(how: Config, shape: Shape) -> Iterator[Config]:
    """The same with more and more programs, for few members.

    The depth ``bk`` of `conv_down` and `conv_up` stays: a model adds up in the same order alone as
    among others.
    """
    if shape.kernel.startswith("joint"):  # all k stay together
        for least, bm in ((8, 64), (4, 64), (2, 64), (2, 32), (1, 16)):
            yield replace(how, bm=min(how.bm, bm), least=least)
        return
    if shape.kernel.startswith("weight_gradient"):
        for side, least, bm in ((64, 8, 256), (64, 4, 256), (64, 2, 256), (32, 2, 64)):
            small = replace(how, bm=min(how.bm, bm), bn=min(how.bn, side), bk=min(how.bk, side))
            yield replace(small, least=least, warps=min(how.warps, 4))
        return
    for bm, bn in ((64, 256), (32, 256), (32, 32), (16, 32)):
        small = replace(how, bm=min(how.bm, bm), bn=min(how.bn, bn))
        yield replace(small, warps=min(how.warps, 4))


def _sums(shape: Shape) -> bool:
    """Whether programs share the rows of a sum."""
    return shape.kernel.startswith(("weight_gradient", "joint"))


def extent(shape: Shape) -> tuple[int, int]:
    """How far a kernel's n and k go."""
    taps = shape.size * shape.size
    if shape.kernel in ("conv_up", "weight_gradient", "joint_down"):
        return 4 * shape.cb, taps // 4 * shape.cs
    return shape.cs, taps * shape.cb


def block(n: int, most: int) -> int:
    """The power of two that holds ``n``, from 16, the least side of a matrix product, to most."""
    return min(most, max(16, 1 << (n - 1).bit_length()))
