"""What a study costs on one GPU, from measured speeds."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from unknot.core.objective import views_of
from unknot.engine.device import Precision
from unknot.runs.spec import TrainSpec
from unknot.studies.plan import MOST_ON_A_CPU, MOST_ON_A_GPU, Plan, Shard, shards

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
    populations = shards(plan, members=plan.sweep.members or MOST_ON_A_GPU)
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
