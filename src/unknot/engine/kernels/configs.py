"""How a kernel is cut into blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    """What a kernel is compiled for."""

    kernel: str
    """``conv_down``, ``conv_up``, ``weight_gradient`` or ``weight_gradient_few``; ``joint_down`` or
    ``joint_up`` for both gradients of a convolution, or of a transposed one."""
    height: int
    """Of the small image."""
    cb: int
    cs: int
    size: int
    """4 or 2."""
    phases: bool
    """Whether weights lie as those of a transposed layer."""


@dataclass(frozen=True)
class Config:
    """Block sizes, warps of a program, and loads in flight."""

    bm: int
    bn: int
    bk: int
    warps: int
    stages: int
    programs: int = 1024
    """How many programs `weight_gradient` aims at, by splitting its sums."""
    least: int = 8
    """Blocks that a program of `weight_gradient` adds up at least: a partial sum costs a pass."""
    ones: bool = False
    """Whether sums for the bias are products with ones: no exchange between threads, but some more
    registers."""


TUNED = {
    Shape("conv_down", 32, 1, 32, 4, False): Config(128, 32, 16, 4, 3),
    Shape("weight_gradient_few", 32, 1, 32, 4, False): Config(128, 32, 16, 2, 1),
    Shape("conv_down", 16, 32, 32, 4, False): Config(128, 32, 32, 4, 4),
    Shape("conv_up", 16, 32, 32, 4, False): Config(128, 64, 128, 4, 1),
    Shape("weight_gradient", 16, 32, 32, 4, False): Config(128, 128, 128, 4, 2, 256),
    Shape("joint_down", 16, 32, 32, 4, False): Config(64, 128, 128, 4, 2, 256, ones=True),
    Shape("conv_down", 8, 32, 64, 4, False): Config(128, 64, 32, 4, 4),
    Shape("conv_up", 8, 32, 64, 4, False): Config(128, 128, 64, 8, 3),
    Shape("weight_gradient", 8, 32, 64, 4, False): Config(128, 128, 64, 4, 2, 256, ones=True),
    Shape("conv_down", 4, 64, 64, 4, False): Config(128, 64, 64, 8, 4),
    Shape("conv_up", 4, 64, 64, 4, False): Config(128, 128, 64, 8, 3),
    Shape("weight_gradient", 4, 64, 64, 4, False): Config(128, 128, 128, 4, 2, 512, ones=True),
    Shape("conv_down", 4, 64, 64, 4, True): Config(128, 64, 64, 8, 4),
    Shape("conv_up", 4, 64, 64, 4, True): Config(128, 128, 32, 8, 4),
    Shape("weight_gradient", 4, 64, 64, 4, True): Config(128, 128, 128, 4, 2, 512),
    Shape("conv_down", 8, 32, 64, 4, True): Config(128, 64, 32, 8, 4),
    Shape("conv_up", 8, 32, 64, 4, True): Config(128, 128, 64, 8, 3),
    Shape("weight_gradient", 8, 32, 64, 4, True): Config(128, 128, 128, 4, 3, 256, ones=True),
    Shape("conv_down", 16, 32, 32, 4, True): Config(256, 32, 32, 8, 4),
    Shape("conv_up", 16, 32, 32, 4, True): Config(64, 128, 32, 4, 3),
    Shape("weight_gradient", 16, 32, 32, 4, True): Config(128, 128, 128, 4, 2, 256),
    Shape("conv_down", 32, 1, 32, 4, True): Config(128, 32, 16, 4, 3),
    Shape("conv_up", 32, 1, 32, 4, True): Config(128, 16, 128, 4, 1),
    Shape("conv_up", 32, 3, 32, 4, True): Config(128, 16, 128, 4, 1),
    Shape("weight_gradient_few", 32, 1, 32, 4, True): Config(128, 32, 16, 2, 2),
    Shape("conv_down", 32, 3, 32, 4, False): Config(256, 32, 64, 8, 1),
    Shape("weight_gradient_few", 32, 3, 32, 4, False): Config(128, 32, 64, 2, 1, 512),
    Shape("conv_down", 32, 3, 32, 4, True): Config(128, 32, 64, 4, 3),
    Shape("weight_gradient_few", 32, 3, 32, 4, True): Config(128, 32, 64, 2, 2, 512, ones=True),
    Shape("joint_up", 32, 3, 32, 4, True): Config(64, 32, 64, 4, 3),
    Shape("joint_up", 32, 1, 32, 4, True): Config(128, 32, 16, 4, 3, 512),
    Shape("conv_down", 8, 32, 64, 2, False): Config(128, 64, 64, 4, 2),
    Shape("conv_up", 8, 32, 64, 2, False): Config(64, 64, 64, 4, 1),
    Shape("weight_gradient", 8, 32, 64, 2, False): Config(128, 128, 64, 4, 2, 2048),
    Shape("joint_down", 8, 32, 64, 2, False): Config(64, 128, 64, 4, 3, 256),
    Shape("conv_down", 4, 64, 64, 2, False): Config(64, 64, 64, 4, 3),
    Shape("conv_up", 4, 64, 64, 2, False): Config(64, 128, 64, 4, 1),
    Shape("weight_gradient", 4, 64, 64, 2, False): Config(128, 128, 64, 4, 3),
    Shape("joint_down", 4, 64, 64, 2, False): Config(64, 128, 64, 4, 3),
}
"""The fastest of a grid on an H200 in bfloat16, 64 members, batch 64: ``bench/kernels.py``.

But for `conv_up` to three channels, which is cut as that to one.
"""


FEWEST = 96
"""Programs below which much of a GPU is idle: three quarters of the 132 processors of an H200."""


def config(shape: Shape, item: int, capability: tuple[int, int], rows: int, members: int) -> Config:
    """How to cut a kernel.

    Args:
        shape: The kernel.
        item: Bytes of a number.
        capability: Of the GPU.
        rows: Rows of a member: pixels of the small image, or windows of it.
        members: How many models.
    """
    best = _usual(shape, item, capability)
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


def tuned(shape: Shape, item: int, capability: tuple[int, int]) -> bool:
    """Whether a kernel was measured on such a GPU."""
    return item == 2 and capability == (9, 0) and shape in TUNED


def _usual(shape: Shape, item: int, capability: tuple[int, int]) -> Config:
    """For as many programs as there are in a population."""
    if tuned(shape, item, capability):
        return TUNED[shape]
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
