"""What a kernel is compiled for, and how it is cut into blocks."""

from dataclasses import dataclass


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
