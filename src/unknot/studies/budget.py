"""How long a study takes on H200 GPUs, from rates that were measured on one.

Training with its critics, starts with their compilation, and scores are counted; populations go to
GPUs as in a real run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from unknot.core.factor_table import Space
from unknot.core.objective import views_of
from unknot.core.text import counted
from unknot.data.parts.published import Published
from unknot.engine.device import Precision
from unknot.runs.spec import TrainSpec
from unknot.studies.execute.simulation import Job, simulate
from unknot.studies.gpu_rates import BATCH, GPU, NET, Pace, pace, speed
from unknot.studies.plan import MOST_ON_A_GPU, Plan, Shard, group_of, members_for
from unknot.studies.plan import shards as divide
from unknot.studies.score_costs import MOST, ScoreCost, score_cost

PRECISIONS: tuple[Precision, ...] = ("float32", "tf32", "bf16")
COMPILE = 27.0
"""Seconds before the first step of a population of a shape that its process has not had before; 15
to 40 were measured."""
AGAIN = 0.3
"""The same for a shape that it has had."""
WORKER = 9.0
"""Seconds until a worker is there and has its images."""
CORES = 16
"""Of the machine that scores were measured on, for its one GPU."""
SCORERS = 13.0
"""Seconds until scoring processes are there and the kernels that encode are compiled."""
ENCODE = 1.5e6
"""Images a second that a population encodes in float32, of all models together."""
BUSY = 2.0
"""How much longer a core takes while all the others compute scores, too."""
MACHINE = 8
"""GPUs that one machine has at most. There, scores are computed while other populations train; on a
cluster, each worker scores what it has trained."""


@dataclass(frozen=True)
class Parts:
    """Seconds of work of all GPUs together."""

    training: float
    starts: float
    scores: float
    """Without those that are computed while others train."""

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.training + self.starts + self.scores


@dataclass(frozen=True)
class Budget:
    """Seconds from the start of a study to its end on some H200, in each precision."""

    seconds: dict[Precision, float]
    parts: dict[Precision, Parts]
    """What the GPUs are busy with."""
    populations: int
    members: int
    """At most, of one."""
    precisions: tuple[Precision, ...]
    """Precisions that the study's own runs have."""
    gpus: int = 1
    assumptions: tuple[tuple[str, str], ...] = ()
    """What was not measured, and what it counts as."""

    @property
    def text(self) -> str:
        """With what it rests on."""
        hours = ", ".join(f"{s / 3_600:,.1f} h in {name}" for name, s in self.seconds.items())
        machines = f"one {GPU}" if self.gpus == 1 else f"{self.gpus} {GPU}"
        own = next((name for name in self.precisions if name in self.parts), [*self.parts][-1])
        its, all_gpus = self.parts[own], self.seconds[own] * self.gpus
        shares = {
            "training": its.training,
            "starts and compilation": its.starts,
            "scores": its.scores,
            "waiting": all_gpus - its.seconds,
        }
        listed = ", ".join(
            f"{name} {100 * s / all_gpus:.0f} %" for name, s in shares.items() if s > all_gpus / 200
        )
        speeds = ", ".join(f"{speed(self.members, name):,.0f}" for name in self.seconds)
        by_stand_in: dict[str, list[str]] = {}
        for name, stand_in in self.assumptions:
            by_stand_in.setdefault(stand_in, []).append(name)
        assumed = [f"{', '.join(names)} as {stand_in}" for stand_in, names in by_stand_in.items()]
        rest = f". Not measured, and counted otherwise: {'; '.join(assumed)}" if assumed else ""
        return (
            f"{hours} on {machines} (estimated; the study uses {' and '.join(self.precisions)}, "
            f"and of that {listed}). The estimate uses {speeds} model-steps per second, measured "
            f"with {NET}, {counted(self.members, 'model')} and batch {BATCH}, for "
            f"{counted(self.populations, 'population')}, and counts critics, compilation and "
            f"scores on {CORES} cores for each GPU{rest}"
        )


