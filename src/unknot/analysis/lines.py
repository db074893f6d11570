"""Lines: configurations of an objective that a number puts in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unknot.analysis.configurations import Configuration, hashable, is_number, objective_first
from unknot.core.text import setting_text

MOST_LINES = 8
"""Of one objective on one dataset; nobody can follow more."""

Keys = dict[str, list[Any]]
"""Of each setting its values, one for each configuration."""


@dataclass(frozen=True, eq=False)
class Line:
    """Configurations that differ in one number and in what goes along with it, smallest first."""

    objective: str
    data: str
    axis: str
    """The setting that is this number; what tells them apart where none puts them in order."""
    apart: dict[str, Any]
    """The settings that tell it from the objective's other lines."""
    values: tuple[float | str, ...]
    """Of the axis; texts where there is no order."""
    configurations: tuple[Configuration, ...]

    @property
    def ordered(self) -> bool:
        """Whether its points have an order to be joined in."""
        return all(isinstance(value, float) for value in self.values)


def setting_lines(configurations: Sequence[Configuration]) -> list[Line]:
    """Lines of each objective on each dataset, with as few of them as there can be.

    The axis is the number that makes the fewest lines, the objective's own where others make as
    few, and every other setting has a line for each of its values, but for those that go along with
    the axis one to one. Where that takes more than `MOST_LINES`, or one of a single point, all are
    one line whose values are texts: nothing puts them in order.

    Example:
        >>> grid = [(beta, z) for beta in (4.0, 1.0) for z in (9, 25)]
        >>> settings = [{"objective.beta": beta, "net.latents": z} for beta, z in grid]
        >>> lines = setting_lines([Configuration("vae", "", "", each, {}) for each in settings])
        >>> [(line.apart, line.values) for line in lines]
        [({'net.latents': 9}, (1.0, 4.0)), ({'net.latents': 25}, (1.0, 4.0))]
    """
    together: dict[tuple[str, str], list[Configuration]] = {}
    for configuration in configurations:
        together.setdefault((configuration.data, configuration.objective), []).append(configuration)
    return [line for group in together.values() for line in _lines(group)]


def _lines(group: list[Configuration]) -> list[Line]:
    names = objective_first(name for c in group for name in c.settings)
    values_by_name = {name: [hashable(c.settings.get(name)) for c in group] for name in names}
    varying = {name: values for name, values in values_by_name.items() if len(set(values)) > 1}
    ways = [
        _along(group, name, varying)
        for name, values in varying.items()
        if all(map(is_number, values))
    ]
    clear = [
        way
        for way in ways
        if len(way) <= MOST_LINES and all(len(line.configurations) > 1 for line in way)
    ]
    if clear:
        return min(clear, key=len)
    first, texts = group[0], tuple(setting_text(c.swept_value) for c in group)
    return [Line(first.objective, first.data, first.axis, {}, texts, tuple(group))]


def _along(group: list[Configuration], axis: str, varying: Keys) -> list[Line]:
    """The lines there are with this axis."""
    x = varying[axis]
    others = {n: values for n, values in varying.items() if not _one_to_one(values, x)}
    apart = _without_decided(others)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i in sorted(range(len(group)), key=lambda i: float(x[i])):
        groups.setdefault(tuple(values[i] for values in apart.values()), []).append(i)
    ordered = sorted(groups, key=lambda key: _place(key, apart))
    return [
        Line(
            group[0].objective,
            group[0].data,
            axis,
            _named(group[groups[key][0]], apart, others),
            tuple(float(x[i]) for i in groups[key]),
            tuple(group[i] for i in groups[key]),
        )
        for key in ordered
    ]


def _without_decided(varying: Keys) -> Keys:
    """Without the settings that those before them decide: a line needs no name for these."""
    telling: Keys = {}
    for name, values in varying.items():
        if _count(*telling.values(), values) > _count(*telling.values()):
            telling[name] = values
    return telling


def _named(configuration: Configuration, apart: Keys, others: Keys) -> dict[str, Any]:
    """What is said of a line: no setting that it does not have, but one at least."""
    values = {
        name: configuration.settings[name]
        for name in others
        if configuration.settings.get(name) is not None
    }
    return {n: v for n, v in values.items() if n in apart} or dict(list(values.items())[:1])


def _count(*columns: list[Any]) -> int:
    """How many different values there are together."""
    return len(set(zip(*columns, strict=True))) if columns else 1


def _one_to_one(first: list[Any], second: list[Any]) -> bool:
    return _count(first, second) == _count(first) == _count(second)


def _place(key: tuple[Any, ...], apart: Keys) -> tuple[float, ...]:
    """Numbers by size, words as they are first met."""
    return tuple(
        float(value) if all(map(is_number, values)) else float(values.index(value))
        for value, values in zip(key, apart.values(), strict=True)
    )
