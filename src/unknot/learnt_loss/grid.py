"""A grid of kernels: one is learnt for each combination of settings, into one folder.

```python
from unknot.learnt_loss.grid import learn_kernels, plan_kernels

table = {"data": "xysquares", "loss": {"steps": 300}}
plan = plan_kernels(table, ["radius=15,31", "lr=0.001,0.01"])
learnt = learn_kernels(plan, Path("kernels"))
```
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from unknot.core import dotted
from unknot.core.checksums import facts_sum
from unknot.core.csv_files import csv_text
from unknot.core.errors import ConfigError, StoreError
from unknot.core.files import check_folder, inside, remove, write_whole
from unknot.core.places import place_fields
from unknot.core.registry import nearest
from unknot.core.text import setting_text
from unknot.engine.checkpoint import latest
from unknot.learnt_loss import learn
from unknot.learnt_loss.learn import LearntLoss, LossSettings
from unknot.runs import config
from unknot.runs.fields import build
from unknot.runs.lock import hold
from unknot.runs.spec import Choice
from unknot.studies.file.study_file import with_axes

TABLE = "kernels.csv"
"""The file of a folder with a row for each kernel that is learnt."""
MOST = 10_000
"""Kernels of a grid."""


@dataclass(frozen=True)
class Preset:
    """Settings and axes of a published grid."""

    settings: Mapping[str, Any]
    axes: tuple[str, ...]


PRESETS = {
    # Table A.6; section 6.1.3 and figure 6.1 have radius 63, where the table prints 64.
    "michlo2022_e8": Preset(
        {"steps": 28_800, "batch": 512, "pairs": 4096},
        ("data.square=8,4,2,1", "lr=0.001,0.0005", "radius=15,31,47,63"),
    )
}


@dataclass(frozen=True)
class KernelPlan:
    """A kernel that is to be learnt."""

    data: Choice
    settings: LossSettings
    point: Mapping[str, Any] = field(default_factory=dict)
    """The value of each axis of the grid, by its path."""

    @property
    def id(self) -> str:
        """A stable name: 12 hex digits of the settings; where a file lies takes no part."""
        return _kernel_id(self.data, self.data.table(), asdict(self.settings))

    @property
    def text(self) -> str:
        """The values of the axes.

        Example:
            >>> data, point = Choice("xysquares", None), {"loss.lr": 0.001, "data.square": 4}
            >>> KernelPlan(data, LossSettings(), point).text
            'lr=0.001 data.square=4'
        """
        return " ".join(f"{axis}={value}" for axis, value in self.row.items())

    @property
    def row(self) -> dict[str, str]:
        """The value of each axis by its short name, as text."""
        return {_short(path): setting_text(value) for path, value in self.point.items()}

    def file(self, folder: Path) -> Path:
        """Of the kernel."""
        return inside(folder, f"{self.id}.safetensors")

    def checkpoints(self, folder: Path) -> Path:
        """The folder of its checkpoints while it is learnt."""
        return inside(folder, f"{self.id}.checkpoints")

    def find(self, folder: Path) -> LearntLoss | None:
        """The kernel, if it is learnt already.

        Raises:
            StoreError: The file of this name is another kernel's.
        """
        if not (file := self.file(folder)).exists():
            return None
        learnt = LearntLoss.load(file)
        if _kernel_id(self.data, learnt.data, asdict(learnt.settings)) != self.id:
            raise StoreError(f"{file} was learnt with other settings; remove or rename it.")
        return learnt

    def state(self, folder: Path) -> str:
        """How far it is: ``done``, ``at step 200`` or ``to do``."""
        if self.find(folder) is not None:
            return "done"
        saved = latest(self.checkpoints(folder))
        return "to do" if saved is None else f"at step {saved.step:,}"


def plan_kernels(table: Mapping[str, Any], axes: Sequence[str] = ()) -> list[KernelPlan]:
    """Every combination of the values of axes, the last axis moving first.

    Args:
        table: Settings of the dataset under ``data`` and of learning under ``loss``.
        axes: Such as ``radius=31,63``, ``lr=0.001,0.01`` or ``data.square=8,4``.
    """
    names = {f.name for f in fields(LossSettings)}
    paths = [f"loss.{axis.strip()}" if _axis_path(axis) in names else axis for axis in axes]
    by_path = {
        "data.name" if path == "data" and dotted.is_name(values) else path: values
        for path, values in dotted.leaves(with_axes({}, paths))
    }
    set_too = {path for path, _ in dotted.leaves(table)} - {"data", "data.name"}
    if both := [p for p in by_path if any(f"{q}.".startswith(f"{p}.") for q in set_too)]:
        raise ConfigError(f"{_short(both[0])} is set, and an axis of the grid too; leave one out.")
    if empty := [path for path, values in by_path.items() if not values]:
        raise ConfigError(f"The axis {_short(empty[0])} has no values.")
    if (size := math.prod(map(len, by_path.values()))) > MOST:
        raise ConfigError(f"The grid has {size:,} kernels; at most {MOST:,} are learnt at once.")
    plan = [_plan_kernel(table, point) for point in _points(by_path)]
    seen: set[str] = set()
    for kernel in plan:
        if kernel.id in seen:
            raise ConfigError(f"The grid has a kernel twice: {kernel.text}.")
        seen.add(kernel.id)
    return plan


def use_preset(
    name: str, table: Mapping[str, Any], axes: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Settings and axes with those of a preset where none are given.

    An axis of the preset gives way to a value or an axis of the same setting.
    """
    if name not in PRESETS:
        raise ConfigError(f"There is no preset '{name}'{nearest(name, [*PRESETS])}")
    given = {_short(path) for path, _ in dotted.leaves(table)} | {
        _short(_axis_path(axis)) for axis in axes
    }
    preset = PRESETS[name]
    result = deepcopy(dict(table))
    for path, value in preset.settings.items():
        if path not in given:
            dotted.put(result, f"loss.{path}", value)
    return result, [*(axis for axis in preset.axes if _axis_path(axis) not in given), *axes]


