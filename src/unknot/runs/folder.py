"""The run folder: one population on disk, of one model or of many, with one writer and one reader.

```
<run>/
  run.toml                what was asked, whole: reading it again gives the same run
  status.json             how far it is, what became of each member, versions, device; written last
  checkpoints/step-N/     to resume from; the last few
  weights.safetensors     at the end: one tensor per weight, members first
  curves.safetensors      at the end: the logged values, [log steps, members]
  curves.csv              the same as a table, for people
```

A study's populations are such folders without ``run.toml`` and ``curves.csv``, since the plan says
what was asked; their checkpoints go when they are trained.
"""

import contextlib
import itertools
import json
import platform
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import unknot
from unknot.core.errors import StoreError
from unknot.core.files import refuse_links, write_whole
from unknot.core.toml import read_toml, to_toml
from unknot.engine import checkpoint
from unknot.engine.checkpoint import read_weights, write_tensors
from unknot.runs import config, lock
from unknot.runs.curves import Curves
from unknot.runs.spec import TrainSpec
from unknot.runs.training import Training, Watcher, member_specs, training_context

FORMAT = 2
"""Of `status.json`."""


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run, and who may write there."""

    path: Path

    def __post_init__(self) -> None:
        refuse_links(self.path, "checkpoints")

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
        """Where to resume from."""
        return self.path / "checkpoints"

    @property
    def weights_file(self) -> Path:
        """The trained weights."""
        return self.path / "weights.safetensors"

    @property
    def curves_file(self) -> Path:
        """The logged values."""
        return self.path / "curves.safetensors"

    @property
    def curves_table(self) -> Path:
        """The logged values, for people."""
        return self.path / "curves.csv"

    @property
    def is_trained(self) -> bool:
        """Whether the run was trained to its end and all of it is there."""
        ended = self.record().get("status") in ("done", "diverged")
        return ended and self.weights_file.exists()

    def check_free(self) -> None:
        """Check that a run may be written here."""
        if self.spec_file.exists():
            raise StoreError(
                f"{self.path} already holds a run. Resume it with `unknot resume {self.path}`, "
                "or choose another folder with --out."
            )
        if self.path.is_file() or (self.path.is_dir() and any(self.path.iterdir())):
            raise StoreError(f"{self.path} is not an empty folder; choose another with --out.")

    def claim(self, spec: TrainSpec) -> None:
        """Make the folder and write down what was asked."""
        self.check_free()
        write_whole(self.spec_file, to_toml(spec.table()).encode())

    @contextmanager
    def lock(self, *, patience: float = 0.0) -> Iterator[None]:
        """Keep other processes from training here."""
        refusal = f"Another process is training in {self.path}; wait for it or stop it first."
        with lock.hold(self.path, refusal, patience=patience):
            yield

    def spec(self) -> TrainSpec:
        """What was asked."""
        if not self.spec_file.is_file():
            raise StoreError(f"{self.path} holds no run: there is no {self.spec_file.name} in it.")
        table = read_toml(self.spec_file)
        if table.get("version") == 1:
            raise StoreError(
                f"{self.path} was written by an earlier version of unknot, whose settings and runs "
                f"have other names. Train it again: `unknot train {self.spec_file} --out FOLDER`."
            )
        return config.spec(table)

    def record(self) -> dict[str, Any]:
        """What `status.json` holds; empty before the first step."""
        file = self.status_file
        if not file.exists():
            return {}
        try:
            facts = json.loads(file.read_text(encoding="utf-8"))
            _ = [(member["id"], member["diverged_at"]) for member in facts["members"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{file} is damaged: {error!r}.") from error
        if (number := facts.get("format", 1)) != FORMAT:
            raise StoreError(f"{file} has format {number}; this version reads format {FORMAT}.")
        return dict(facts)

    def curves(self) -> Curves:
        """What training logged."""
        record = self.record()
        try:
            return Curves.from_tensors(read_weights(self.curves_file), record["curves"])
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise StoreError(f"The curves in {self.path} cannot be read: {error!r}.") from error

    def complete(self, training: Training, *, watch: Watcher, stop: Callable[[], bool]) -> None:
        """Train to the end, from the newest checkpoint if there is one; a stop leaves another.

        Args:
            training: A fresh one.
            watch: Told after every few steps.
            stop: Asked after every few steps.
        """
        saved = checkpoint.latest(self.checkpoints)
        if saved is not None:
            training.restore(saved, self.checkpoints)
        if not training.finished:
            self._save_status(training)
            training.run(watch=watch, save=self._save_checkpoint, stop=stop)
        if training.finished:
            self.save(training)

    def save(self, training: Training) -> None:
        """Write weights and curves; the status comes last and says that all of it is there."""
        note = {"format": "unknot weights, members first"}
        write_tensors(self.weights_file, training.weights(), note)
        write_tensors(self.curves_file, training.curves.tensors(), {})
        if self.spec_file.exists():
            write_whole(self.curves_table, training.curves.csv(training.seeds).encode())
        self._save_status(training)

    def load(
        self,
        specs: Sequence[TrainSpec] | None = None,
        device: str = "auto",
        *,
        member: int | None = None,
    ) -> Training:
        """Read a finished training.

        Args:
            specs: What was planned, one for each member; what `run.toml` says when None.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
            member: One of them, as a training of its own; all of them when None.
        """
        members = [self.spec()] if specs is None else list(specs)
        if not self.weights_file.exists():
            raise StoreError(
                f"{self.path} is not finished; resume it with `unknot resume {self.path}`."
            )
        record, curves = self.record(), Curves()
        ids = [entry["id"] for entry in record.get("members", [])]
        if specs is not None and ids != [name for spec in members for name in spec.ids()]:
            raise StoreError(f"{self.path} holds other runs than the plan says.")
        weights = read_weights(self.weights_file)
        with contextlib.suppress(StoreError):  # a model is of use without them
            curves = self.curves()
        lost = [entry["diverged_at"] for entry in record.get("members", [])]
        if member is not None:
            members, lost = [member_specs(members)[member]], lost[member : member + 1]
            weights = {name: stacked[member : member + 1] for name, stacked in weights.items()}
            curves = curves.member(member)
        context = training_context(members[0], device, trained=True)
        training = Training.from_weights(members, context, weights, self.weights_file)
        training.curves = curves
        training.diverged = {i: int(step) for i, step in enumerate(lost) if step is not None}
        training.step = record.get("step", members[0].updates)
        return training

    def tidy(self) -> None:
        """Remove what only an unfinished training needs, and what killed processes left.

        Only for who holds the lock: another process may be about to rename a file of its own.
        """
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        for stale in self.path.glob(".*.*"):
            with contextlib.suppress(OSError):
                stale.unlink()

    def _save_checkpoint(self, training: Training) -> None:
        checkpoint.save(self.checkpoints, training.checkpoint())
        if not training.finished:  # or `save` says so, when all of it is there
            self._save_status(training)

    def _save_status(self, training: Training) -> None:
        facts = {"format": FORMAT, **training.record(), "versions": versions(training.threads)}
        write_whole(self.status_file, json.dumps(facts, indent=1).encode())


def versions(threads: int | None = None) -> dict[str, Any]:
    """What a number may depend on besides the settings."""
    return {
        "unknot": unknot.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": threads or torch.get_num_threads(),
    }


@contextmanager
def free_folder(name: str) -> Iterator[Path]:
    """The first of runs/NAME-1, runs/NAME-2, ... that is not there yet.

    It is made at once, so that nobody who starts in the same moment takes it as well, and is gone
    again if nothing was written there.
    """
    runs = Path("runs")
    first = not runs.exists()
    for n in itertools.count(1):
        path = runs / f"{name}-{n}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError:
            pass  # training will say that nothing can be written there
        break
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):  # only those that are empty
            path.rmdir()
            if first:
                runs.rmdir()
