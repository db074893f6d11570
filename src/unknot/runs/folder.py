"""The run folder: one population on disk, of one model or of many, with one writer and one reader.

```
<run>/
  run.toml                what was asked, whole: reading it again gives the same run
  status.json             how far it is, what became of each member, versions, device; written last,
                          with a checksum of each file and a description of the models
  checkpoints/step-N/     to resume from; the last few
  weights.safetensors     at the end: one tensor per weight, members first
  weights-N.safetensors   the same of step N, where it was asked for; weights-best of best steps
  features.safetensors    the frozen module of a feature loss, where the objective has one
  curves.safetensors      at the end: the logged values, [log steps, members]
  curves.csv              the same as a table, for people
```

A study's populations are such folders without ``run.toml`` and ``curves.csv``, since the plan says
what was asked; their checkpoints go when they are trained. `docs/run_folder.md` has the format.
"""

import contextlib
import fnmatch
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unknot.core.errors import DamageError, StoreError
from unknot.core.files import (
    check_folder,
    inside,
    refuse_links,
    remove,
    unpack_hint,
    write_whole,
)
from unknot.core.toml import read_toml, to_toml
from unknot.engine.checkpoint import unpack_tensors
from unknot.runs import config, lock, status
from unknot.runs.curves import Curves
from unknot.runs.spec import TrainSpec
from unknot.runs.tracking import FOLDER

OURS = (
    *("run.toml", "status.json", "weights*.safetensors", status.FEATURES),
    *("curves.*", "scores.jsonl", "step-*"),
)
"""Names that are written by who holds the folder alone."""


