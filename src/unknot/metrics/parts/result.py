"""Score: a number with its parts, its protocol and what one must know to read it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from unknot.core import noise, registry
from unknot.core.errors import ConfigError, DataError
from unknot.metrics.parts.inputs import Rows
from unknot.metrics.parts.protocols import Protocol

RESAMPLES = 200


@dataclass(frozen=True, repr=False, eq=False)
class Score:
    """One score of one representation.

    Example:
        >>> score = Score("mig", {"mig": 0.7}, {}, {"name": "study2019"}, ceiling=0.875)
        >>> float(score), score["mig"], round(score.relative, 3)
        (0.7, 0.7, 0.8)
        >>> score
        mig 0.7000 (study2019, 80 % of the ceiling 0.875)
    """

    name: str
    values: Mapping[str, float]
    """By ``<name>`` and ``<name>.<part>``."""
    parts: Mapping[str, NDArray[Any]]
    """Tables are codes by factors."""
    protocol: Mapping[str, Any]
    """Name, version and every setting, the number of rows, the factors used, the seed."""
    interval: tuple[float, float] | None = None
    """Where asked for: the bootstrap interval of the first value over rows."""
    ceiling: float | None = None
    """What one noiseless code per factor scores on the same rows, where that is not simply 1."""
    remarks: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.values[self.name]

    def __getitem__(self, key: str) -> float:
        if key not in self.values:
            raise ConfigError(
                f"{self.name} has no value '{key}'{registry.nearest(key, list(self.values))}"
            )
        return self.values[key]

    @property
    def relative(self) -> float | None:
        """The value as a share of the ceiling."""
        return float(self) / self.ceiling if self.ceiling else None

    def __repr__(self) -> str:
        notes = [str(self.protocol["name"])]
        if self.relative is not None:
            notes.append(f"{100 * self.relative:.0f} % of the ceiling {self.ceiling:.3f}")
        if self.interval:
            notes.append(f"interval {self.interval[0]:.4f} to {self.interval[1]:.4f}")
        others = [
            f"{k.removeprefix(self.name)} {v:.4f}" for k, v in self.values.items() if k != self.name
        ]
        return " ".join([f"{self.name} {float(self):.4f}", *others, f"({', '.join(notes)})"])


@dataclass(frozen=True)
class Measured:
    """What a score computes on rows: numbers by part (``""`` is the score itself) and tensors."""

    values: Mapping[str, Tensor | float]
    parts: Mapping[str, Tensor]
    remarks: tuple[str, ...] = ()


def build(protocol: Protocol[Any], measured: Measured, rows: Rows, **facts: Any) -> Score:  # noqa: ANN401
    """A score from what was measured; ``facts`` are fields of `Score` or go into the record.

    Raises:
        DataError: A number is not finite.
    """
    name = protocol.metric
    values = {f"{name}.{k}" if k else name: float(v) for k, v in measured.values.items()}
    if bad := [k for k, v in values.items() if not abs(v) < float("inf")]:
        raise DataError(f"{bad[0]} is not a finite number on these rows.")
    fields = {k: facts.pop(k) for k in ("interval", "ceiling") if k in facts}
    record = protocol.record(rows=len(rows), factors=rows.names, **facts)
    parts = {k: v.detach().cpu().numpy() for k, v in measured.parts.items()}
    return Score(name, values, parts, record, remarks=(*rows.remarks, *measured.remarks), **fields)


def score(
    protocol: Protocol[Any],
    measure: Callable[[Rows], Measured],
    rows: Rows,
    *,
    seed: int,
    interval: float | None = None,
    ceiling: bool = False,
) -> Score:
    """Measure rows; with an interval, resampled rows too, and with a ceiling, perfect codes too."""
    measured = measure(rows)
    facts: dict[str, Any] = {"seed": seed}
    if ceiling:
        facts["ceiling"] = float(measure(rows.perfect()).values[""])
    if interval is not None:

        def again(step: int) -> float:
            index = noise.integers(seed, "metric/bootstrap", step, len(rows), high=len(rows))
            return float(measure(rows[index.to(rows.codes.device)]).values[""])

        facts["interval"] = bootstrap(again, float(measured.values[""]), interval)
        facts["level"] = interval
    return build(protocol, measured, rows, **facts)


def bootstrap(again: Callable[[int], float], value: float, level: float) -> tuple[float, float]:
    """Quantiles of the score over resamples, moved to be centred on the value.

    Repeated rows bias counting estimates upwards, so the plain quantiles would often miss the
    value itself; their spread is what is wanted. ``again`` scores the resample of a number.

    Raises:
        ConfigError: The level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ConfigError(f"interval is a level between 0 and 1, such as 0.95; got {level}.")
    spread = torch.tensor([again(step) for step in range(RESAMPLES)], dtype=torch.float64)
    tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = (value + (spread - spread.mean()).quantile(tails)).tolist()
    return low, high
