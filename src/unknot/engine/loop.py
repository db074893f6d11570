"""The only training loop: a generator whose caller logs, saves and stops."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from unknot.engine.population import Population

CHUNK = 10
"""Steps between two ticks: few enough that Ctrl-C and the progress bar answer at once."""


@dataclass(frozen=True)
class Tick:
    """Steps done so far and, at log steps, the values of the last one."""

    step: int
    values: Mapping[str, Float[Tensor, " p"]] | None


def fit(population: Population, *, start: int, steps: int, log_every: int) -> Iterator[Tick]:
    """Train up to ``steps`` steps in all; values come at the first step and each ``log_every``.

    Between two ticks the population is whole: any of them is a place to save or to stop.
    """
    done = start
    while done < steps:
        until_log = log_every - done % log_every
        n = 1 if done == 0 else min(CHUNK, until_log, steps - done)
        values = population.advance(done, n)
        done += n
        yield Tick(done, values if done == 1 or done % log_every == 0 or done == steps else None)
