"""Plan: the runs of a study, and which of them train side by side."""

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from unknot.core import dotted
from unknot.core.errors import ConfigError
from unknot.core.hyper import shape_key
from unknot.runs import config
from unknot.runs.metric_names import split_part
from unknot.runs.spec import TrainSpec
from unknot.studies.file.formula import source_of
from unknot.studies.file.study_file import StudyFile
from unknot.studies.file.sweep import Sweep
from unknot.studies.sources import Sources, specs_after, waiting_settings

MOST_ON_A_CPU, MOST_ON_A_GPU = 16, 64
"""Members of a population unless the study says otherwise. A GPU is faster the more there are; on a
CPU they take turns, and more would only make what a killed worker loses larger."""

OF_MEMBERS = ("seeds", "order_seed", "objective", "optim", "origins")
"""What each member may have of its own: seeds, and numbers of objective and optimiser."""
SHARED = tuple(f.name for f in fields(TrainSpec) if f.name not in OF_MEMBERS)


@dataclass(frozen=True)
class Planned:
    """One run: a configuration by number, and a seed."""

    id: str
    configuration: int
    seed: int


@dataclass(frozen=True)
class Shard:
    """Runs that train side by side, in the order of the plan."""

    key: str
    """A function of its runs' ids alone."""
    runs: tuple[Planned, ...]


@dataclass(frozen=True)
class Plan:
    """All runs of a study, in the order of its file, the seeds of a configuration one by one."""

    file: StudyFile
    configurations: tuple[TrainSpec, ...]
    """Without doubles. Each has all seeds of the study, but where settings are taken from the
    result of another run: then there is one for each seed, with its source."""
    runs: tuple[Planned, ...]
    doubles: int
    """Settings that were asked for more than once, and are counted once."""
    omissions: Mapping[str, int] = field(default_factory=dict)
    """Runs that the file asks for and the plan has not, by dataset: its files are missing."""

    def __repr__(self) -> str:
        seeds = f"{len(self.sweep.seeds):,} seeds" if len(self.sweep.seeds) != 1 else "1 seed"
        return (
            f"Plan({len(self.runs):,} runs: {len(self.configurations):,} configurations, {seeds})"
        )

    @property
    def sweep(self) -> Sweep:
        """Seeds, metrics and all else that the file says beside the settings."""
        return self.file.sweep

    def facts(self) -> dict[str, str]:
        """What is asked for beside the runs, as the records keep it."""
        return {
            "name": self.sweep.name,
            "metrics": json.dumps(self.sweep.metrics),
            "protocol": self.sweep.protocol,
            "score_seed": str(self.sweep.score_seed),
        }

    def waits(self, settled: Collection[str] = ()) -> dict[str, int]:
        """Runs that wait for results, by the source that they name.

        Args:
            settled: Ids of runs that have theirs.
        """
        origins = (
            self.configurations[run.configuration].origins
            for run in self.runs
            if run.id not in settled
        )
        return dict(Counter(str(source_of(of_run[0].formula)) for of_run in origins if of_run))

    @property
    def steps(self) -> int:
        """Updates of all runs together."""
        return sum(spec.updates * len(spec.seed_list) for spec in self.configurations)


def plan(file: StudyFile) -> Plan:
    """Check every configuration of a study and name its runs."""
    configurations: list[TrainSpec] = []
    runs: list[Planned] = []
    ids_so_far: set[str] = set()
    built: dict[str, Any] = {}
    doubles, sweep = 0, file.sweep
    stages = [bool(waiting_settings(table)) for table in sweep.settings]
    planned: dict[int, list[TrainSpec]] = {}
    sources: Sources | None = None
    # Sources come before those that wait for them.
    for n in sorted(range(len(stages)), key=stages.__getitem__):
        try:
            if stages[n]:
                sources = sources or Sources([spec for specs in planned.values() for spec in specs])
                planned[n] = specs_after(sweep.settings[n], sources, sweep.seeds, built)
            else:
                table = {**sweep.settings[n], "seeds": list(sweep.seeds)}
                planned[n] = [config.spec(table, built)]
        except ConfigError as error:
            raise ConfigError(f"In {sweep.places[n]}: {error}") from error
        _check_parts(sweep, n, planned[n][0])
    for n in range(len(stages)):
        if planned[n][0].ids()[0] in ids_so_far:
            doubles += 1
            continue
        for spec in planned[n]:
            ids = spec.ids()
            ids_so_far.update(ids)
            number = len(configurations)
            runs += [Planned(i, number, s) for i, s in zip(ids, spec.seed_list, strict=True)]
            configurations.append(spec)
    return Plan(file, tuple(configurations), tuple(runs), doubles)


def _check_parts(sweep: Sweep, n: int, spec: TrainSpec) -> None:
    """Raise a ConfigError where a metric is of a part of data that is not split."""
    of_parts = [name for name in sweep.metrics or () if split_part(name)[1]]
    if of_parts and spec.split is None:
        raise ConfigError(
            f"In {sweep.places[n]}: {of_parts[0]} is of a part of the data, and these runs have "
            'no split; give them one, such as split = { kind = "rows" } under [train].'
        )


def group_of(spec: TrainSpec) -> str:
    """What must agree between runs that train side by side, as a text."""
    shared = {name: getattr(spec, name) for name in SHARED}
    shapes = shape_key(spec.objective.settings), shape_key(spec.optim)
    # What has to wait is not held together with what has not.
    later = tuple(origin.setting for origin in spec.origins)
    return repr((shared, spec.objective.name, shapes, *later))


def shards(plan: Plan, *, members: int, without: Collection[str] = ()) -> list[Shard]:
    """Runs of equal shape in populations of at most some members, of about equal size.

    Args:
        plan: The runs.
        members: The most in one population.
        without: Ids of runs that have a population already.
    """
    groups_of = [group_of(spec) for spec in plan.configurations]
    groups: dict[str, list[Planned]] = {}
    for run in plan.runs:
        if run.id not in without:
            groups.setdefault(groups_of[run.configuration], []).append(run)
    return [
        Shard(key_of(run.id for run in part), part)
        for group in groups.values()
        for part in even_parts(group, members)
    ]


def key_of(ids: Iterable[str]) -> str:
    """The name of a population: 12 hex digits of its members' ids."""
    return hashlib.blake2b(" ".join(ids).encode(), digest_size=6).hexdigest()


def even_parts(runs: Sequence[Planned], members: int) -> list[tuple[Planned, ...]]:
    """Runs in order, in as few parts of at most so many as it takes, of about the same size."""
    parts = math.ceil(len(runs) / members)
    cuts = [round(i * len(runs) / parts) for i in range(parts + 1)]
    return [tuple(runs[a:b]) for a, b in itertools.pairwise(cuts)]


def members_for(runs: int, workers: int, *, gpu: bool) -> int:
    """The most members of a population where the study does not say.

    They are few enough that each worker has a share.

    Example:
        >>> members_for(4, 2, gpu=False), members_for(1_800, 2, gpu=False)
        (2, 16)
        >>> members_for(1_800, 1, gpu=True), members_for(100, 8, gpu=True)
        (64, 12)
    """
    return max(1, min(MOST_ON_A_GPU if gpu else MOST_ON_A_CPU, runs // workers))


def configuration_table(spec: TrainSpec) -> dict[str, Any]:
    """A configuration as plain values, without its seeds; formulas stand where results will."""
    table = {name: value for name, value in spec.table().items() if name != "seeds"}
    for origin in spec.origins:
        dotted.put(table, origin.setting, origin.formula)
    return table
