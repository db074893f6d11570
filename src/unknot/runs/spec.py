"""TrainSpec: everything that decides what a training gives, and nothing else."""

import hashlib
import json
from collections import Counter
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from unknot.core import dotted
from unknot.core.dataset import FileSettings
from unknot.core.errors import ConfigError
from unknot.core.hyper import WHOLE_RUN, Schedule, hyper_fields, last_step, over_run
from unknot.core.objective import Differencing, sampler_of, updates_of
from unknot.core.optim import Adam, Optimizer, optimizer_name
from unknot.core.places import place_fields
from unknot.engine.device import Precision
from unknot.engine.population import Member
from unknot.runs.stopping import Stop
from unknot.samplers.parts.sampler import sampler_for
from unknot.samplers.parts.split import Split
from unknot.samplers.singles import Singles

FORMAT = 2
"""Of run.toml. Format 1 had other names for some settings; ids come from names and values."""


LARGEST_BATCH = 2**31 - 1
"""More images than any machine holds."""


@dataclass(frozen=True)
class Choice:
    """A registered thing by name, with its settings as the dataclass that it is."""

    name: str
    settings: Any
    source: str | None = None
    """Of a user's own class: a hash of its source, which makes an edited class another run."""

    @property
    def title(self) -> str:
        """What people call it: its name, or that of the user's own folder or file."""
        return self.settings.title if isinstance(self.settings, FileSettings) else self.name

    def table(self) -> dict[str, Any]:
        """As a TOML table."""
        named = {"name": self.name, **({"source": self.source} if self.source else {})}
        return {**named, **settings_table(self.settings)}


@dataclass(frozen=True)
class Origin:
    """Where a setting comes from that was taken from the result of another run of a study."""

    setting: str
    """Its path, such as ``objective.beta``."""
    formula: str
    source: str
    """The id of the other run."""


