"""Curves: what training logged, one row per log step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.csv_files import csv_text


@dataclass
class Curves:
    """Logged values by name, each a list of ``[p]`` rows; grows while a population trains."""

    steps: list[int] = field(default_factory=list)
    values: dict[str, list[Tensor]] = field(default_factory=dict)

    def append(self, step: int, values: Mapping[str, Float[Tensor, " p"]]) -> None:
        """Add the row of a log step."""
        self.steps.append(step)
        for name, value in values.items():
            self.values.setdefault(name, []).append(value.double().cpu())

    def __getitem__(self, name: str) -> Float[Tensor, "steps p"]:
        return torch.stack(self.values[name])

    def member(self, index: int) -> "Curves":
        """The curves of one member, ``[steps, 1]``."""
        columns = {n: [row[index : index + 1] for row in v] for n, v in self.values.items()}
        return Curves(self.steps, columns)

    def ends(self) -> dict[str, Float[Tensor, " p"]]:
        """What training came to: the mean of each curve's last hundredth.

        A log step is one batch, and of a batch alone reconstructions are off by a tenth.
        """
        last = max(1, len(self.steps) // 100)
        return {name: torch.stack(rows[-last:]).mean(0) for name, rows in self.values.items()}

    def tensors(self) -> dict[str, Tensor]:
        """As tensors to be stored."""
        if not self.steps:
            return {}
        named = {f"curves.{name}": self[name] for name in self.values}
        return {"curves": torch.tensor(self.steps), **named}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], names: Sequence[str]) -> "Curves":
        """Back from tensors; ``names`` in the order of logging, which files do not keep."""
        if not names:
            return cls()
        steps = [int(step) for step in tensors["curves"]]
        return cls(steps, {name: list(tensors[f"curves.{name}"]) for name in names})

    def csv(self, seeds: Sequence[int]) -> str:
        """One line per log step and member."""
        rows = [
            {"step": step, "seed": seed}
            | {name: f"{float(logged[i][p]):.9g}" for name, logged in self.values.items()}
            for i, step in enumerate(self.steps)
            for p, seed in enumerate(seeds)
        ]
        return csv_text(rows, ["step", "seed", *self.values])
