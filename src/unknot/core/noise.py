"""Random numbers as a pure function of (seed, stream, step, position).

The generator is Philox4x32-10 (`unknot.core.philox`): the seed is its 64-bit key; block number,
step and the stream's name make its 128-bit counter. There is no state, so numbers do not depend
on what was drawn before or on who else trains, and a new stream never shifts another. The integers
are exact and the same on every device; normals go through the device's ``log`` and ``cos`` and
agree to rounding.

``seed`` and ``step`` may be tensors. They broadcast against each other, and their common shape
leads the result: seeds ``[p]`` give one independent row for each member of a population.
"""

import math
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.philox import WORD, philox
from unknot.core.philox import stream_number as stream_number

Count: TypeAlias = int | Int[Tensor, "..."]


def words(seed: Count, stream: str, step: Count, n: int) -> Int[Tensor, "*p n"]:
    """``n`` uniform 32-bit words for each seed and step, as int64.

    Example:
        >>> words(0, "z", 0, 3).shape
        torch.Size([3])
        >>> torch.equal(words(torch.tensor([7, 8]), "z", 5, 9)[1], words(8, "z", 5, 9))
        True
    """
    if isinstance(seed, int) and not -(2**63) <= seed < 2**63:
        raise ConfigError(f"Seeds are whole numbers from 0 to 2**63 - 1; got {seed}.")
    device = next((c.device for c in (seed, step) if isinstance(c, Tensor)), torch.device("cpu"))
    seed = torch.as_tensor(seed, device=device).long().unsqueeze(-1)
    step = torch.as_tensor(step, device=device).long().unsqueeze(-1)
    block = torch.arange(-(-n // 4), device=device)
    name = torch.full_like(block, stream_number(stream))
    # Block and name take the places that the first round only xors: a compiler would fold a product
    # of either with a constant and overflow its 32-bit index arithmetic.
    counter = (step & WORD, block, (step >> 32) & WORD, name)
    key = (seed & WORD, (seed >> 32) & WORD)
    blocks = torch.stack(torch.broadcast_tensors(*philox(counter, key)), dim=-1)
    return blocks.flatten(-2)[..., :n]


def uniform(
    seed: Count, stream: str, step: Count, *shape: int, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "..."]:
    """Uniform numbers strictly inside (0, 1), shape ``[*p, *shape]``.

    The words are centred in their cells and rounded to ``dtype`` at the end; in float32 the
    largest cells would round up to 1 and are held just below it.
    """
    u = (words(seed, stream, step, math.prod(shape)).double() + 0.5) * 2.0**-32
    u = u.clamp(max=1 - torch.finfo(dtype).eps / 2).to(dtype)
    return u.reshape((*u.shape[:-1], *shape))


def normal(
    seed: Count, stream: str, step: Count, *shape: int, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "..."]:
    """Standard normal numbers by Box and Muller's transform, shape ``[*p, *shape]``.

    Computed in float64 whatever ``dtype`` is, so that precision changes rounding and nothing else.
    """
    n = math.prod(shape)
    u = (words(seed, stream, step, n + n % 2).double() + 0.5) * 2.0**-32
    radius, angle = (-2 * u[..., 0::2].log()).sqrt(), 2 * math.pi * u[..., 1::2]
    z = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=-1).flatten(-2)
    return z[..., :n].reshape((*z.shape[:-1], *shape)).to(dtype)


def integers(seed: Count, stream: str, step: Count, *shape: int, high: int) -> Int[Tensor, "..."]:
    """Uniform integers in ``0 .. high - 1``, shape ``[*p, *shape]``.

    A 63-bit number modulo ``high``: no value is likelier than another by more than ``high / 2**63``
    in relative terms, 8e-9 for the largest grid (64 ** 6).
    """
    values = _keys(seed, stream, step, math.prod(shape)) % high
    return values.reshape((*values.shape[:-1], *shape))


def permutation(
    seed: Count, stream: str, step: Count, n: int, columns: int
) -> Int[Tensor, "*p n columns"]:
    """Independent uniform permutations of ``0 .. n - 1``, one in each column."""
    keys = _keys(seed, stream, step, n * columns)
    return keys.reshape(*keys.shape[:-1], n, columns).argsort(dim=-2, stable=True)


def _keys(seed: Count, stream: str, step: Count, n: int) -> Int[Tensor, "*p n"]:
    """Uniform 63-bit integers, two words each."""
    halves = words(seed, stream, step, 2 * n)
    return halves[..., 0::2] | ((halves[..., 1::2] & 0x7FFFFFFF) << 32)
