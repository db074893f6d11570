"""How long a study will take here: a few steps of each kind of population, by the clock."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from unknot.core.errors import UnknotError
from unknot.core.text import duration
from unknot.engine.device import threads
from unknot.runs.spec import TrainSpec
from unknot.runs.training import Training
from unknot.studies.execute.machine import Machine
from unknot.studies.plan import Plan, Shard, group_of

PATIENCE = 2.0
"""Seconds of steps for each kind; more are not needed to know the order of magnitude."""
BUDGET = 60.0
"""Seconds for all kinds together; those not reached are taken to be as the mean of the others."""


@dataclass(frozen=True)
class Estimate:
    """Seconds of training; scoring and loading come on top."""

    seconds: float
    measured: int
    kinds: int
    problems: tuple[str, ...] = ()
    """Why some kinds could not be measured."""

    @property
    def text(self) -> str:
        """With what it rests on."""
        if not math.isfinite(self.seconds):
            return f"unknown: {'; '.join(self.problems) or 'nothing was measured'}"
        basis = f"a few steps of {self.measured} of {self.kinds} kinds of population"
        return (
            f"about {duration(self.seconds)} of training on this machine (estimated from {basis}); "
            "metrics not included"
        )


def estimate(plan: Plan, shards: Sequence[Shard], machine: Machine) -> Estimate:
    """Train a few steps of one population of each kind and extrapolate.

    It takes the workers not to slow each other down, and to be busy to the end.
    """
    kinds: dict[str, list[Shard]] = {}
    groups = [group_of(spec) for spec in plan.configurations]
    for shard in shards:
        kinds.setdefault(groups[shard.runs[0].configuration], []).append(shard)
    began = time.monotonic()
    paces: dict[str, float] = {}
    problems: dict[str, None] = {}
    for kind, alike in kinds.items():
        if time.monotonic() - began > BUDGET:
            break
        members = alike[0].runs if machine.gpu else alike[0].runs[:1]
        try:
            specs = [
                replace(plan.configurations[run.configuration], seeds=run.seed) for run in members
            ]
            with threads(machine.threads):
                paces[kind] = _pace(specs, machine.device)
        except UnknotError as error:
            problems[str(error)] = None
    if not paces:
        return Estimate(math.inf, 0, len(kinds), tuple(problems))
    mean = sum(paces.values()) / len(paces)
    work = sum(
        paces.get(kind, mean)
        * len(shard.runs)
        * plan.configurations[shard.runs[0].configuration].updates
        for kind, alike in kinds.items()
        for shard in alike
    )
    return Estimate(work / machine.workers, len(paces), len(kinds), tuple(problems))


def _pace(specs: Sequence[TrainSpec], device: str) -> float:
    """Seconds of a step of one model."""
    population = Training.start(specs, device).population
    population.advance(0, 1)
    _wait(population.advance(1, 2))  # the first steps compile, or warm up
    steps, began = 0, time.monotonic()
    while (seconds := time.monotonic() - began) < PATIENCE and steps < 200:
        _wait(population.advance(3 + steps, population.pace))
        steps += population.pace
    return seconds / steps / len(specs)


def _wait(values: object) -> None:
    if isinstance(values, dict):
        float(values["loss"].sum())
