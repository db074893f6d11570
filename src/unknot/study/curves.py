"""Curves: what training logged, one row per log step."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor


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
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["step", "seed", *self.values])
        for i, step in enumerate(self.steps):
            for p, seed in enumerate(seeds):
                row = (float(rows[i][p]) for rows in self.values.values())
                table.writerow([step, seed, *(f"{value:.9g}" for value in row)])
        return text.getvalue()

    @classmethod
    def from_csv(cls, text: str, members: int) -> "Curves":
        """Back from a CSV table, the only curves of a run folder of format 1.

        Raises:
            ValueError: The text is not such a table.
        """
        names, *lines = csv.reader(io.StringIO(text))
        rows = torch.tensor([[float(cell) for cell in line] for line in lines], dtype=torch.float64)
        table = rows.reshape(-1, members, len(names))
        steps = [int(step) for step in table[:, 0, 0]]
        return cls(steps, {name: list(table[:, :, i]) for i, name in enumerate(names) if i > 1})
