"""How long a study will take here: a few steps of each kind of population are trained.

How long on GPUs elsewhere is `budget`.
"""

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from unknot.core.errors import UnknotError
from unknot.core.text import duration
from unknot.engine.device import threads
from unknot.engine.encode import encode
from unknot.runs.spec import TrainSpec
from unknot.runs.training import Training
from unknot.studies.budget import AGAIN, encoding_seconds, model_score_cost, scoring_seconds
from unknot.studies.execute.machine import Machine
from unknot.studies.execute.score_models import scoring_processes
from unknot.studies.execute.simulation import Job, simulate
from unknot.studies.plan import Plan, Shard, group_of

PATIENCE = 2.0
"""Seconds of steps for each kind; more are not needed to know the order of magnitude."""
MEASURING = 60.0
"""Seconds for all kinds together; those not reached are taken to be as the mean of the others."""
ENCODED = 512
"""Images that are encoded to know how long that takes."""


@dataclass(frozen=True)
class Estimate:
    """Seconds from the start of a study to its end."""

    seconds: float
    measured: int
    kinds: int
    problems: tuple[str, ...] = ()
    """Why some kinds could not be measured."""
    memory: int = 0
    """Bytes of a worker, on a GPU of the GPU, at most, while the kinds were measured; 0 where the
    system does not say."""
    scores: float = 0.0
    """Of all seconds that workers are busy, the share of scores while nothing trains."""

    @property
    def text(self) -> str:
        """With what it rests on."""
        if not math.isfinite(self.seconds):
            return f"unknown: {'; '.join(self.problems) or 'nothing was measured'}"
        basis = f"a few steps of {self.measured} of {self.kinds} kinds of population"
        return (
            f"about {duration(self.seconds)} on this machine (estimated from {basis}; "
            f"{100 * self.scores:.0f} % are scores, by what they cost elsewhere)"
        )


@dataclass(frozen=True)
class Pace:
    """A population here, from a few steps of it."""

    start: float
    """Seconds until the first steps are done, compilation included."""
    step: float
    """Seconds of a step of one model."""
    image: float
    """Seconds that one model takes to encode an image."""
    images: int
    """Of the dataset."""
    factors: bool
    """Whether it has factors."""


def estimate(plan: Plan, shards: Sequence[Shard], machine: Machine) -> Estimate:
    """Train a few steps of one population of each kind and extrapolate.

    It takes the workers not to slow each other down. Scores take the CPU seconds that were measured
    of them elsewhere, and encode at the speed of this machine.
    """
    kinds: dict[str, list[Shard]] = {}
    groups = [group_of(spec) for spec in plan.configurations]
    for shard in shards:
        kinds.setdefault(groups[shard.runs[0].configuration], []).append(shard)
    began = time.monotonic()
    paces: dict[str, Pace] = {}
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
                paces[kind] = measure(specs, machine.device)
        except UnknotError as error:
            problems[str(error)] = None
    if not paces:
        return Estimate(math.inf, 0, len(kinds), tuple(problems))
    mean = _mean([*paces.values()])
    overlap = machine.gpu and len(shards) > machine.workers
    jobs, training = [], 0.0
    for shard in shards:
        kind = groups[shard.runs[0].configuration]
        spec, pace = plan.configurations[shard.runs[0].configuration], paces.get(kind, mean)
        scoring, encoding = _scoring(plan, spec, len(shard.runs), pace, machine)
        again = min(AGAIN, pace.start)
        steps = pace.step * len(shard.runs) * spec.updates
        steps += encoding if overlap else 0.0  # both use the GPU
        training += steps
        jobs.append(Job(shard.key, f"{len(shard.runs)} {kind}", pace.start, again, steps, scoring))
    done = simulate(jobs, machine.workers, overlap=overlap)
    memory = peak_memory(machine.device)
    busy = training + done.starts + done.scores
    share = done.scores / busy if busy else 0.0
    return Estimate(done.seconds, len(paces), len(kinds), tuple(problems), memory, share)


def _mean(paces: Sequence[Pace]) -> Pace:
    """What was not measured is taken to be like the others."""
    n = len(paces)
    return Pace(
        sum(pace.start for pace in paces) / n,
        sum(pace.step for pace in paces) / n,
        sum(pace.image for pace in paces) / n,
        max(pace.images for pace in paces),
        any(pace.factors for pace in paces),
    )


def _scoring(
    plan: Plan, spec: TrainSpec, members: int, pace: Pace, machine: Machine
) -> tuple[float, float]:
    """Seconds of scoring a population, and of them those that encode.

    On a GPU models are scored side by side, on a CPU one after the other.
    """
    images, factors, encode = pace.images, pace.factors, 1 / max(pace.image, 1e-9)
    encoding = encoding_seconds(plan, spec, members, images, encode=encode, factors=factors)
    if machine.gpu:
        cores = max(1, scoring_processes() // machine.workers)
        scoring = scoring_seconds(
            plan, spec, members, images, cores=cores, encode=encode, factors=factors
        )
        return scoring, encoding
    cost = model_score_cost(plan, spec, images, factors=factors)
    return members * cost.cpu * (1 + len(spec.kept_steps)) + encoding, encoding


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


def measure(specs: Sequence[TrainSpec], device: str) -> Pace:
    """Start a population, train a few steps and encode a few images."""
    began = time.monotonic()
    training = Training.start(specs, device)
    population, dataset = training.population, training.context.dataset
    population.advance(0, 1)
    _wait(population.advance(1, 2))  # the first steps compile, or warm up
    start = time.monotonic() - began
    steps, began = 0, time.monotonic()
    while (seconds := time.monotonic() - began) < PATIENCE and steps < 200:
        _wait(population.advance(3 + steps, population.pace))
        steps += population.pace
    index = torch.arange(min(ENCODED, len(dataset)))
    encode(population, dataset, index[:1])
    encoding = time.monotonic()
    float(encode(population, dataset, index).mean.sum())
    image = (time.monotonic() - encoding) / len(index) / len(specs)
    factors = not dataset.space.stands_in
    return Pace(start, seconds / steps / len(specs), image, len(dataset), factors)


def _wait(values: object) -> None:
    if isinstance(values, dict):
        float(values["loss"].sum())