@dataclass(frozen=True)
class TrainSpec:
    """One population: what its members share, and their seeds."""

    data: Choice
    net: Choice
    objective: Choice
    optim: Optimizer = field(default_factory=Adam)
    steps: int = 20_000
    batch: int = 64
    seeds: int | tuple[int, ...] = 0
    """One number for a lone run, whose results have no member axis; several for a population."""
    order_seed: int | None = None
    """Which images come when. None: each member draws from its own seed. A number: all members see
    the same batches, which ties them together and makes them poorer replicates."""
    sampler: Choice | None = None
    """Which images form a pair or triplet. None: what the objective names, and single images where
    it names nothing."""
    split: Split | None = None
    """Which rows are held out for validation and testing; None trains on all of them."""
    precision: Precision = "float32"
    ema: float | None = None
    """The share that stays of a moving average of the weights at each step, such as 0.999. With
    one, the weights of the finished run, its codes and its pictures are those of the average."""
    log_every: int = 100
    checkpoint_every: int = 1_000
    validate_every: int | None = None
    """Steps between two looks at the validation part of the split; None never looks."""
    stop: Stop | None = None
    """When a member stops before the last step."""
    keep: str | None = None
    """Whose best step's weights are kept besides the last ones: a logged value by name, or
    ``best`` for that of ``stop``, and validation.loss without it."""
    score_at: tuple[int, ...] = ()
    """Steps whose weights are kept, to be scored like those of the last."""
    score_every: int | None = None
    """The same for each multiple of so many steps."""
    track: tuple[Literal["tensorboard"], ...] = ()
    """Trackers that follow the training while it runs."""
    origins: tuple[Origin, ...] = ()
    """Of settings that follow from another run. They stand for the values in the run's id, which is
    thus known before there are any."""

    def __post_init__(self) -> None:
        self._check_looks()
        pauses = ("log_every", "checkpoint_every", "validate_every", "score_every")
        for name in ("steps", "batch", *pauses):
            if (value := getattr(self, name)) is not None and not 1 <= value < 2**63:
                bound = "1 or more" if value < 1 else "below 2^63"
                raise ConfigError(f"{name} must be {bound}; got {value}.")
        if self.batch > LARGEST_BATCH:
            raise ConfigError(f"batch must be at most {LARGEST_BATCH:,}; got {self.batch}.")
        if self.ema is not None and not 0 <= self.ema < 1:
            raise ConfigError(f"ema must lie in [0, 1), such as 0.999; got {self.ema}.")
        listed = self.seed_list
        if not listed:
            raise ConfigError("seeds must name at least one seed; got none.")
        if doubles := sorted(s for s, n in Counter(listed).items() if n > 1):
            raise ConfigError(
                f"Seeds must differ, or two models would be the same run; twice: {doubles}."
            )
        if outside := [s for s in (*listed, self.order_seed or 0) if not 0 <= s < 2**63]:
            raise ConfigError(f"Seeds are whole numbers from 0 to 2**63 - 1; got {outside}.")

        settings = self.objective, self.optim, self.sampler
        if _write_out(*settings, self.steps) != settings:
            raise ConfigError("A spec says all that decides a run; make it with TrainSpec.create.")
        self._check_schedules()
        if isinstance(self.objective.settings, Differencing):
            self.objective.settings.check_precision(self.precision)

    @classmethod
    def create(
        cls,
        data: Choice,
        net: Choice,
        objective: Choice,
        *,
        optim: Optimizer | None = None,
        steps: int = 20_000,
        sampler: Choice | None = None,
        **others: Any,
    ) -> "TrainSpec":
        """A spec with all that was left open written out, so that a run's file decides the run.

        Schedules over the whole run get its length, and the sampler is the one that the objective
        asks for.
        """
        objective, optim, sampler = _write_out(objective, optim or Adam(), sampler, steps)
        return cls(data, net, objective, optim, steps, sampler=sampler, **others)

    def _check_looks(self) -> None:
        """What is looked at during training must be there to be seen."""
        if self.validate_every is not None and not getattr(self.split, "validation", 0):
            raise ConfigError(
                "validate_every looks at rows that are held out for validation; add a split, such "
                "as --set split.kind=rows."
            )
        rules = [self.stop, *([] if self.keep is None else [self.keep_rule])]
        names = [rule.metric for rule in rules if rule is not None]
        if not (self.score_every or self.score_at):
            for rule in rules:
                if rule is not None and rule.scores:
                    raise ConfigError(
                        f"{rule.metric} is a metric, which is scored at chosen steps; add --set "
                        "score_every=N, or name a logged value, such as loss."
                    )
        if self.validate_every is None and any(name.startswith("validation.") for name in names):
            raise ConfigError(
                f"{names[0]} is logged at validation steps alone; add --set validate_every=N and a "
                "split, or name a value of training, such as loss."
            )
        if outside := [step for step in self.score_at if not 1 <= step <= self.updates]:
            raise ConfigError(f"score_at names steps from 1 to {self.updates:,}; got {outside}.")

    @property
    def keep_rule(self) -> Stop:
        """What decides which step is the best."""
        if self.keep in (None, "best"):
            return self.stop or Stop()
        same = self.stop is not None and self.stop.metric == self.keep
        return replace(self.stop, least=0.0) if self.stop and same else Stop.create(str(self.keep))

    @property
    def kept_steps(self) -> tuple[int, ...]:
        """Steps before the last whose weights are kept."""
        steps = range(self.score_every, self.updates, self.score_every) if self.score_every else ()
        return tuple(sorted({*self.score_at, *steps} - {self.updates}))

    def _check_schedules(self) -> None:
        """Training that ends before a schedule does is another training than was asked for."""
        for where, thing in (("objective", self.objective.settings), ("optim", self.optim)):
            for name in hyper_fields(thing):
                value = getattr(thing, name)
                if isinstance(value, Schedule) and last_step(value) > self.updates:
                    raise ConfigError(
                        f"{where}.{name} changes until step {last_step(value):,.0f}, but the run "
                        f"ends at {self.updates:,}; train longer, or make its schedule shorter "
                        f"with --set {where}.{name}.steps=N."
                    )

    @property
    def updates(self) -> int:
        """How often weights move; fewer than steps where an objective counts an update as two."""
        return updates_of(self.objective.settings, self.steps)

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
            "format": FORMAT,
            **{
                f.name: list(v) if isinstance(v, tuple) else v
                for f in fields(self)
                if isinstance(v := getattr(self, f.name), int | float | str | tuple) and v != ()
            },
            "data": self.data.table(),
            "net": self.net.table(),
            "objective": self.objective.table(),
            "optim": optim_table(self.optim),
            **({"sampler": self.sampler.table()} if self.sampler else {}),
            **({"split": plain_value(self.split)} if self.split else {}),
            **({"stop": settings_table(self.stop)} if self.stop else {}),
            **({"origins": [settings_table(o) for o in self.origins]} if self.origins else {}),
        }

    def ids(self) -> list[str]:
        """A stable name for each member: 12 hex digits of its own settings.

        What only decides when something is written down takes no part, nor where a file lies.
        """
        table = self.table()
        kind: Any = type(self.data.settings)
        for name in place_fields(kind):
            table["data"].pop(name, None)
        likelihood = getattr(self.objective.settings, "likelihood", None)
        if is_dataclass(likelihood):
            form: Any = type(likelihood)
            for name in place_fields(form):
                table["objective"]["likelihood"].pop(name, None)
        for origin in self.origins:
            dotted.put(table, origin.setting, origin.formula)
        unimportant = {"format", "seeds", *dotted.WRITTEN_DOWN}
        if self.stop is not None:  # when a member stops depends on when it is looked at
            seen_at_validation = self.stop.metric.startswith("validation.")
            logged = {"validate_every" if seen_at_validation else "log_every"}
            unimportant -= {"score_at", "score_every"} if self.stop.scores else logged
        table = {name: value for name, value in table.items() if name not in unimportant}
        texts = [json.dumps({**table, "seed": s}, sort_keys=True) for s in self.seed_list]
        return [hashlib.blake2b(t.encode(), digest_size=6).hexdigest() for t in texts]


