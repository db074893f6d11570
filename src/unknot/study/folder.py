"""The run folder: what stands where, and who may write there.

```
<run>/
  run.toml                what was asked, whole: reading it again gives the same run
  status.json             how far it is, which members diverged, versions, device
  checkpoints/step-N/     to continue from; the last few
  weights.safetensors     at the end: one tensor per weight, members first
  curves.csv              at the end: the logged values
```
"""

import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import unknot
from unknot.core.errors import StoreError
from unknot.core.files import write_whole
from unknot.study import config, lock
from unknot.study.spec import TrainSpec, to_toml


@dataclass(frozen=True)
class Folder:
    """Paths of one run."""

    path: Path

    @property
    def spec_file(self) -> Path:
        """What was asked."""
        return self.path / "run.toml"

    @property
    def status_file(self) -> Path:
        """How far it is."""
        return self.path / "status.json"

    @property
    def checkpoints(self) -> Path:
        """Where to continue from."""
        return self.path / "checkpoints"

    @property
    def weights(self) -> Path:
        """The trained weights."""
        return self.path / "weights.safetensors"

    @property
    def curves(self) -> Path:
        """The logged values."""
        return self.path / "curves.csv"

    def check_free(self) -> None:
        """Check that a run may be written here.

        Raises:
            StoreError: It holds a run already, or something else.
        """
        if self.spec_file.exists():
            raise StoreError(
                f"{self.path} already holds a run. Continue it with `unknot resume {self.path}`, "
                "or choose another folder with --out."
            )
        if self.path.is_file() or (self.path.is_dir() and any(self.path.iterdir())):
            raise StoreError(f"{self.path} is not an empty folder; choose another with --out.")

    def claim(self, spec: TrainSpec) -> None:
        """Make the folder and write down what was asked.

        Raises:
            StoreError: It holds a run already, or something else.
            WriteError: The disk refused.
        """
        self.check_free()
        write_whole(self.spec_file, to_toml(spec.table()).encode())

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for this process while it trains there.

        Raises:
            StoreError: Another process trains there.
            WriteError: The disk refused.
        """
        refusal = f"Another process is training in {self.path}; wait for it or stop it first."
        with lock.held(self.path, refusal):
            yield

    def spec(self) -> TrainSpec:
        """What was asked.

        Raises:
            StoreError: There is no run here.
            ConfigError: Its file does not make sense.
        """
        if not self.spec_file.is_file():
            raise StoreError(f"{self.path} holds no run: there is no {self.spec_file.name} in it.")
        return config.spec(config.read(self.spec_file))

    def status(self) -> dict[str, Any]:
        """How far it is; empty when nothing was written down or it cannot be read."""
        try:
            status = json.loads(self.status_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return status if isinstance(status, dict) else {}

    def write_status(self, facts: Mapping[str, Any]) -> None:
        """Write down how far it is.

        Raises:
            WriteError: The disk refused.
        """
        write_whole(self.status_file, json.dumps({**facts, **versions()}, indent=1).encode())


def versions() -> dict[str, Any]:
    """What a number may depend on besides the settings."""
    return {
        "unknot": unknot.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
    }
