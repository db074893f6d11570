"""Run: trained models with what they were asked and what they logged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from unknot.core.border import as_path, check_type, check_whole
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.posterior import Posterior
from unknot.core.representation import CodeCache, Representation
from unknot.core.text import shown
from unknot.core.typed import typed
from unknot.engine import encode
from unknot.losses.likelihood import activate, likelihood_of
from unknot.runs.context import part_rows
from unknot.runs.description import AbsentImages
from unknot.runs.folder import RunFolder
from unknot.runs.inputs import as_images
from unknot.runs.modules import trained_module
from unknot.runs.spec import TrainSpec
from unknot.runs.training import Status, Training
from unknot.runs.writing import save, save_checkpoint

MOST_ROWS = 10_000_000
"""Whose codes are held at a time."""


@dataclass(frozen=True)
class Run:
    """One trained model, or a population of them.

    A run of one seed gives results without a member axis; a run of a list of seeds puts the members
    first, ``[p, ...]``, even when the list has one.
    """

    training: Training
    path: Path | None = None

    @property
    def status(self) -> Status:
        """How it ended, or that it was stopped."""
        return self.training.status

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
        return self.training.context.dataset

    @property
    def diverged(self) -> dict[int, int]:
        """Members that were lost, and the log step that showed it."""
        return self.training.diverged

    @typed()
    def rows(self, part: str) -> Int[Tensor, " n"]:
        """Row numbers of a part of the run's split: ``train``, ``validation`` or ``test``.

        Raises:
            ConfigError: The run has no split, or there is no such part.
        """
        return part_rows(self.training.context, part)

    @property
    def has_data(self) -> bool:
        """Whether the images that it was trained on are here."""
        return not isinstance(self.dataset.images, AbsentImages)

    def member(self, index: int) -> "Run":
        """One model of several, as a run of its own.

        Raises:
            ConfigError: There is no such model.
        """
        index = check_whole("The number of a model", index, 0, len(self.training.ids) - 1)
        return type(self)(self.training.member(index))

    @property
    def encoder(self) -> nn.Module:
        """The encoder with the trained weights, as a plain module in evaluation mode.

        It takes images as `dataset.batch` gives them, and returns means and log-variances side by
        side, ``[n, 2 z]``.

        Raises:
            ConfigError: The run has several models; take one with `member`.
        """
        return self._module("encoder")

    @property
    def decoder(self) -> nn.Module:
        """The decoder with the trained weights, as a plain module in evaluation mode.

        It takes codes ``[n, z]`` and returns logits, or means if the likelihood is Gaussian.

        Raises:
            ConfigError: The run has several models; take one with `member`.
        """
        return self._module("decoder")

    def posterior(self, x: Float[Tensor, "n c h w"]) -> Posterior:
        """Posterior of each image, ``[*p, n, z]``.

        Raises:
            ShapeError: The images are not of the dataset's shape.
        """
        check_type("x", x, Tensor)
        if x.ndim != 4 or tuple(x.shape[1:]) != self.dataset.shape:
            raise ShapeError(
                f"Expected images [n, {', '.join(map(str, self.dataset.shape))}]; "
                f"got {tuple(x.shape)}."
            )
        q = self.training.population.encode(x)
        return Posterior(self._drop(q.mean), self._drop(q.logvar))

    def encode(self, images: "Tensor | np.ndarray") -> Float[Tensor, "*p n z"]:
        """Codes of images: the posterior means, the same at every call.

        Args:
            images: Of NumPy or PyTorch, ``[n, c, h, w]``, ``[n, h, w, c]`` or ``[n, h, w]``: whole
                numbers 0 .. 255 (uint8), which are scaled, or floats in [0, 1]. If the run
                standardises its images, floats are as `dataset.batch` gives them.

        Raises:
            DataError: Values are neither.
            ShapeError: The images have another size.
        """
        return self.posterior(as_images(images, self.dataset)).mean

    def decode(self, z: Float[Tensor, "... n z"]) -> Float[Tensor, "... n c h w"]:
        """Images of codes, as `dataset.batch` gives them: probabilities, or means.

        Counts are those of a row whose total is the median of the data. Codes without a member axis
        are decoded by every member.

        Raises:
            ShapeError: The codes do not fit the net.
        """
        members, latents = len(self.spec.seed_list), self.spec.net.settings.latents
        check_type("z", z, Tensor, np.ndarray)
        if isinstance(z, np.ndarray) and z.dtype.kind not in "fiu":
            raise DataError(f"Codes must be real numbers; got {z.dtype}.")
        z = torch.as_tensor(z)
        if z.is_complex():
            raise DataError(f"Codes must be real numbers; got {z.dtype}.")
        # Codes of all members may be those of a diverged one, whose images are then no numbers.
        if z.ndim == 2 and not bool(z.isfinite().all()):
            raise DataError("Codes must not hold NaN or infinite values.")
        if z.ndim == 2:
            z = z.expand(members, *z.shape)
        if z.ndim != 3 or z.shape[0] != members or z.shape[2] != latents:
            raise ShapeError(
                f"Expected codes [n, {latents}] or [{members}, n, {latents}]; got {tuple(z.shape)}."
            )
        y = self.training.population.decode(z.to(self.training.context.runtime.dtype))
        likelihood = likelihood_of(self.spec.objective.settings)
        return self._drop(activate(likelihood, y, self.dataset.row_total))

    @typed()
    def posteriors(
        self,
        index: Int[Tensor, " n"],
        *,
        dataset: FactorDataset | None = None,
        on_rows: Callable[[int], None] = lambda _: None,
    ) -> Posterior:
        """Posteriors ``[*p, n, z]`` of dataset rows, in one pass for all members.

        Args:
            index: Row numbers.
            dataset: Whose; what it was trained on unless given.
            on_rows: Told how many are done.
        """
        dataset = self.dataset if dataset is None else dataset
        index = dataset.rows(index)
        q = encode.encode(self.training.population, dataset, index, on_rows=on_rows)
        return Posterior(self._drop(q.mean), self._drop(q.logvar))

    def codes(self, index: Int[Tensor, " n"] | None = None) -> Float[Tensor, "*p n z"]:
        """Codes of dataset rows, all of them by default.

        Raises:
            ConfigError: All rows of a grid that is too large to hold.
            DataError: There is no such row.
        """
        if index is None:
            if len(self.dataset) > MOST_ROWS:
                raise ConfigError(
                    f"The grid has {len(self.dataset):,} points; ask for the codes of some rows."
                )
            index = torch.arange(len(self.dataset))
        if (rows := self.dataset.rows(index)).ndim != 1:
            raise ShapeError(f"Expected a list of row numbers; got {shown(index)}.")
        return self.posteriors(rows).mean

    def representations(self) -> list[Representation]:
        """Each member's codes by grid point.

        A row is encoded when a score first asks for it, for all members in one pass.
        """
        members, latents = len(self.spec.seed_list), self.spec.net.settings.latents

        def means(index: Tensor) -> Tensor:
            return encode.encode(self.training.population, self.dataset, index).mean

        rows = CodeCache(means, self.dataset.space.size)

        def representation_of(member: int) -> Representation:
            return Representation(self.dataset.space, latents, lambda index: rows(index, member))

        return [representation_of(member) for member in range(members)]

    def save(self, path: str | Path) -> Path:
        """Write a run folder that `load` reads; of a run that was stopped, one to resume.

        Raises:
            StoreError: The folder holds something already.
            WriteError: A file could not be written.
        """
        folder = RunFolder(as_path("path", path))
        folder.claim(self.spec)
        if self.training.finished:
            save(folder, self.training)
        else:
            save_checkpoint(folder, self.training)
        return folder.path

    def _module(self, part: str) -> nn.Module:
        if len(self.training.ids) > 1:
            count = len(self.training.ids)
            raise ConfigError(f"The run has {count} models; take one with run.member(0).{part}.")
        return trained_module(self.training, part)

    def named(self, values: Mapping[str, Tensor]) -> dict[str, Any]:
        """Logged values as numbers, or as one for each member of a population."""
        lists = {name: value.tolist() for name, value in values.items()}
        return {name: row[0] if self.spec.lone else row for name, row in lists.items()}

    def _drop(self, stacked: Tensor) -> Tensor:
        return stacked[0] if self.spec.lone else stacked
