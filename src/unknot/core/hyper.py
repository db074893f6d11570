"""Hyper: a number that may differ inside a population and change with the step.

A dataclass field annotated ``Hyper`` may hold a float, a schedule, or (after ``stack``) a tensor
with one value per member. A field of any other type must agree across a population. Grouping runs
into populations, stacking them and refusing bad mixtures all follow from that one annotation.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar, cast, get_type_hints

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ConfigError

Number: TypeAlias = float | Float[Tensor, "*p"]
T = TypeVar("T")
WHOLE_RUN = math.inf
"""Steps of a schedule that ends with the run, whatever its length; ``over_run`` fills it in."""


@dataclass(frozen=True)
class Constant:
    """The same value at every step."""

    value: Number
    kind: ClassVar[str] = "constant"

    def at(self, t: Tensor) -> Tensor:
        """Value at step ``t``."""
        return _double(self.value, t)


@dataclass(frozen=True)
class LinearSchedule:
    """From ``start`` to ``end`` in a straight line over ``steps`` steps from ``begin`` on."""

    start: Number
    end: Number
    steps: Number = WHOLE_RUN
    begin: Number = 0.0
    kind: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        _above_zero(steps=self.steps)

    def at(self, t: Tensor) -> Tensor:
        """Value at step ``t``."""
        return _between(self, _progress(t, self.begin, self.steps))


@dataclass(frozen=True)
class Cosine:
    """From ``start`` to ``end`` along half a cosine over ``steps`` steps from ``begin`` on."""

    start: Number
    end: Number
    steps: Number = WHOLE_RUN
    begin: Number = 0.0
    kind: ClassVar[str] = "cosine"

    def __post_init__(self) -> None:
        _above_zero(steps=self.steps)

    def at(self, t: Tensor) -> Tensor:
        """Value at step ``t``."""
        return _between(self, 0.5 - 0.5 * (math.pi * _progress(t, self.begin, self.steps)).cos())


@dataclass(frozen=True)
class Cyclic:
    """In each period a straight line from ``start`` to ``end``, then ``end`` (Fu et al. 2019).

    ``ramp`` is the share of a period that the line takes.
    """

    start: Number
    end: Number
    period: Number
    ramp: Number = 0.5
    kind: ClassVar[str] = "cyclic"

    def __post_init__(self) -> None:
        _above_zero(period=self.period, ramp=self.ramp)

    def at(self, t: Tensor) -> Tensor:
        """Value at step ``t``."""
        period = _double(self.period, t)
        return _between(self, _progress(torch.remainder(t, period), 0.0, period * self.ramp))


@dataclass(frozen=True)
class Warmup:
    """A straight line up to ``value`` in ``warmup`` steps, and what comes ``then``.

    The first step has ``value / warmup``. After the line the value is ``constant``, or goes to
    ``end`` over ``steps`` further steps: in a straight line (``linear``) or along half a cosine
    (``cosine``).
    """

    value: Number
    warmup: Number
    then: Literal["constant", "linear", "cosine"] = "constant"
    end: Number = 0.0
    steps: Number = WHOLE_RUN
    kind: ClassVar[str] = "warmup"

    def __post_init__(self) -> None:
        _above_zero(warmup=self.warmup, steps=self.steps)
        if not isinstance(self.then, str) or self.then not in ("constant", "linear", "cosine"):
            raise ConfigError(
                f"After a warm-up comes constant, linear or cosine; got then = {self.then!r}."
            )

    @property
    def begin(self) -> Number:
        """Where the fall begins."""
        return self.warmup

    def at(self, t: Tensor) -> Tensor:
        """Value at step ``t``."""
        value = _double(self.value, t)
        up = value * ((t + 1) / _double(self.warmup, t)).clamp(max=1)
        if self.then == "constant":
            return up
        share = _progress(t, self.warmup, self.steps)
        if self.then == "cosine":
            share = 0.5 - 0.5 * (math.pi * share).cos()
        return up + (_double(self.end, t) - value) * share


Schedule: TypeAlias = Constant | LinearSchedule | Cosine | Cyclic | Warmup
if TYPE_CHECKING:
    # To a type checker a field is a number: `at` puts a schedule's value in its place before a
    # formula sees it.
    Hyper: TypeAlias = Number
else:
    Hyper: TypeAlias = float | Schedule | Float[Tensor, "*p"]


def _above_zero(**numbers: Number) -> None:
    for name, value in numbers.items():
        if isinstance(value, int | float) and not value > 0:
            raise ConfigError(f"A schedule's {name} must be above 0; got {value}.")


def _double(value: Number, t: Tensor) -> Tensor:
    """Schedules count in float64: float32 miscounts steps past 2**24."""
    return torch.as_tensor(value, dtype=torch.float64, device=t.device)


def _progress(t: Tensor, begin: Number, steps: Number) -> Tensor:
    """Share of the way done at step ``t``."""
    return ((t - _double(begin, t)) / _double(steps, t)).clamp(0, 1)


def _between(schedule: "LinearSchedule | Cosine | Cyclic", share: Tensor) -> Tensor:
    start, end = _double(schedule.start, share), _double(schedule.end, share)
    return start + (end - start) * share


def at_least(thing: Any, bound: int | float, *names: str) -> None:
    """Check that numbers and schedules never fall below a bound; for ``__post_init__``.

    Raises:
        ConfigError: One does.

    Example:
        >>> @dataclass(frozen=True)
        ... class Toy:
        ...     beta: Hyper = 1.0
        ...     def __post_init__(self):
        ...         at_least(self, 0, "beta")
        >>> Toy(beta=-2.0)
        Traceback (most recent call last):
        ...
        unknot.core.errors.ConfigError: Toy.beta must be 0 or more; got -2.0.
    """
    for name in names:
        for value in extremes(getattr(thing, name)):
            if not value >= bound:
                kind = type(thing).__name__
                raise ConfigError(f"{kind}.{name} must be {bound} or more; got {value}.")


def extremes(setting: Any) -> list[int | float]:
    """The numbers between which a setting stays: itself, or the ends of a schedule."""
    if isinstance(setting, Schedule):
        ends = [getattr(setting, end, None) for end in ("value", "start", "end")]
    else:
        ends = [setting]
    return [value for value in ends if isinstance(value, int | float)]


def last_step(schedule: Schedule) -> float:
    """The step from which on a schedule stays as it is; 0 where it never settles."""
    if isinstance(schedule, Warmup) and schedule.then == "constant":
        return float(schedule.warmup)
    if isinstance(schedule, LinearSchedule | Cosine | Warmup):
        return float(schedule.begin) + float(schedule.steps)
    return 0.0


def over_run(thing: T, updates: int, where: str) -> T:
    """A copy of a dataclass whose schedules over the whole run end with it, after its last update.

    Args:
        thing: The dataclass.
        updates: How many updates the run makes.
        where: What the dataclass is called in messages.

    Raises:
        ConfigError: A schedule begins when the run is over.

    Example:
        >>> @dataclass(frozen=True)
        ... class Toy:
        ...     beta: Hyper = LinearSchedule(0.0, 4.0, begin=100.0)
        >>> over_run(Toy(), 500, "toy")
        Toy(beta=LinearSchedule(start=0.0, end=4.0, steps=400.0, begin=100.0))
    """
    values: dict[str, Any] = {}
    for name in endless(thing):
        schedule = getattr(thing, name)
        left = updates - float(schedule.begin)
        if left <= 0:
            raise ConfigError(
                f"{where}.{name} begins to change at step {float(schedule.begin):,.0f}, but the "
                f"run ends at {updates:,}; train longer or begin earlier."
            )
        values[name] = replace(schedule, steps=left)
    return replace_fields(thing, values) if values else thing


def endless(thing: Any) -> tuple[str, ...]:
    """Names of the schedules of a dataclass that `over_run` has yet to fill in.

    Example:
        >>> @dataclass(frozen=True)
        ... class Toy:
        ...     beta: Hyper = LinearSchedule(0.0, 4.0)
        >>> endless(Toy()), endless(over_run(Toy(), 500, "toy"))
        (('beta',), ())
    """
    settings = {name: getattr(thing, name) for name in hyper_fields(thing)}
    return tuple(
        name
        for name, value in settings.items()
        if isinstance(value, LinearSchedule | Cosine | Warmup)
        and value.steps == WHOLE_RUN
        and getattr(value, "then", None) != "constant"
    )


def replace_fields(thing: T, values: Mapping[str, Any]) -> T:
    """A copy of a dataclass with other values for some fields, whatever its type is known as."""
    return cast(T, replace(cast(Any, thing), **values))


def hyper_fields(thing: Any) -> tuple[str, ...]:
    """Names of the fields of a dataclass that may differ inside a population."""
    kind: Any = thing if isinstance(thing, type) else type(thing)
    return _hyper_fields(kind)


@cache
def _hyper_fields(kind: Any) -> tuple[str, ...]:
    hints = get_type_hints(kind)
    return tuple(f.name for f in fields(kind) if hints[f.name] == Hyper)


def at(thing: T, t: Tensor, dtype: torch.dtype) -> T:
    """A copy of a dataclass whose schedules are replaced by their value at step ``t``."""
    values: dict[str, Any] = {}
    for name in hyper_fields(thing):
        value = getattr(thing, name)
        if isinstance(value, Schedule):
            values[name] = value.at(t).to(dtype)
    return replace_fields(thing, values)


def shape_key(thing: Any) -> tuple[Any, ...]:
    """What must agree between two members of one population.

    Example:
        >>> @dataclass(frozen=True)
        ... class Toy:
        ...     width: int
        ...     beta: Hyper = 1.0
        >>> shape_key(Toy(3, 1.0)) == shape_key(Toy(3, 4.0))
        True
        >>> shape_key(Toy(3)) == shape_key(Toy(4))
        False
    """
    hyper = hyper_fields(thing)
    parts: list[tuple[str, Any]] = []
    for field in fields(thing):
        value = getattr(thing, field.name)
        parts.append((field.name, _kind(value) if field.name in hyper else value))
    return (f"{type(thing).__module__}.{type(thing).__qualname__}", *parts)


def _kind(value: Hyper) -> str:
    """What a schedule is called in files; numbers of any type are of one kind."""
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, Warmup):
        return f"warmup, then {value.then}"
    return getattr(value, "kind", type(value).__name__)


def stack(members: Sequence[T], device: torch.device, dtype: torch.dtype) -> T:
    """One dataclass for a whole population: ``Hyper`` fields become ``[p]``.

    Raises:
        ConfigError: The members differ in a field that is not a ``Hyper``.
    """
    first = members[0]
    if any(type(m) is not type(first) for m in members):
        kinds = sorted({type(m).__name__ for m in members})
        raise ConfigError(f"A population holds one kind of objective; got {kinds}.")
    hyper = hyper_fields(first)
    stacked: dict[str, Any] = {}
    for field in fields(cast(Any, first)):
        values = [getattr(m, field.name) for m in members]
        if field.name in hyper:
            stacked[field.name] = _stack_hyper(field.name, values, device, dtype)
        elif any(v != values[0] for v in values):
            raise ConfigError(
                f"{type(first).__name__}.{field.name} is not a Hyper, so it cannot differ inside a "
                f"population: {sorted({str(v) for v in values})}. "
                "Put these runs in separate groups or make them equal."
            )
    return replace_fields(first, stacked)


def _stack_hyper(
    name: str, values: Sequence[Hyper], device: torch.device, dtype: torch.dtype
) -> Hyper:
    kinds = {_kind(v) for v in values}
    if len(kinds) > 1:
        raise ConfigError(
            f"{name} is {' and '.join(sorted(kinds))} inside one population. "
            "Use one kind for all, for instance constant schedules, or separate groups."
        )
    if isinstance(values[0], Schedule):
        columns: dict[str, Any] = {
            f.name: torch.tensor([getattr(v, f.name) for v in values], dtype=torch.float64).to(
                device
            )
            for f in fields(values[0])
            if f.name != "then"  # the same for all, being part of the kind
        }
        return replace(values[0], **columns)
    return torch.tensor(values, device=device, dtype=dtype)


def lift(h: Number, events: int) -> float | Float[Tensor, "..."]:
    """``[*p]`` to ``[*p, 1, ...]`` with ``events`` trailing ones, for use inside a formula."""
    return h.reshape(*h.shape, *(1,) * events) if isinstance(h, Tensor) else h
