"""How long a study will take: here by the clock, or on one GPU from speeds that were measured.

Here, a few steps of each kind of population are trained.
"""

import itertools
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from unknot.core.errors import UnknotError
from unknot.core.objective import views_of
from unknot.core.text import duration
from unknot.engine.device import Precision, threads
from unknot.runs.spec import TrainSpec
from unknot.runs.training import Training
from unknot.studies.execute.machine import Machine
from unknot.studies.plan import MOST_ON_A_CPU, MOST_ON_A_GPU, Plan, Shard, group_of
from unknot.studies.plan import shards as divide

PATIENCE = 2.0
"""Seconds of steps for each kind; more are not needed to know the order of magnitude."""
MEASURING = 60.0
"""Seconds for all kinds together; those not reached are taken to be as the mean of the others."""
SPEEDS: dict[Precision, dict[int, float]] = {
    "float32": {1: 1_169, 8: 2_540, 64: 3_183},
    "tf32": {1: 1_638, 8: 3_752, 64: 5_056},
    "bf16": {1: 3_042, 8: 10_931, 64: 19_774},
}
"""Steps of one model a second on an H200 by members of the population: `conv64`, batches of 64
images of one channel (docs/benchmarks.md)."""
BATCH = 64
COMPILE = 27.0
"""Seconds that each population takes before its first step; 15 to 40 were measured."""


@dataclass(frozen=True)
class Estimate:
    """Seconds of training; scoring and loading come on top."""

    seconds: float
    measured: int
    kinds: int
    problems: tuple[str, ...] = ()
    """Why some kinds could not be measured."""
    memory: int = 0
    """Bytes of a worker, on a GPU of the GPU, at most, while the kinds were measured; 0 where the
    system does not say."""

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
        if time.monotonic() - began > MEASURING:
            break
        members = alike[0].runs if machine.gpu else alike[0].runs[:1]
        try:
            specs = [
                replace(plan.configurations[run.configuration], seeds=run.seed) for run in members
            ]
            with threads(machine.threads):
                paces[kind] = seconds_per_step(specs, machine.device)
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
    memory = peak_memory(machine.device)
    return Estimate(work / machine.workers, len(paces), len(kinds), tuple(problems), memory)


def peak_memory(device: str) -> int:
    """Bytes that this process has taken at most, on a GPU those of the GPU; 0 if nobody says."""
    if device.startswith("cuda"):
        return int(torch.cuda.max_memory_allocated())
    try:
        import resource
    except ImportError:  # Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def seconds_per_step(specs: Sequence[TrainSpec], device: str) -> float:
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


@dataclass(frozen=True)
class Budget:
    """Seconds of training on one H200 in each precision, compilation included."""

    seconds: dict[Precision, float]
    populations: int
    precisions: tuple[Precision, ...]
    """Precisions that the study's own runs have."""

    @property
    def text(self) -> str:
        """With what it rests on."""
        parts = ", ".join(f"{s / 3_600:,.1f} h in {name}" for name, s in self.seconds.items())
        speeds = ", ".join(f"{SPEEDS[name][MOST_ON_A_GPU]:,}" for name in self.seconds)
        return (
            f"{parts} of training on one H200 (estimated); the study uses "
            f"{' and '.join(self.precisions)}. The estimate uses {speeds} model-steps per second, "
            f"measured with conv64, {MOST_ON_A_GPU} models and batch {BATCH} (fewer for smaller "
            f"populations), and the compilation of {self.populations:,} populations of up to "
            f"{MOST_ON_A_GPU} runs (on a CPU, up to {MOST_ON_A_CPU}). Metrics and critics are not "
            "included"
        )


def budget(plan: Plan) -> Budget:
    """Estimate the training time on one H200 from the speeds measured there.

    Every net counts as `conv64` with one channel; a population of fewer than 64 is slower for each
    model, in between the sizes that were measured.
    """
    populations = divide(plan, members=plan.sweep.members or MOST_ON_A_GPU)
    seconds = {
        precision: sum(_seconds(plan.configurations, shard, precision) for shard in populations)
        for precision in SPEEDS
    }
    precisions = dict.fromkeys(spec.precision for spec in plan.configurations)
    return Budget(seconds, len(populations), tuple(precisions))


def images(spec: TrainSpec) -> int:
    """Images that one model sees in all its steps."""
    return spec.updates * spec.batch * views_of(spec.objective.settings)


def _seconds(settings: Sequence[TrainSpec], shard: Shard, precision: Precision) -> float:
    steps = sum(images(settings[run.configuration]) for run in shard.runs) / BATCH
    return COMPILE + steps / speed(len(shard.runs), precision)


def speed(members: int, precision: Precision) -> float:
    """Steps a second of all models of a population together, between measured sizes by logarithm.

    Example:
        >>> speed(64, "bf16"), speed(1, "tf32"), speed(200, "float32")
        (19774.0, 1638.0, 3183.0)
    """
    speeds = SPEEDS[precision]
    sizes = sorted(speeds)
    for low, high in itertools.pairwise(sizes):
        if members <= high:
            share = (math.log(members) - math.log(low)) / (math.log(high) - math.log(low))
            return float(speeds[low] + share * (speeds[high] - speeds[low]))
    return float(speeds[sizes[-1]])
