"""Schedules: numbers of an objective or optimiser that change with the step.

```python
from unknot import schedules
from unknot.objectives.beta_vae import BetaVAE

BetaVAE(beta=schedules.linear(0.0, 4.0, steps=10_000))
```

A schedule stands wherever a `Hyper` field takes a number, so these are typed to return one, as
`dataclasses.field` is typed to return its default. One without ``steps`` ends with the run.
"""

from typing import Literal, cast

from unknot.core.hyper import WHOLE_RUN, Constant, Cosine, Cyclic, Hyper, LinearSchedule, Warmup


def constant(value: float) -> Hyper:
    """The same value at every step.

    Example:
        >>> constant(4.0)
        Constant(value=4.0)
    """
    return cast(Hyper, Constant(value))


def linear(start: float, end: float, steps: float = WHOLE_RUN, begin: float = 0.0) -> Hyper:
    """From ``start`` to ``end`` in a straight line over ``steps`` steps from ``begin`` on.

    Example:
        >>> linear(0.0, 4.0, steps=10_000.0)
        LinearSchedule(start=0.0, end=4.0, steps=10000.0, begin=0.0)
    """
    return cast(Hyper, LinearSchedule(start, end, steps, begin))


def cosine(start: float, end: float, steps: float = WHOLE_RUN, begin: float = 0.0) -> Hyper:
    """From ``start`` to ``end`` along half a cosine over ``steps`` steps from ``begin`` on.

    Example:
        >>> cosine(1e-3, 0.0, steps=10_000.0, begin=5_000.0)
        Cosine(start=0.001, end=0.0, steps=10000.0, begin=5000.0)
    """
    return cast(Hyper, Cosine(start, end, steps, begin))


def cyclic(start: float, end: float, period: float, ramp: float = 0.5) -> Hyper:
    """In each period a straight line from ``start`` to ``end``, then ``end`` (Fu et al. 2019).

    Example:
        >>> cyclic(0.0, 1.0, period=2_000.0)
        Cyclic(start=0.0, end=1.0, period=2000.0, ramp=0.5)
    """
    return cast(Hyper, Cyclic(start, end, period, ramp))


def warmup(
    value: float,
    warmup: float,
    then: Literal["constant", "linear", "cosine"] = "constant",
    end: float = 0.0,
    steps: float = WHOLE_RUN,
) -> Hyper:
    """A straight line up to ``value`` in ``warmup`` steps; then constant, or down to ``end``.

    Example:
        >>> warmup(1e-3, 1_000.0, then="cosine", steps=20_000.0)
        Warmup(value=0.001, warmup=1000.0, then='cosine', end=0.0, steps=20000.0)
    """
    return cast(Hyper, Warmup(value, warmup, then, end, steps))


def __dir__() -> list[str]:
    return ["constant", "cosine", "cyclic", "linear", "warmup"]