def budget(plan: Plan, gpus: int = 1) -> Budget:
    """Estimate how long a study takes on some H200 from the rates measured there.

    Args:
        plan: The study.
        gpus: Workers with a GPU and 16 cores each.
    """
    most = plan.sweep.members or members_for(len(plan.runs), gpus, gpu=True)
    populations = divide(plan, members=most)
    overlap = gpus <= MACHINE and len(populations) > gpus
    seconds, parts, assumptions = {}, {}, dict[tuple[str, str], None]()
    for precision in PRECISIONS:
        jobs, training = [], 0.0
        for shard in populations:
            spec = plan.configurations[shard.runs[0].configuration]
            shape, images = known_size(spec)
            rate = pace(spec, len(shard.runs), precision, shape)
            assumptions.update(dict.fromkeys(rate.assumptions))
            steps = _training_seconds(plan.configurations, shard, rate)
            if overlap:  # both use the GPU
                steps += encoding_seconds(plan, spec, len(shard.runs), images)
            scoring = scoring_seconds(plan, spec, len(shard.runs), images)
            training += steps
            kind = f"{len(shard.runs)} {group_of(spec)}"
            jobs.append(Job(shard.key, kind, COMPILE, AGAIN, steps, scoring))
        done = simulate(jobs, gpus, start=WORKER, overlap=overlap)
        seconds[precision] = done.seconds
        parts[precision] = Parts(training, done.starts + WORKER * len(done.busy), done.scores)
    precisions = dict.fromkeys(spec.precision for spec in plan.configurations)
    return Budget(
        seconds=seconds,
        parts=parts,
        populations=len(populations),
        members=max((len(shard.runs) for shard in populations), default=MOST_ON_A_GPU),
        precisions=tuple(precisions),
        gpus=gpus,
        assumptions=tuple(assumptions),
    )


def _training_seconds(settings: Sequence[TrainSpec], shard: Shard, rate: Pace) -> float:
    return rate.step * sum(settings[run.configuration].updates for run in shard.runs)


def scoring_seconds(
    plan: Plan,
    spec: TrainSpec,
    members: int,
    images: int,
    *,
    cores: int = CORES,
    encode: float = ENCODE,
    factors: bool = True,
) -> float:
    """Seconds of scoring a population on a GPU machine, at its end and wherever it is kept.

    Args:
        plan: With the metrics.
        spec: Of the population.
        members: Of the population.
        images: Of its dataset.
        cores: That score.
        encode: Images a second.
        factors: Whether the dataset has factors.
    """
    if plan.sweep.metrics == ():
        return 0.0
    cost = model_score_cost(plan, spec, images, factors=factors)
    at_work = min(cores, members)
    # Alone, a core is as fast as it was measured.
    slower = 1 + (BUSY - 1) * (at_work / cores)
    once = SCORERS + members * (cost.rows / encode + slower * cost.cpu / at_work)
    return once * (1 + len(spec.kept_steps))


def encoding_seconds(
    plan: Plan,
    spec: TrainSpec,
    members: int,
    images: int,
    *,
    encode: float = ENCODE,
    factors: bool = True,
) -> float:
    """Seconds of the GPU in the scoring of a population; arguments as above."""
    rows = model_score_cost(plan, spec, images, factors=factors).rows
    return members * rows / encode * (1 + len(spec.kept_steps))


def model_score_cost(
    plan: Plan, spec: TrainSpec, images: int, *, factors: bool = True
) -> ScoreCost:
    """What the scores of one model of a study cost, once."""
    latents = getattr(spec.net.settings, "latents", 10)
    sweep = plan.sweep
    return score_cost(
        sweep.metrics, sweep.protocol, latents=latents, images=images, factors=factors
    )


def known_size(spec: TrainSpec) -> tuple[tuple[int, int, int] | None, int]:
    """Shape of images, if it is known without reading them, and their number.

    Where that is not known, there are as many as metrics look at.
    """
    settings = spec.data.settings
    published = getattr(settings, "published", None)
    facts = published if isinstance(published, Published) else settings
    shape, space = getattr(facts, "shape", None), getattr(facts, "space", None)
    return shape, space.size if isinstance(space, Space) else MOST


def images(spec: TrainSpec) -> int:
    """Images that one model sees in all its steps."""
    return spec.updates * spec.batch * views_of(spec.objective.settings)
