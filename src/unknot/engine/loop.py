"""The only training loop: a generator whose caller logs, saves and stops."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from unknot.engine.population import Population


@dataclass(frozen=True)
class Tick:
    """Steps done so far and, at log steps, the values of the last one."""

    step: int
    values: Mapping[str, Float[Tensor, " p"]] | None


def fit(
    population: Population, *, start: int, steps: int, log_every: int, pause_every: int
) -> Iterator[Tick]:
    """Train up to ``steps`` steps in all; values come at the first step and each ``log_every``.

    There is a tick at each multiple of ``pause_every``, and others between. At a tick the
    population is whole: any of them is a place to save or to stop.
    """
    done = start
    while done < steps:
        ahead = (log_every - done % log_every, pause_every - done % pause_every, steps - done)
        n = 1 if done == 0 else min(population.pace, *ahead)
        values = population.advance(done, n)
        done += n
        yield Tick(done, values if done == 1 or done % log_every == 0 or done == steps else None)
