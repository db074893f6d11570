"""When a member is at its best, and when it has waited long enough to be stopped."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from unknot.core.choices import Creatable, check_choices
from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.metrics.parts.facts import lower_is_better
from unknot.runs.metric_names import is_metric


@dataclass(frozen=True)
class Stop(Creatable):
    """Early stopping: a member stops when a logged value has not improved for some looks.

    Args:
        metric: The name of a logged value, such as ``validation.loss`` or ``recon``, or of a
            metric, ``mig`` or ``dci@study2019``, which is scored at the steps of ``score_every``.
        patience: Looks in a row without an improvement after which the member stops.
        least: What counts as an improvement: a change of more than this.
        better: Which values are better, ``lower`` or ``higher``.
    """

    metric: str = "validation.loss"
    patience: int = 10
    least: float = 0.0
    better: Literal["lower", "higher"] = "lower"

    @classmethod
    def create(cls, metric: str = "validation.loss", **settings: Any) -> "Stop":
        """The rule, with the direction of a metric filled in."""
        higher = is_metric(metric) and not lower_is_better(metric.partition("@")[0])
        return cls(metric, **{"better": "higher" if higher else "lower", **settings})

    @property
    def scores(self) -> bool:
        """Whether it looks at a metric, and not at a logged value."""
        return is_metric(self.metric)

    def __post_init__(self) -> None:
        check_choices(self, "better")
        if self.patience < 1 or not self.least >= 0:
            raise ConfigError(
                "Early stopping needs a patience of 1 or more and a least change of 0 or more; "
                f"got {self.patience} and {self.least}."
            )


@dataclass
class Best:
    """The best value of each member so far, at which step, and how many looks ago."""

    rule: Stop
    values: dict[int, float] = field(default_factory=dict)
    steps: dict[int, int] = field(default_factory=dict)
    waits: dict[int, int] = field(default_factory=dict)

    def look(
        self, step: int, logged: Mapping[str, Tensor], without: Collection[int] = ()
    ) -> list[int]:
        """Take in the values of a step, if the one looked at is among them.

        Args:
            step: The step.
            logged: Values ``[p]`` by name.
            without: Members that do not change any more.

        Returns:
            Members that are at their best.
        """
        if self.rule.metric not in logged:
            return []
        improved = []
        for member, value in enumerate(logged[self.rule.metric].tolist()):
            if member in without:
                continue
            sign = 1 if self.rule.better == "lower" else -1
            before = self.values.get(member)
            if before is None or sign * (before - value) > self.rule.least:
                self.values[member], self.steps[member], self.waits[member] = value, step, 0
                improved.append(member)
            else:
                self.waits[member] += 1
        return improved

    @property
    def patient(self) -> list[int]:
        """Members that have waited as long as they should."""
        return [member for member, waits in self.waits.items() if waits >= self.rule.patience]

    def check_name(self, names: Collection[str]) -> None:
        """Refuse a value that nothing logs."""
        if self.rule.metric not in names:
            hint = nearest(self.rule.metric, [*names])
            raise ConfigError(f"No value '{self.rule.metric}' is logged{hint}")

    def facts(self) -> dict[str, Any]:
        """As plain values, for a checkpoint."""
        return {
            name: {str(member): value for member, value in column.items()}
            for name, column in self._columns().items()
        }

    def restore(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Back from plain values."""
        for name, column in self._columns().items():
            column.update({int(member): value for member, value in facts[name].items()})

    def _columns(self) -> dict[str, dict[int, Any]]:
        return {"values": self.values, "steps": self.steps, "waits": self.waits}


def hide(values: Mapping[str, Tensor], members: Collection[int]) -> dict[str, Tensor]:
    """Logged values with nothing for some members."""
    if not members:
        return dict(values)
    places = torch.tensor(sorted(members))
    return {
        name: value.double().cpu().index_fill(0, places, torch.nan)
        for name, value in values.items()
    }
