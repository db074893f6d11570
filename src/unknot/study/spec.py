"""TrainSpec: everything that decides what a training gives, and nothing else."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from unknot.core.errors import ConfigError
from unknot.core.hyper import SCHEDULES, WHOLE_RUN, Schedule, hyper_fields, last_step, over_run
from unknot.core.objective import Adam, Drawing
from unknot.engine.device import Precision
from unknot.engine.population import Member
from unknot.losses.likelihood import LOSSES
from unknot.losses.overlap import Overlap
from unknot.samplers.parts.sampler import sampler_for
from unknot.samplers.parts.weights import WEIGHTS, Weight
from unknot.samplers.singles import Singles

FORMAT = 1


@dataclass(frozen=True)
class Choice:
    """A registered thing by name, with its settings as the dataclass that it is."""

    name: str
    settings: Any

    def table(self) -> dict[str, Any]:
        """As a TOML table."""
        return {"name": self.name, **plain(self.settings)}


@dataclass(frozen=True)
class TrainSpec:
    """One population: what its members share, and their seeds."""

    data: Choice
    net: Choice
    objective: Choice
    optim: Adam = field(default_factory=Adam)
    steps: int = 20_000
    batch: int = 64
    seeds: int | tuple[int, ...] = 0
    """One number for a lone run, whose results have no member axis; several for a population."""
    order_seed: int | None = None
    """Which images come when. None: each member draws from its own seed. A number: all members see
    the same batches, which ties them together and makes them poorer replicates."""
    draw: Choice | None = None
    """Which images go together. None: what the objective names, and single images where it names
    nothing."""
    precision: Precision = "float32"
    log_every: int = 100
    checkpoint_every: int = 1_000

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "log_every", "checkpoint_every"):
            if not 1 <= getattr(self, name) < 2**63:
                raise ConfigError(f"{name} must be 1 or more; got {getattr(self, name)}.")
        listed = self.seed_list
        if not listed:
            raise ConfigError("seeds must name at least one seed; got none.")
        if doubles := sorted(s for s, n in Counter(listed).items() if n > 1):
            raise ConfigError(
                f"Seeds must differ, or two members would be the same run; twice: {doubles}."
            )
        if outside := [s for s in (*listed, self.order_seed or 0) if not 0 <= s < 2**63]:
            raise ConfigError(f"Seeds are whole numbers from 0 to 2**63 - 1; got {outside}.")

        self._write_out()
        self._check_schedules()

    def _write_out(self) -> None:
        """Settle what was left open, so that a run's file says all that decides it."""
        settings = over_run(self.objective.settings, self.updates, "objective")
        object.__setattr__(self, "objective", replace(self.objective, settings=settings))
        object.__setattr__(self, "optim", over_run(self.optim, self.updates, "optim"))
        sampler = sampler_for(settings, self.draw.settings if self.draw else None)
        if isinstance(settings, Drawing):
            object.__setattr__(self, "draw", self.draw or Choice(settings.draw, sampler))
        elif sampler == Singles():  # as for all runs from before there were samplers
            object.__setattr__(self, "draw", None)

    def _check_schedules(self) -> None:
        """Training that ends before a schedule does is another training than was asked for."""
        for where, thing in (("objective", self.objective.settings), ("optim", self.optim)):
            for name in hyper_fields(thing):
                held = getattr(thing, name)
                if isinstance(held, Schedule) and last_step(held) > self.updates:
                    raise ConfigError(
                        f"{where}.{name} changes until step {last_step(held):,.0f}, but the run "
                        f"ends at {self.updates:,}; train longer, or make its schedule shorter "
                        f"with --set {where}.{name}.steps=N."
                    )

    @property
    def updates(self) -> int:
        """How often weights move; fewer than steps where an objective counts an update as two."""
        return -(-self.steps // getattr(self.objective.settings, "steps_per_update", 1))

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds, one or many."""
        return (self.seeds,) if isinstance(self.seeds, int) else self.seeds

    @property
    def lone(self) -> bool:
        """Whether results come without a member axis."""
        return isinstance(self.seeds, int)

    def members(self) -> list[Member]:
        """One member per seed."""
        return [
            Member(seed, self.objective.settings, self.optim, self.order_seed)
            for seed in self.seed_list
        ]

    def table(self) -> dict[str, Any]:
        """As nested plain values: what a TOML file says of it."""
        return {
            "version": FORMAT,
            **{
                f.name: list(v) if isinstance(v, tuple) else v
                for f in fields(self)
                if isinstance(v := getattr(self, f.name), int | str | tuple)
            },
            "data": self.data.table(),
            "net": self.net.table(),
            "objective": self.objective.table(),
            "optim": plain(self.optim),
            **({"draw": self.draw.table()} if self.draw else {}),
        }

    def ids(self) -> list[str]:
        """A stable name for each member: 12 hex digits of its own settings.

        What only decides when something is written down takes no part.
        """
        table = self.table()
        for name in ("seeds", "log_every", "checkpoint_every"):
            del table[name]
        texts = [json.dumps({**table, "seed": s}, sort_keys=True) for s in self.seed_list]
        return [hashlib.blake2b(t.encode(), digest_size=6).hexdigest() for t in texts]


def plain(settings: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """A dataclass of settings as plain values; what has a ``kind`` becomes a table with it."""
    if not is_dataclass(settings) or isinstance(settings, type):
        raise ConfigError(f"Settings must be a dataclass; got {settings!r}.")
    values = {f.name: getattr(settings, f.name) for f in fields(settings)}
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Schedule):
        return schedule_table(value)
    if isinstance(value, Weight):
        return {"kind": _kind(WEIGHTS, value), **plain(value)}
    if isinstance(value, Overlap):
        return {"kind": _kind(LOSSES, value), **plain(value)}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    return plain(value) if is_dataclass(value) else value


def schedule_table(schedule: Schedule) -> dict[str, Any]:
    """A schedule as the table that a file holds; one over the whole run has no steps yet.

    Example:
        >>> schedule_table(SCHEDULES["linear"](0.0, 4.0, 100.0))
        {'kind': 'linear', 'start': 0.0, 'end': 4.0, 'steps': 100.0, 'begin': 0.0}
    """
    values = {name: value for name, value in plain(schedule).items() if value != WHOLE_RUN}
    return {"kind": _kind(SCHEDULES, schedule), **values}


def _kind(kinds: Mapping[str, type], thing: object) -> str:
    return next(name for name, kind in kinds.items() if kind is type(thing))
