"""What the store of a study gives: runs, what came of them, measures and populations."""

from typing import Any, NamedTuple


class StudyRun(NamedTuple):
    """A run of a study: the plan, and what came of it."""

    id: str
    seed: int
    configuration: int
    spec: str
    """Its settings without the seed, as JSON."""
    population: str
    member: int
    current: bool
    """Whether the study file still asks for it."""
    population_status: str
    error: str | None
    """Of the population."""
    ended: str | None
    """``done`` or ``diverged``; None before the end."""
    seconds: float | None
    last: str | None
    """Values of the last log steps by name, as JSON."""


class RunRecord(NamedTuple):
    """What came of a run, as another study can take it over."""

    result: tuple[Any, ...]
    """Its row of the table of runs."""
    scores: dict[tuple[str, ...], tuple[float | None, str]]
    """Value and remark by metric, protocol, options, code and name."""


class Measure(NamedTuple):
    """How scores were computed."""

    metric: str
    protocol: str
    options: dict[str, Any]
    """The protocol's settings, and what else one must know to repeat it."""
    code: str
    """The version of unknot."""


class StudyPopulation(NamedTuple):
    """A population of a study, and how far it is."""

    key: str
    members: int
    steps: int
    status: str
    phase: str
    done: int
    """Steps in the phase ``train``, else scores."""
    error: str | None
