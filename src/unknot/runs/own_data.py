"""From whatever a user has, a name, a path or an object, to a dataset that a run can name."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from unknot.core.border import check_mask
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, DataError
from unknot.data.images import Images
from unknot.data.memory import Memory
from unknot.data.parts.assembly import assemble
from unknot.data.parts.cells import cells_of, is_cells
from unknot.data.parts.labels import label, read_labels
from unknot.data.parts.objects import (
    as_array,
    columns_by_name,
    give_dataset,
    hash_dataset,
    read_object,
)
from unknot.data.parts.published_images import decode_files
from unknot.data.parts.reading import Options
from unknot.data.parts.tables import (
    label_table,
    signal_dataset,
    signals_of,
    table_dataset,
    table_of,
    take_labels,
)
from unknot.data.vectors import Vectors
from unknot.runs import config
from unknot.runs.fields import build
from unknot.runs.spec import Choice


def as_dataset(
    source: Any, settings: Mapping[str, Any], on_progress: config.Progress = lambda *_: None
) -> FactorDataset:
    """A dataset with its origin: what a run writes down of it.

    Args:
        source: A name, a path, an array, a tensor, a dataset of PyTorch or Hugging Face, or a
            `FactorDataset`.
        settings: Of the dataset.
        on_progress: Told how many images are read, and of how many.
    """
    settings = dict(settings)
    if isinstance(kinds := settings.get("kinds"), Mapping):
        settings["kinds"] = [f"{name}={kind}" for name, kind in kinds.items()]
    if isinstance(source, str | Path) and settings.pop("signals", False):
        source, settings["path"] = "signals", str(source)
    if isinstance(source, np.ma.MaskedArray):
        check_mask(source, "the data")
    if isinstance(source, str | Path) and _in_memory(settings.get("labels")):
        labels, kinds = settings.pop("labels"), settings.pop("kinds", ())
        choice = config.data({**settings, "name": str(source)}, on_progress)
        if not isinstance(choice.settings, Images):
            raise ConfigError(f"Labels are for your own images; {source} has factors of its own.")
        reading = label(choice.settings.read(), labels, kinds)
        images = choice.settings
        dataset = assemble(reading, images.title, standardize=images.standardize)
    elif isinstance(source, str | Path):
        for name in ("labels", "kinds"):
            if isinstance(settings.get(name), list | tuple):
                settings[name] = [*settings[name]]
        if isinstance(settings.get("labels"), list):
            settings["labels"] = ",".join(settings["labels"])
        if isinstance(settings.get("labels"), Path):
            settings["labels"] = str(settings["labels"])
        choice = config.data({**settings, "name": str(source)}, on_progress)
        decode_files(choice.settings, on_progress)
        loaded: FactorDataset = choice.settings.load()
        return replace(loaded, origin=choice)
    elif settings.get("signals") or getattr(source, "ndim", 0) == 2 or is_cells(source):
        dataset = _number_dataset(source, settings)
    elif not isinstance(source, FactorDataset):
        labels, kinds = settings.pop("labels", None), settings.pop("kinds", ())
        options, others = _options(settings)
        reading = read_object(source, options, on_progress)
        if isinstance(labels, list | tuple) and hasattr(source, "column_names"):
            labels = columns_by_name(source, labels, len(reading.pixels))
        if labels is not None:
            reading = label(reading, labels, kinds)
        dataset = assemble(reading, **others)
    elif settings:
        raise ConfigError(f"A dataset that is loaded has no more settings; got {[*settings]}.")
    else:
        dataset = source
    if dataset.origin is not None:
        return dataset
    c, h, w = dataset.shape
    memory = Memory(hash_dataset(dataset), (h, w), c, bool(dataset.mean), dataset.name)
    return replace(dataset, origin=Choice("memory", memory))


def hold_images(dataset: FactorDataset) -> FactorDataset:
    """Make a dataset of images in memory known in this process, as long as somebody holds it."""
    if isinstance(settings := dataset.origin.settings, Memory) and settings.content is not None:
        give_dataset(settings.content, dataset)
    return dataset


def data_of_run(source: Any, choice: Choice) -> FactorDataset | None:
    """The images of a run that are given again, or that lie elsewhere now.

    Args:
        source: What `as_dataset` takes; None for a run that finds its own.
        choice: What the run wrote down.

    Raises:
        DataError: They are others.
    """
    if source is None:
        return None
    settings = choice.settings
    if isinstance(source, str | Path) and hasattr(settings, "path"):
        moved = config.data({**choice.table(), "path": str(source)})
        dataset: FactorDataset = moved.settings.load()
        return replace(dataset, origin=moved)
    is_table = getattr(source, "ndim", 0) == 2 or is_cells(source)
    is_finished = isinstance(source, FactorDataset | str | Path) or is_table
    names = ("size", "channels", "standardize")
    again = {} if is_finished else {n: getattr(settings, n) for n in names if hasattr(settings, n)}
    if isinstance(settings, Memory) and settings.size[0] == 1 < settings.size[-1]:
        again = {} if isinstance(source, FactorDataset) else {"signals": True}
    dataset = as_dataset(source, again)
    content = getattr(dataset.origin.settings, "content", None)
    if dataset.origin != choice and (
        content is None or content != getattr(settings, "content", None)
    ):
        raise DataError(
            f"The data is not that of the run, which was trained on {choice.title}; "
            "give the same images with the same settings."
        )
    return dataset


def _number_dataset(source: Any, settings: Mapping[str, Any]) -> FactorDataset:
    """The rows of an array, a tensor or a data frame; or signals, if it says so."""
    settings = dict(settings)
    name, signals = settings.pop("name", "data"), settings.pop("signals", False)
    # Checked like those of a file, whose path and content they have not.
    labels, kinds = settings.pop("labels", None), settings.pop("kinds", ())
    checked = build(Vectors, {**settings, "path": ""}, "data")
    names = labels if isinstance(labels, list | tuple) else ()
    if is_cells(source):
        table, columns = cells_of(source, checked.limit, names)
    else:
        source = as_array(source) if isinstance(source, Tensor) else source
        source, columns = source[: checked.limit], {}
        if names and not hasattr(source, "columns"):
            raise ConfigError("An array has no columns by name; give labels as a dict of columns.")
        if names:
            source, columns = take_labels(source, names, "the table")
        table = signals_of(source, "the array") if signals else table_of(source, "the table")
    if labels is not None:
        table = label_table(table, *read_labels(columns or labels, kinds, count=table.rows))
    assemble_numbers = signal_dataset if signals else table_dataset
    return assemble_numbers(table, name, standardize=checked.standardize)


def _in_memory(labels: Any) -> bool:
    """Whether labels are an object, and not a file or names of columns."""
    return labels is not None and not isinstance(labels, str | Path | list | tuple)


def _options(settings: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Settings of images in memory, checked like those of files."""
    others = {"name": "data", "standardize": False}
    others |= {name: value for name, value in settings.items() if name in others}
    rest = {name: value for name, value in settings.items() if name not in others}
    return build(Options, rest, "data"), others
