"""Plan a study in Python: the table that a study file would hold."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unknot.api.arguments import seed_list
from unknot.api.objects import choice_table, is_dataset_settings
from unknot.api.study import Study
from unknot.core import dotted
from unknot.core.border import check_name, check_type
from unknot.core.errors import ConfigError
from unknot.core.text import shown
from unknot.runs.own_data import as_dataset
from unknot.runs.spec import plain_value
from unknot.studies.file.study_file import StudyFile


def study(
    name: str,
    *,
    data: Any = "dsprites",
    objective: Any = "beta_vae",
    net: Any = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | Iterable[int] = 5,
    metrics: Sequence[str] = (),
    protocol: str | None = None,
    out: str | Path | None = None,
    **train: Any,
) -> Study:
    """A study: each configuration of a grid with each seed. Nothing runs before ``.run()``.

    Args:
        name: Of the study, and of its folder.
        data: A dataset by name, path or settings; or one that `dataset` read from files.
        objective: By name or as an object, or a list of them.
        net: By name or as an object.
        grid: Values to run by the path of a setting, ``{"objective.beta": [1, 4, 16]}``; axes
            multiply.
        seeds: How many, from 0 on, or which.
        metrics: Names of metrics; a protocol may follow, ``dci@study2019``.
        protocol: Of metrics that name none; ``unknot`` when None.
        out: The study folder; ``studies/NAME`` when None.
        train: What all runs share, as in a settings file: ``steps=20_000``, ``batch=64``,
            ``split="rows"``.

    Raises:
        ConfigError: A setting does not make sense.

    Example:
        >>> s = study("betas", data="xysquares", grid={"objective.beta": [1, 4]}, seeds=2)
        >>> len(s)
        4
    """
    base: dict[str, Any] = {"data": _data_table(data)}
    if net is not None:
        base["net"] = choice_table("nets", net)
    base |= {key: plain_value(value) for key, value in train.items()}
    objectives = [*objective] if isinstance(objective, list | tuple) else [objective]
    axes = {path: [plain_value(v) for v in values] for path, values in _axes(grid or {})}
    blocks = []
    for thing in objectives:
        block = {"objective": choice_table("objectives", thing)}
        for path, values in axes.items():
            dotted.put(block, path, values)
        blocks.append(block)
    names = re.split(r"\s*,\s*", metrics) if isinstance(metrics, str) else [*metrics]
    for metric in names:
        check_type("metrics", metric, str)
    protocols = {metric.partition("@")[2] for metric in names}
    if protocol is None and len(protocols) == 1 and (protocol := protocols.pop()):
        names = [metric.partition("@")[0] for metric in names]  # the study's own
    table: dict[str, Any] = {
        "name": name,
        "seeds": [*range(seeds)] if isinstance(seeds, int) else seed_list(seeds),
        "metrics": "all" if names == ["all"] else names,
        "protocol": protocol or "unknot",
        "train": base,
        "grid": blocks,
    }
    file = StudyFile(table)
    planned = Study(Path(out) if out else Path("studies") / file.folder_name, file)
    planned.plan()  # a slip is found now, and not when it runs
    return planned


def _axes(grid: Any) -> Iterator[tuple[str, Iterable[Any]]]:
    """The paths of a grid, each with its values."""
    check_type("grid", grid, Mapping)
    for path, values in grid.items():
        check_name(path, "The path of a setting in grid")
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise ConfigError(f"grid needs a list of values for {path}; got {shown(values)}.")
        yield path, values


def _data_table(data: Any) -> dict[str, Any]:
    if isinstance(data, str | Path | Mapping) or is_dataset_settings(data):
        return choice_table("datasets", data)
    table: dict[str, Any] = as_dataset(data, {}).origin.table()
    if table["name"] == "memory":
        raise ConfigError(
            "The runs of a study read their data from files, in processes of their own; save the "
            "images, numpy.savez('images.npz', images=...), and give the path."
        )
    return table