def _write_out(
    objective: Choice, optim: Optimizer, sampler: Choice | None, steps: int
) -> tuple[Choice, Optimizer, Choice | None]:
    """Schedules that end with the run, and the sampler where the objective asks for one."""
    updates = updates_of(objective.settings, steps)
    settings = over_run(objective.settings, updates, "objective")
    bound = sampler_for(settings, sampler.settings if sampler else None)
    if (name := sampler_of(settings)) != "singles":
        sampler = sampler or Choice(name, bound)
    elif bound == Singles():  # the default is not written down
        sampler = None
    return replace(objective, settings=settings), over_run(optim, updates, "optim"), sampler


def optim_table(optim: Optimizer) -> dict[str, Any]:
    """An optimiser as a TOML table; Adam is the one without a name.

    Example:
        >>> from unknot.core.optim import SGD
        >>> optim_table(SGD(momentum=0.9))
        {'name': 'sgd', 'lr': 0.001, 'momentum': 0.9, 'nesterov': False}
    """
    named = {} if isinstance(optim, Adam) else {"name": optimizer_name(optim)}
    return {**named, **settings_table(optim)}


def settings_table(settings: Any) -> dict[str, Any]:
    """A dataclass of settings as the table that a file holds; what is None has no entry.

    Neither have the steps of a schedule over the whole run, before it is known how long that is.

    Example:
        >>> from unknot.core.hyper import LinearSchedule
        >>> settings_table(Adam(lr=LinearSchedule(0.0, 4.0)))["lr"]
        {'kind': 'linear', 'start': 0.0, 'end': 4.0, 'begin': 0.0}
    """
    if not is_dataclass(settings) or isinstance(settings, type):
        raise ConfigError(f"Settings must be a dataclass; got {settings!r}.")
    values = {f.name: getattr(settings, f.name) for f in fields(settings)}
    for f in fields(settings):  # or the file would say nothing of it, and the default be taken
        if values[f.name] is None and f.default is not None and f.default is not MISSING:
            raise ConfigError(f"{type(settings).__name__}.{f.name} must have a value; got None.")
    if isinstance(settings, Schedule):
        values = {name: value for name, value in values.items() if value != WHOLE_RUN}
    return {name: plain_value(value) for name, value in values.items() if value is not None}


def plain_value(value: Any) -> Any:
    """A setting as a file holds it: dataclasses as tables, members of unions with their ``kind``.

    Example:
        >>> from unknot.core.hyper import LinearSchedule
        >>> plain_value(LinearSchedule(0.0, 4.0, 100.0))
        {'kind': 'linear', 'start': 0.0, 'end': 4.0, 'steps': 100.0, 'begin': 0.0}
    """
    if isinstance(value, tuple):
        return [plain_value(inner) for inner in value]
    if not is_dataclass(value):
        return value
    kind = tag(type(value))
    return {**({} if kind is None else {"kind": kind}), **settings_table(value)}


def tag(kind: Any) -> str | None:
    """What tells a dataclass from the others of its union: its class variable ``kind``, if any."""
    return None if "kind" in {f.name for f in fields(kind)} else getattr(kind, "kind", None)
