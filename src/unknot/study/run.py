"""Run: trained models with what they were asked and what they logged."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, ShapeError, StoreError
from unknot.core.files import write_whole
from unknot.core.posterior import Posterior
from unknot.core.representation import CodeCache, Representation
from unknot.engine import checkpoint, encode
from unknot.losses.likelihood import activated, likelihood_of
from unknot.study.curves import Curves
from unknot.study.folder import Folder
from unknot.study.signals import stop_on_signal
from unknot.study.spec import TrainSpec
from unknot.study.train import (
    Status,
    Training,
    Watcher,
    begin,
    fits,
    restore,
    train_to_the_end,
    without_moments,
)

MOST_ROWS = 10_000_000
"""Whose codes are held at a time."""


@dataclass(frozen=True)
class Run:
    """One trained model, or a population of them.

    A run of one seed gives results without a member axis; a run of a list of seeds puts the members
    first, ``[p, ...]``, even when the list has one.
    """

    training: Training
    status: Status
    path: Path | None = None

    @property
    def spec(self) -> TrainSpec:
        """What was asked."""
        return self.training.specs[0]

    @property
    def step(self) -> int:
        """How far it was trained."""
        return self.training.step

    @property
    def dataset(self) -> FactorDataset:
        """What it was trained on."""
        return self.training.setting.dataset

    @property
    def curves(self) -> Curves:
        """What training logged."""
        return self.training.curves

    @property
    def diverged(self) -> dict[int, int]:
        """Members that were lost, and the log step that showed it."""
        return self.training.diverged

    def posterior(self, x: Float[Tensor, "n c h w"]) -> Posterior:
        """Posterior of each image, ``[*p, n, z]``.

        Raises:
            ShapeError: The images are not of the dataset's shape.
        """
        if x.ndim != 4 or tuple(x.shape[1:]) != self.dataset.shape:
            raise ShapeError(
                f"Expected images [n, {', '.join(map(str, self.dataset.shape))}]; "
                f"got {tuple(x.shape)}."
            )
        q = self.training.population.encode(x)
        return Posterior(self._drop(q.mean), self._drop(q.logvar))

    def encode(self, x: Float[Tensor, "n c h w"]) -> Float[Tensor, "*p n z"]:
        """Codes of images: the posterior means, the same at every call."""
        return self.posterior(x).mean

    def decode(self, z: Float[Tensor, "... n z"]) -> Float[Tensor, "... n c h w"]:
        """Images of codes, as the dataset holds them: probabilities, or means.

        Codes without a member axis are decoded by every member.

        Raises:
            ShapeError: The codes do not fit the net.
        """
        members, latents = len(self.spec.seed_list), self.spec.net.settings.latents
        if z.ndim == 2:
            z = z.expand(members, *z.shape)
        if z.ndim != 3 or z.shape[0] != members or z.shape[2] != latents:
            raise ShapeError(
                f"Expected codes [n, {latents}] or [{members}, n, {latents}]; got {tuple(z.shape)}."
            )
        y = self.training.population.decode(z.to(self.training.setting.runtime.dtype))
        return self._drop(activated(likelihood_of(self.spec.objective.settings), y))

    def posteriors(
        self, index: Int[Tensor, " n"], *, on_rows: Callable[[int], None] = lambda _: None
    ) -> Posterior:
        """Posteriors ``[*p, n, z]`` of dataset rows, in one pass for all members."""
        q = encode.encode(self.training.population, self.dataset, index, on_rows=on_rows)
        return Posterior(self._drop(q.mean), self._drop(q.logvar))

    def codes(self, index: Int[Tensor, " n"] | None = None) -> Float[Tensor, "*p n z"]:
        """Codes of dataset rows, all of them by default.

        Raises:
            ConfigError: All rows of a grid that is too large to hold.
        """
        if index is None:
            if len(self.dataset) > MOST_ROWS:
                raise ConfigError(
                    f"The grid has {len(self.dataset):,} points; ask for the codes of some rows."
                )
            index = torch.arange(len(self.dataset))
        return self.posteriors(index).mean

    def representations(self) -> list[Representation]:
        """Each member's codes by grid point.

        A row is encoded when a score first asks for it, for all members in one pass.
        """
        members, latents = len(self.spec.seed_list), self.spec.net.settings.latents

        def means(index: Tensor) -> Tensor:
            return encode.encode(self.training.population, self.dataset, index).mean

        rows = CodeCache(means, self.dataset.space.size)

        def of(member: int) -> Representation:
            return Representation(self.dataset.space, latents, lambda index: rows(index, member))

        return [of(member) for member in range(members)]

    def save(self, path: str | Path) -> Path:
        """Write a run folder that `load` reads.

        Raises:
            StoreError: The folder holds something already.
            WriteError: The disk refused.
        """
        folder = Folder(Path(path))
        folder.claim(self.spec)
        export(self.training, folder)
        write_status(folder, self.training, self.status)
        return folder.path

    def _drop(self, stacked: Tensor) -> Tensor:
        return stacked[0] if self.spec.lone else stacked


def export(training: Training, folder: Folder) -> None:
    """Write weights and curves of a training into its folder."""
    note = {"format": "unknot weights, members first"}
    checkpoint.write_tensors(folder.weights, training.weights(), note)
    text = training.curves.csv(training.specs[0].seed_list)
    write_whole(folder.curves, text.encode())


def write_status(folder: Folder, training: Training, status: Status) -> None:
    """Write down how far a training is."""
    spec = training.specs[0]
    members = [
        {"id": name, "seed": seed, "diverged_at": training.diverged.get(i)}
        for i, (name, seed) in enumerate(zip(training.ids, spec.seed_list, strict=True))
    ]
    folder.write_status(
        {
            "status": status,
            "step": training.step,
            "steps": spec.updates,
            "seconds": round(training.seconds, 1),
            "device": str(training.setting.runtime.device),
            "members": members,
        }
    )


def train(
    spec: TrainSpec,
    *,
    out: str | Path | None = None,
    device: str = "auto",
    watch: Watcher | None = None,
) -> Run:
    """Train a population, in memory or into a run folder.

    Raises:
        StoreError: The folder holds something already.
        KeyboardInterrupt: Asked to stop, and there is no folder to continue from.
    """
    folder = None if out is None else Folder(Path(out))
    if folder:
        folder.check_free()
    training = begin([spec], device)  # before the claim: what fails here leaves no folder behind
    if folder:
        folder.claim(spec)
    return finish(training, folder, watch)


def resume(path: str | Path, *, device: str = "auto", watch: Watcher | None = None) -> Run:
    """Continue a run folder from its last checkpoint; from the start when it has none.

    Raises:
        StoreError: There is no run, or its checkpoints cannot be read.
    """
    folder = Folder(Path(path))
    spec = folder.spec()
    if folder.status().get("status") in ("done", "diverged") and folder.weights.exists():
        return load(path, device=device)
    training = begin([spec], device)
    training = restore(training, folder.checkpoints, other="another run than its run.toml")
    return finish(training, folder, watch)


def finish(training: Training, folder: Folder | None, watch: Watcher | None) -> Run:
    """Train to the end, in memory or in a folder, where a stop leaves a checkpoint.

    Raises:
        StoreError: Another process trains in the folder.
        WriteError: The disk refused; earlier checkpoints are whole.
        KeyboardInterrupt: Asked to stop, without a folder to continue from.
    """

    def save(now: Training) -> None:
        if folder:
            now.save(folder.checkpoints)
            write_status(folder, now, now.status)

    watch = watch or (lambda _: None)
    with folder.lock() if folder else nullcontext():
        with stop_on_signal() as stop:
            if folder:
                write_status(folder, training, training.status)
            training = train_to_the_end(training, watch=watch, save=save, stop=stop.is_set)
        stopped = training.status == "running"
        if folder and stopped:
            write_status(folder, training, "stopped")
        elif folder:
            export(training, folder)
        elif stopped:
            raise KeyboardInterrupt
    status = "stopped" if stopped else training.status
    return Run(training, status, folder.path if folder else None)


def load(path: str | Path, *, device: str = "auto") -> Run:
    """Read a finished run from its folder.

    Raises:
        StoreError: There is no finished run, or its weights are of another net.
    """
    folder = Folder(Path(path))
    training = begin([folder.spec()], device, trained=True)
    if not folder.weights.exists():
        raise StoreError(f"{path} is not finished; continue it with `unknot resume {path}`.")
    weights = checkpoint.read_weights(folder.weights)
    state = training.population.state()
    fits(without_moments(state), weights, folder.weights)
    training.population.load({**state, **weights})
    facts = folder.status()
    try:
        ends = enumerate(member["diverged_at"] for member in facts.get("members", []))
        diverged = {i: int(at) for i, at in ends if at is not None}
    except (TypeError, KeyError, ValueError) as error:
        raise StoreError(f"{folder.status_file} is damaged: {error!r}.") from error
    spec = training.specs[0]
    curves, step = _curves(folder, spec), facts.get("step", spec.updates)
    training = replace(training, curves=curves, diverged=diverged, step=step)
    return Run(training, facts.get("status", "done"), folder.path)


def _curves(folder: Folder, spec: TrainSpec) -> Curves:
    """The curves of a finished run; none when their file is missing or damaged."""
    try:
        return Curves.of_csv(folder.curves.read_text(encoding="utf-8"), len(spec.seed_list))
    except (OSError, ValueError, RuntimeError):
        return Curves()