def check_plan(plan: Sequence[KernelPlan]) -> None:
    """Check that every kernel can be learnt from its dataset, each of which is loaded once.

    Raises:
        UnknotError: One cannot.
    """
    by_data: dict[str, list[KernelPlan]] = {}
    for kernel in plan:
        by_data.setdefault(facts_sum(kernel.data.table()), []).append(kernel)
    for kernels in by_data.values():
        dataset = kernels[0].data.settings.load()
        for kernel in kernels:
            learn.check_learnable(dataset, kernel.settings)


def learn_kernels(
    plan: Sequence[KernelPlan],
    folder: Path,
    *,
    device: str = "auto",
    watch: Callable[[KernelPlan, int, float], None] = lambda *_: None,
) -> list[LearntLoss]:
    """Learn the kernels of a plan that a folder lacks; all of them, in the order of the plan.

    The folder gets a file for each kernel, named by its id, and the table ``kernels.csv``. Called
    again after an interrupt, it resumes from the last checkpoint, bit for bit.

    Args:
        plan: By `plan_kernels`.
        folder: Other kernels that it has stay there.
        device: As in `unknot.train`.
        watch: Told the kernel, its step and the soft rank correlation now and then.
    """
    check_folder(folder)
    check_plan(plan)
    with hold(folder, f"Another process learns kernels in {folder}."):
        learnt = {kernel.id: kernel.find(folder) for kernel in plan}
        for kernel in plan:
            checkpoints = kernel.checkpoints(folder)
            if learnt[kernel.id] is None:
                loss = learn.learn_loss(
                    kernel.data.settings,
                    kernel.settings,
                    device=device,
                    watch=partial(watch, kernel),
                    checkpoints=checkpoints,
                )
                loss.save(kernel.file(folder))
                learnt[kernel.id] = loss
            remove(checkpoints)
            rows = [record(each, done) for each in plan if (done := learnt[each.id]) is not None]
            write_whole(inside(folder, TABLE), csv_text(rows))
    return [loss for loss in learnt.values() if loss is not None]


def record(kernel: KernelPlan, learnt: LearntLoss) -> dict[str, Any]:
    """A row of the table: all settings, and the correlations of pixels and of the learnt loss."""
    return {
        "id": kernel.id,
        **{f"data.{name}": value for name, value in kernel.data.table().items()},
        **asdict(kernel.settings),
        **{f"pixels.{name}": value for name, value in asdict(learnt.before).items()},
        **asdict(learnt.after),
    }


def _plan_kernel(table: Mapping[str, Any], point: Mapping[str, Any]) -> KernelPlan:
    settings = deepcopy(dict(table))
    for path, value in point.items():
        dotted.put(settings, path, value)
    if unknown := [key for key in settings if key not in ("data", "loss")]:
        keys = ["data", "loss"]
        keys += [f.name for f in fields(LossSettings)] if unknown[0] in point else []
        raise ConfigError(f"Unknown key '{unknown[0]}'{nearest(unknown[0], keys)}")
    if not isinstance(settings["loss"], dict):
        raise ConfigError(f"loss must be a table, such as loss.l2=0; got {settings['loss']!r}.")
    data = config.spec({"data": settings["data"]}).data
    return KernelPlan(data, build(LossSettings, settings["loss"], "loss"), point)


def _points(by_path: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*by_path.values()):
        yield dict(zip(by_path, values, strict=True))


def _kernel_id(choice: Choice, data: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    kind: Any = type(choice.settings)
    places = place_fields(kind)
    content = {name: value for name, value in data.items() if name not in places}
    return facts_sum({"data": content, "loss": settings})[:12]


def _axis_path(axis: str) -> str:
    return axis.partition("=")[0].strip()


def _short(path: str) -> str:
    return "data" if path == "data.name" else path.removeprefix("loss.")
