"""The only training loop: a generator whose caller logs, saves and stops."""

from collections.abc import Iterator, Mapping, Sequence
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
    population: Population,
    *,
    start: int,
    steps: int,
    log_every: int,
    pause_every: int | Sequence[int],
    pause_at: Sequence[int] = (),
) -> Iterator[Tick]:
    """Train up to ``steps`` steps in all; values come at the first step and each ``log_every``.

    There is a tick at each multiple of ``pause_every``, or of any of several, at each step of
    ``pause_at``, and others between. At a tick the
    population is whole: any of them is a place to save or to stop.
    """
    done, pauses = start, (pause_every,) if isinstance(pause_every, int) else (*pause_every,)
    while done < steps:
        ahead = [pause - done % pause for pause in (log_every, *pauses)]
        ahead += [step - done for step in (*pause_at, steps) if step > done]
        n = 1 if done == 0 else min(population.pace, *ahead)
        values = population.advance(done, n)
        done += n
        yield Tick(done, values if done == 1 or done % log_every == 0 or done == steps else None)
