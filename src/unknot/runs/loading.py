"""A finished training from its folder, with its data if they are there."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError, StoreError
from unknot.engine.checkpoint import unpack_tensors
from unknot.runs import features, status
from unknot.runs.context import training_context
from unknot.runs.description import absent_dataset, check_images, scale_as_trained
from unknot.runs.folder import RunFolder, stopped_members
from unknot.runs.spec import TrainSpec
from unknot.runs.training import Training, member_specs


def load_training(
    folder: RunFolder,
    specs: Sequence[TrainSpec] | None = None,
    device: str = "auto",
    *,
    member: int | None = None,
    data: FactorDataset | None = None,
    step: int | str | None = None,
) -> Training:
    """Read a finished training.

    Args:
        folder: Where it is.
        specs: What was planned, one for each member; what `run.toml` says when None.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        member: One of them, as a training of its own; all of them when None.
        data: The dataset, if it is loaded already.
        step: The weights of this step, or of each member's ``best``; of the last when None.
    """
    members = [folder.spec()] if specs is None else list(specs)
    record = folder.record()
    if folder.archived_weights == "none":
        raise StoreError(f"{folder.path} comes from an archive without weights (--weights none).")
    if not folder.weights_file.exists() or not record:
        raise StoreError(
            f"{folder.path} is not finished; resume it with `unknot resume {folder.path}`."
        )
    if folder.leftovers():
        with contextlib.suppress(StoreError), folder.lock():
            pass
    ids = [entry["id"] for entry in record["members"]]
    same = ids == [name for spec in members for name in spec.ids()]
    if specs is not None and not same:
        raise StoreError(f"{folder.path} holds other runs than the plan says.")
    if "files" in record and not same:  # ids of runs from before may have come of other names
        raise folder.changed()
    file = folder.weights_file if step is None else folder.step_file(step)
    if step is not None and not file.exists():
        raise StoreError(
            f"{folder.path} has no weights of step {step}; there are those of "
            f"{', '.join(map(str, [*folder.kept_steps(), 'the last step']))}."
        )
    packed = status.read_file(folder.path, file.name, record)
    weights = unpack_tensors(packed, file)
    if folder.archived_weights == "half":
        weights = {n: w.float() if w.dtype == torch.float16 else w for n, w in weights.items()}
    curves, validation = folder.curves(), folder.curves("seen")
    stopped, steps = stopped_members(record), _weight_steps(record, step)
    lost = [entry["diverged_at"] for entry in record["members"]]
    if member is not None:
        members, lost = [member_specs(members)[member]], lost[member : member + 1]
        weights = {name: stacked[member : member + 1] for name, stacked in weights.items()}
        curves, validation = curves.member(member), validation.member(member)
        stopped, steps = ({0: d[member]} if member in d else {} for d in (stopped, steps))
    features.provide(folder.path, members[0])
    dataset = _dataset(folder, members[0], record, data)
    context = training_context(members[0], device, trained=True, data=dataset)
    training = Training.from_weights(members, context, weights, file)
    training.curves, training.validation = curves, validation
    training.stopped_early, training.weight_steps = stopped, steps
    training.diverged = {i: int(step) for i, step in enumerate(lost) if step is not None}
    training.step = record.get("step", members[0].updates)
    return training


def _dataset(
    folder: RunFolder, spec: TrainSpec, record: Mapping[str, Any], data: FactorDataset | None
) -> FactorDataset:
    """The images of a finished run, if they are what it was trained on."""
    description = record.get("data", {})
    try:
        place = folder.path / description.get("place", "")
        dataset = _load(spec, place) if data is None else data
    except DataError as error:
        if not description:
            raise
        dataset = absent_dataset(description, str(error))
    if description:
        dataset = scale_as_trained(dataset, description, spec.split)
    check_images(dataset, description.get("fingerprint"), str(folder.status_file))
    return dataset


def _load(spec: TrainSpec, place: Path) -> FactorDataset:
    """The images that a run names; if they moved together with it, from where they are now."""
    settings = spec.data.settings
    if (path := getattr(settings, "path", None)) and not Path(path).exists() and place.exists():
        settings = replace(settings, path=str(place.absolute()))
    dataset: FactorDataset = settings.load()
    return dataset


def _weight_steps(record: Mapping[str, Any], step: int | str | None) -> dict[int, int]:
    """The step of each member's weights; nothing where they are those of the end."""
    if step is None:
        return {}
    entries = enumerate(record["members"])
    return {i: int(entry["best_at"] if step == "best" else step) for i, entry in entries}
