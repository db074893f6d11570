"""Rates of training that were measured on a GPU, and what they say of a population.

They are in ``gpu_rates.json``, which ``docs/benchmarks.py`` writes from the stored measurement.
"""

import functools
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from unknot.core import registry
from unknot.core.objective import Adversarial, views_of
from unknot.engine.device import Precision
from unknot.runs.spec import TrainSpec

NET, OBJECTIVE, SIDE, BATCH = "conv64", "beta_vae", 64, 64
"""What all precisions and sizes of populations were measured with; of the rest, a row each."""
CRITIC = "factor_vae"
"""Whose rate stands for all objectives with a critic that were not measured."""
SMALLEST = 8
"""Sides of images below this are rows or signals, whose cost does not follow their pixels."""
GPU = "H200"


@dataclass(frozen=True)
class Rate:
    """Steps of one model a second, of all models of a population together."""

    net: str
    objective: str
    precision: Precision
    members: int
    colour: bool
    steps: float


@functools.cache
def _stored() -> dict[str, Any]:
    file = resources.files("unknot.studies").joinpath("gpu_rates.json")
    stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return stored


@functools.cache
def measured_rates() -> tuple[Rate, ...]:
    """All that were measured with batches of 64 images of 64 x 64."""
    return tuple(Rate(**{**row, "steps": float(row["steps"])}) for row in _stored()["rows"])


def measured_on() -> str:
    """The device and the day."""
    return f"{_stored()['device']}, {_stored()['date']}"


def speed(members: int, precision: Precision) -> float:
    """Steps a second of all models of a population together, between measured sizes by logarithm.

    Example:
        >>> speed(1, "tf32") < speed(8, "tf32") < speed(20, "tf32") < speed(64, "tf32")
        True
    """
    speeds = {rate.members: rate.steps for rate in _alike(precision)}
    sizes = sorted(speeds)
    for low, high in itertools.pairwise(sizes):
        if low <= members <= high:
            share = (math.log(members) - math.log(low)) / (math.log(high) - math.log(low))
            return speeds[low] + share * (speeds[high] - speeds[low])
    return speeds[sizes[0] if members < sizes[0] else sizes[-1]]


def _alike(
    precision: Precision | None, net: str = NET, objective: str = OBJECTIVE, *, colour: bool = False
) -> list[Rate]:
    """Measured rates of one kind; of the plain one unless something else is said."""
    return [
        rate
        for rate in measured_rates()
        if (rate.net, rate.objective, rate.colour) == (net, objective, colour)
        and precision in (None, rate.precision)
    ]


def _share(rates: Sequence[Rate]) -> float:
    """How much faster or slower a kind is than the plain one, where it was measured last."""
    rate = max(rates, key=lambda rate: rate.members)
    return rate.steps / speed(rate.members, rate.precision)


@dataclass(frozen=True)
class Pace:
    """A population on the GPU."""

    step: float
    """Seconds of a step of one model."""
    assumptions: tuple[tuple[str, str], ...]
    """What was not measured, and what it counts as."""


def pace(
    spec: TrainSpec, members: int, precision: Precision, shape: tuple[int, int, int] | None
) -> Pace:
    """Seconds of a step of one model, and what is assumed about them.

    Nets, objectives and colour change the measured rate by the share that was measured, whatever
    the precision. An objective that was not takes as long as its images, one with a critic as long
    as FactorVAE for each of them; other batches and sides as long as their pixels.

    Args:
        spec: The training.
        members: Of the population.
        precision: To take the rates of.
        shape: Channels, height and width; one channel of 64 x 64 where nobody knows.
    """
    channels, height, width = shape or (1, SIDE, SIDE)
    rate, assumptions = speed(members, precision), list[tuple[str, str]]()
    if found := _alike(None, net=spec.net.name):
        rate *= _share(found)
    else:
        assumptions.append((spec.net.name, NET))
    name, settings = spec.objective.name, spec.objective.settings
    views = views_of(settings)
    if found := _alike(None, objective=name):
        rate *= _share(found)
    elif isinstance(settings, Adversarial) and (found := _alike(None, objective=CRITIC)):
        critic = registry.get("objectives", CRITIC)()
        rate *= _share(found) * views_of(critic) / views
        assumptions.append((name, CRITIC))
    else:
        rate /= views
        if name != OBJECTIVE:
            assumptions.append((name, f"{OBJECTIVE} by the image"))
    if channels == 3:
        if found := _alike(None, colour=True):
            rate *= _share(found)
        else:
            assumptions.append(("colour", "one channel"))
    if min(height, width) >= SMALLEST:
        rate *= SIDE**2 / (height * width)
    return Pace(spec.batch / BATCH / rate, tuple(assumptions))