NOTE = {"format": "unknot weights, members first"}
"""In files of weights."""


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run, and who may write there."""

    path: Path

    def __post_init__(self) -> None:
        refuse_links(self.path, "checkpoints", FOLDER)

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

    def step_file(self, step: int | str) -> Path:
        """The weights of a step, or of each member's ``best``."""
        return self.path / f"weights-{step}.safetensors"

    def kept_steps(self) -> list[int]:
        """Steps before the last whose weights are there."""
        names = [file.stem.removeprefix("weights-") for file in self.path.glob("weights-*")]
        return sorted(int(name) for name in names if name.isdigit())

    @property
    def curves_file(self) -> Path:
        """The logged values."""
        return self.path / "curves.safetensors"

    @property
    def curves_table(self) -> Path:
        """The logged values, for people."""
        return self.path / "curves.csv"

    @property
    def archived_weights(self) -> str | None:
        """How its archive has the weights: ``half``, ``full`` or ``none``; None without one."""
        stored: str | None = self.record().get("archived", {}).get("weights")
        return stored

    @property
    def is_trained(self) -> bool:
        """Whether the run was trained to its end and all of it is there."""
        return self.weights_file.exists() and self.has_results

    @property
    def has_results(self) -> bool:
        """Whether the run was trained to its end and all of it is there that was kept.

        An archive may have left the weights out; curves and scores are there then.
        """
        record = self.record()
        ended = record.get("status") in ("done", "diverged")
        kept = self.weights_file.exists() or self.is_without_weights
        return ended and kept and not status.lacks(self.path, record)

    @property
    def is_without_weights(self) -> bool:
        """Whether it comes from an archive that left the weights out."""
        return bool(self.record().get("archived", {}).get("weights") == "none")

    def damage(self) -> dict[str, str]:
        """What is wrong with the files of a finished run, by name; all of them are read."""
        try:
            record = self.record()
        except StoreError as error:
            return {self.status_file.name: str(error)}
        return status.damage(self.path, record)

    def discard(self, names: Iterable[str]) -> None:
        """Remove damaged files of a run, so that training writes them again.

        Weights of a step are written again if training passes that step: checkpoints after
        it go as well. Only for who holds the lock.
        """
        for name in names:
            inside(self.path, name).unlink(missing_ok=True)
            step = name.removeprefix("weights-").removesuffix(".safetensors")
            if step.isdigit():
                for path in self.checkpoints.glob("step-*"):
                    if int(path.name[5:]) >= int(step):
                        remove(path)

    def check_free(self) -> None:
        """Check that a run may be written here."""
        check_folder(self.path)
        if self.spec_file.exists():
            raise StoreError(
                f"{self.path} already holds a run. Resume it with `unknot resume {self.path}`, "
                "or choose another folder with --out."
            )
        if self.path.is_dir() and self._strangers():
            raise StoreError(f"{self.path} is not an empty folder; choose another with --out.")

    def claim(self, spec: TrainSpec) -> None:
        """Make the folder and write down what was asked."""
        self.check_free()  # before a lock is left in a folder of someone else
        with self.lock():
            self.check_free()  # another process may have been quicker
            write_whole(self.spec_file, to_toml(spec.table()).encode())

    def abandon(self, *, made: bool) -> None:
        """Give up a folder in which nothing was trained yet, so that it may be used again.

        Args:
            made: Whether the folder was made for this run, and goes as well.
        """
        if any(self.checkpoints.glob("step-*")):
            return
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        ours = self.spec_file, self.status_file, self.path / status.FEATURES, self.path / lock.FILE
        for file in ours:
            file.unlink(missing_ok=True)
        if made:
            with contextlib.suppress(OSError):  # someone put something there
                self.path.rmdir()

    @contextmanager
    def lock(self, *, patience: float = 0.0) -> Iterator[None]:
        """Keep other processes from training here."""
        refusal = f"Another process is training in {self.path}; wait for it or stop it first."
        with lock.hold(self.path, refusal, patience=patience):
            self._remove_leftovers()
            yield

    def table(self) -> dict[str, Any]:
        """What was asked, as the file says it."""
        if not self.spec_file.is_file():
            hint = unpack_hint(self.path)
            for study, what in ((self.path, "holds"), (self.path.parent.parent, "is part of")):
                if (study / "study.db").is_file():
                    command = f"unknot study extract {study} RUN"
                    hint = f" It {what} a study; take a run out: `{command}`."
                    break
            raise StoreError(
                f"{self.path} holds no run: there is no {self.spec_file.name} in it.{hint}"
            )
        return read_toml(self.spec_file)

    def spec(self) -> TrainSpec:
        """What was asked."""
        table = self.table()
        if table.get("version") == 1:
            raise StoreError(
                f"{self.path} was written by an earlier version of unknot, whose settings and runs "
                f"have other names. Train it again: `unknot train {self.spec_file} --out FOLDER`."
            )
        return config.spec(table)

    def changed(self) -> StoreError:
        """The error that what was asked is no longer what was trained."""
        return StoreError(
            f"{self.spec_file} has changed since the run was trained; put it back, or train it "
            f"in another folder: `unknot train {self.spec_file} --out FOLDER`."
        )

    def record(self) -> dict[str, Any]:
        """What `status.json` holds; empty before the first step."""
        return status.read(self.path)

    def record_there(self) -> dict[str, Any]:
        """What `status.json` holds, where there has been one.

        Raises:
            StoreError: It is gone, as where another command removed the folder.
        """
        if not (record := self.record()):
            raise StoreError(
                f"{self.status_file} is gone; another command moved or removed it or its folder."
            )
        return record

    def curves(self, prefix: str = "curves") -> Curves:
        """What training logged; ``seen`` is what it saw on validation rows."""
        record = self.record()
        data = status.read_file(self.path, self.curves_file.name, record)
        try:
            tensors = unpack_tensors(data, self.curves_file)
            ended = stopped_members(record)
            names = record["curves"] if prefix == "curves" else record.get("validation", [])
            return Curves.from_tensors(tensors, names, prefix, ended)
        except (StoreError, ValueError, KeyError, RuntimeError) as error:
            raise DamageError(
                f"{self.curves_file} is damaged: {error} {status.way_back(self.path)}"
            ) from error

    def leftovers(self) -> list[Path]:
        """Parts of files and checkpoints that a killed process left."""
        parts = [*self.path.glob(".*.part"), *self.checkpoints.glob(".*.part")]
        return [part for part in parts if any(fnmatch.fnmatch(part.name, f".{n}.*") for n in OURS)]

    def tidy(self) -> None:
        """Remove what only an unfinished training needs, and what killed processes left.

        Only for who holds the lock: another process may be about to rename a file of its own.
        """
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        for stale in self.path.glob(".*.*"):
            with contextlib.suppress(OSError):
                stale.unlink()

    def _strangers(self) -> list[Path]:
        """What is in the folder and is neither a lock nor left by a writer that was killed."""
        ours = {self.path / lock.FILE, *self.leftovers()}
        return [file for file in self.path.iterdir() if file not in ours]

    def _remove_leftovers(self) -> None:
        for part in self.leftovers():
            remove(part)


def stopped_members(record: Mapping[str, Any]) -> dict[int, int]:
    """Members that stopped early, and when."""
    steps = [entry.get("stopped_at") for entry in record["members"]]
    return {i: int(step) for i, step in enumerate(steps) if step is not None}
