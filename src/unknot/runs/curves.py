"""Curves: what training logged, one row per log step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.csv_files import csv_text

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(repr=False)
class Curves:
    """Logged values by name, each a list of ``[p]`` rows; grows while a population trains."""

    steps: list[int] = field(default_factory=list)
    values: dict[str, list[Tensor]] = field(default_factory=dict)
    ended: dict[int, int] = field(default_factory=dict)
    """The last step of members that stopped before the others; later rows have nothing of them."""

    def append(self, step: int, values: Mapping[str, Float[Tensor, " p"]]) -> None:
        """Add the row of a log step."""
        self.steps.append(step)
        for name, value in values.items():
            self.values.setdefault(name, []).append(value.double().cpu())

    def __getitem__(self, name: str) -> Float[Tensor, "steps p"]:
        return torch.stack(self.values[name])

    def frame(self, *, lone: bool = False) -> "DataFrame":
        """As a data frame of pandas, a row for each log step.

        Args:
            lone: Of the one member alone; else columns have two levels, the name and the member.
        """
        import pandas as pd

        columns = {name: self[name].numpy() for name in self.values}
        index = pd.Index(self.steps, name="step")
        if lone or not columns:
            return pd.DataFrame({n: v[:, 0] for n, v in columns.items()}, index=index)
        return pd.concat({n: pd.DataFrame(v, index=index) for n, v in columns.items()}, axis=1)

    def member(self, index: int) -> "Curves":
        """The curves of one member, ``[steps, 1]``."""
        rows = self._rows(index)
        columns = {n: [v[i][index : index + 1] for i in rows] for n, v in self.values.items()}
        return Curves([self.steps[i] for i in rows], columns)

    def thin(self, steps: int, *, first: bool = False) -> "Curves":
        """The rows of each so many steps, and of the first one where that is asked for."""
        rows = [i for i, s in enumerate(self.steps) if s % steps == 0 or (first and s == 1)]
        columns = {name: [logged[i] for i in rows] for name, logged in self.values.items()}
        return Curves([self.steps[i] for i in rows], columns, self.ended)

    def _rows(self, member: int) -> list[int]:
        """Places of the rows that have something of a member."""
        last = self.ended.get(member)
        return [i for i, step in enumerate(self.steps) if last is None or step <= last]

    def ends(self) -> dict[str, Float[Tensor, " p"]]:
        """What training came to: the mean of each curve's last hundredth.

        A log step is one batch, and of a batch alone reconstructions are off by a tenth.
        """
        if self.ended and self.steps:
            members = range(len(next(iter(self.values.values()))[0]))
            ends = [self.member(member).ends() for member in members]
            return {name: torch.cat([end[name] for end in ends]) for name in self.values}
        last = max(1, len(self.steps) // 100)
        return {name: torch.stack(rows[-last:]).mean(0) for name, rows in self.values.items()}

    def tensors(self, prefix: str = "curves") -> dict[str, Tensor]:
        """As tensors to be stored."""
        if not self.steps:
            return {}
        named = {f"{prefix}.{name}": self[name] for name in self.values}
        return {prefix: torch.tensor(self.steps), **named}

    @classmethod
    def from_tensors(
        cls,
        tensors: Mapping[str, Tensor],
        names: Sequence[str],
        prefix: str = "curves",
        ended: Mapping[int, int] | None = None,
    ) -> "Curves":
        """Back from tensors; ``names`` in the order of logging, which files do not keep.

        Raises:
            KeyError: One of them is missing.
            ValueError: They are no table of numbers.
        """
        if not names:
            return cls()
        places, logged = tensors[prefix], [tensors[f"{prefix}.{name}"] for name in names]
        form = len(places), *logged[0].shape[1:2]
        if places.dtype != torch.int64 or places.ndim != 1 or not len(places):
            raise ValueError("its steps are no whole numbers.")
        if any(c.shape != form or c.dtype not in (torch.float64, torch.float32) for c in logged):
            raise ValueError(f"its values are no numbers of {len(places)} steps.")
        steps = [int(step) for step in places]
        columns = {name: list(column) for name, column in zip(names, logged, strict=True)}
        return cls(steps, columns, dict(ended or {}))

    def csv(self, seeds: Sequence[int], seen: "Curves | None" = None) -> str:
        """One line per log step and member, with what was ``seen`` on validation rows beside it."""
        tables = [self] if seen is None or not seen.steps else [self, seen]
        lines: dict[tuple[int, int], dict[str, Any]] = {}
        for curves in tables:
            for i, step in enumerate(curves.steps):
                for p, seed in enumerate(seeds):
                    if step <= curves.ended.get(p, step):
                        line = lines.setdefault((step, p), {"step": step, "seed": seed})
                        numbers = {n: float(logged[i][p]) for n, logged in curves.values.items()}
                        line |= {name: f"{number:.9g}" for name, number in numbers.items()}
        names = [name for curves in tables for name in curves.values]
        rows = [{"step": "", **dict.fromkeys(names, ""), **lines[key]} for key in sorted(lines)]
        return csv_text(rows, ["step", "seed", *names])
