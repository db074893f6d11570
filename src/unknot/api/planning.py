"""Plan a study in Python: the table that a study file would hold."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any

from torch import Tensor

from unknot.api.arguments import seed_list
from unknot.api.objects import ROOMS, choice_table, is_dataset_settings, optim_choice
from unknot.api.own_net import holds_modules, question_logits, question_start, try_modules
from unknot.api.study import Study
from unknot.core import dotted
from unknot.core.border import as_path, check_name, check_type, check_value, check_whole
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.optim import Optimizer
from unknot.core.text import shown
from unknot.core.typed import check_hint
from unknot.runs import config, words
from unknot.runs.config import MOST_SEEDS
from unknot.runs.metric_names import metric_text, split_part
from unknot.runs.own_data import as_dataset, hold_images
from unknot.runs.spec import plain_value
from unknot.studies.file.study_file import StudyFile
from unknot.studies.file.sweep import MOST


def study(
    name: str,
    *,
    data: Any = "dsprites",
    objective: Any = "beta_vae",
    net: Any = None,
    optimizer: str | Optimizer | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | Iterable[int] = 5,
    metrics: Sequence[Any] = (),
    protocol: str | None = None,
    out: str | Path | None = None,
    **train: Any,
) -> Study:
    """A study: each configuration of a grid with each seed. Nothing runs before ``.run()``.

    Args:
        name: Of the study, and of its folder.
        data: A dataset by name, path or settings; or your own images as objects, whatever `dataset`
            takes, which train in this process.
        objective: By name or as an object, or a list of them.
        net: By name or as an object; or modules, as in `unknot.train`, which train in this process.
        optimizer: ``adam`` (the default), or another, or an object such as ``unknot.AdamW(3e-4)``.
        grid: Values to run by the path of a setting, ``{"objective.beta": [1, 4, 16]}``, or by its
            last name, ``beta``; axes multiply. Values may be objects: ``{"net": [nets.Linear()]}``.
        seeds: How many, from 0 on, or which.
        metrics: Names of metrics; a protocol may follow, ``dci@study2019``. Or the metrics.
        protocol: Of metrics that name none; ``unknot`` when None.
        out: The study folder; ``studies/NAME`` when None.
        train: What all runs share, as in a settings file: ``steps=20_000``, ``batch=64``,
            ``split="rows"``; settings of objective, net and optimiser by their last name, such as
            ``beta=4``.

    Raises:
        ConfigError: A setting does not make sense.

    Example:
        >>> s = study("betas", data="xysquares", grid={"objective.beta": [1, 4]}, seeds=2)
        >>> len(s)
        4
    """
    check_type("name", name, str)
    check_type("protocol", protocol, str, type(None))
    listed = seed_list(seeds)
    if isinstance(listed, int):
        listed = [*range(check_whole("seeds", listed, 1, MOST_SEEDS))]
    axes = dict(_axes({} if grid is None else grid))
    first, *_ = axes.get("data") or [data]
    values = _Values(first)
    base: dict[str, Any] = {"data": values.plain("data", data)}
    if net is not None:
        base["net"] = values.plain("net", net)
    if optimizer is not None:
        base["optim"] = values.plain("optim", optimizer)
    if misplaced := [key for key in train if key in signature(Study.run).parameters]:
        raise ConfigError(f"'{misplaced[0]}' is of .run({misplaced[0]}=...), not of the study.")
    short = {key: value for key, value in train.items() if not words.is_whole(key)}
    whole = {key: value for key, value in train.items() if key not in short and value is not None}
    base |= {key: values.plain(key, value) for key, value in whole.items()}
    objectives = [*objective] if isinstance(objective, list | tuple) else [objective]
    blocks = []
    for thing in objectives:
        block = {"objective": values.plain("objective", thing)}
        for key, value in short.items():
            path = words.complete(base | block, key)
            dotted.put(block, _own(base, path), values.plain(path, value))
        for key, points in axes.items():
            path = key if words.is_whole(key) else words.complete(base | block, key)
            dotted.put(block, _own(base, path), [values.plain(path, value) for value in points])
        blocks.append(block)
    check_hint("metrics", metrics, str | Iterable)
    names = re.split(r"\s*,\s*", metrics) if isinstance(metrics, str) else [*metrics]
    names = [metric_text(metric) for metric in names]
    protocols = {split_part(metric)[0].partition("@")[2] for metric in names}
    if protocol is None and len(protocols) == 1 and (protocol := protocols.pop()):
        names = [metric.replace(f"@{protocol}", "") for metric in names]  # the study's own
    table: dict[str, Any] = {
        "name": name,
        "seeds": listed,
        "metrics": "all" if names == ["all"] else names,
        "protocol": protocol or "unknot",
        "train": base,
        "grid": blocks,
    }
    file = StudyFile(table)
    images = tuple(dataset for _, dataset, _ in values.loaded.values())
    folder = Path("studies") / file.folder_name if out is None else as_path("out", out)
    planned = Study(folder, file, images)
    configurations = planned.plan().configurations  # a slip is found now, and not when it runs
    for given in (net, *axes.get("net", [])):
        question_start(given, several=len(listed) > 1)
    for decoded in values.decoded:
        question_logits(decoded, configurations[0].objective.settings)
    return planned


@dataclass(frozen=True, eq=False)
class _Values:
    """Settings as a study file holds them: objects as tables."""

    data: Any
    """What modules are tried on."""
    decoded: list[Tensor] = field(default_factory=list)
    """What decoders of modules gave."""
    loaded: dict[int, tuple[dict[str, Any], FactorDataset, Any]] = field(default_factory=dict)
    """Tables and datasets of images that are objects, each read once, with the objects."""

    def plain(self, path: str, value: Any) -> Any:
        """The value of a setting."""
        if path == "net" and holds_modules(value):
            table, decoded = try_modules(value, self._images)
            self.decoded.append(decoded)
            return table
        if path == "data":
            return self._data_table(value)
        if path == "optim":
            return value if isinstance(value, Mapping) else optim_choice(value)
        if path in ROOMS:
            return choice_table(ROOMS[path], value)
        plain = plain_value(value)
        if getattr(plain, "ndim", None) == 0:  # a number of NumPy or PyTorch
            plain = plain.item()
        return check_value(plain, path)

    @cached_property
    def _images(self) -> FactorDataset:
        dataset: FactorDataset = config.data(self._data_table(self.data)).settings.load()
        return dataset

    def _data_table(self, data: Any) -> dict[str, Any]:
        if isinstance(data, str | Path | Mapping) or is_dataset_settings(data):
            return choice_table("datasets", data)
        if id(data) not in self.loaded:
            dataset = hold_images(as_dataset(data, {}))
            self.loaded[id(data)] = dataset.origin.table(), dataset, data
        return self.loaded[id(data)][0]


def _own(base: Mapping[str, Any], path: str) -> str:
    """A path, unless it is a setting of modules, which have none."""
    if path.startswith("net.") and words.chosen_name(base, "net") == "modules":
        raise ConfigError(f"net is modules already, which have no {path.removeprefix('net.')}.")
    return path


def _axes(grid: Any) -> Iterator[tuple[str, list[Any]]]:
    """The paths of a grid, each with its values."""
    check_type("grid", grid, Mapping)
    for path, values in grid.items():
        check_name(path, "The path of a setting in grid")
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise ConfigError(f"grid needs a list of values for {path}; got {shown(values)}.")
        points = [*islice(values, MOST + 1)]
        if len(points) > MOST:
            raise ConfigError(f"grid has more than {MOST:,} values for {path}.")
        yield path, points
