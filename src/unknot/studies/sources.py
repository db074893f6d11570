"""Sources: runs whose results become settings of others in the same study.

```toml
[[grid]]
objective.name = "l_vae"

[[grid]]
objective.name = "beta_vae"
objective.beta = "= result('l_vae').beta_hat"
```

A run takes the result of the run with its own seed. It is planned with the id of that run and with
the formula in place of the value, which the driver puts in when the source has ended.
"""

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from unknot.core import dotted
from unknot.core.errors import ConfigError
from unknot.core.hyper import hyper_fields
from unknot.core.registry import nearest
from unknot.core.toml import parse_value
from unknot.runs import config
from unknot.runs.spec import Choice, TrainSpec
from unknot.studies.file.formula import is_formula, source_of


def waiting_settings(table: Mapping[str, Any]) -> dict[str, str]:
    """Formulas that wait for a result, by the path of their setting."""
    return {path: value for path, value in dotted.leaves(table) if is_formula(value)}


class Sources:
    """The configurations of a study that wait for nothing, to be found by name."""

    def __init__(self, specs: Sequence[TrainSpec]) -> None:
        self._by_name: dict[str, list[tuple[TrainSpec, dict[str, Any]]]] = {}
        for spec in specs:
            self._by_name.setdefault(spec.objective.name, []).append((spec, _flat(spec)))
        self._ids: dict[int, list[str]] = {}
        self._groups: dict[str, _Group] = {}

    def ids(self, spec: TrainSpec) -> list[str]:
        """Its runs, in the order of the study's seeds."""
        if id(spec) not in self._ids:  # settings need not be hashable
            self._ids[id(spec)] = spec.ids()
        return self._ids[id(spec)]

    def find(self, formula: str, own: TrainSpec, waiting: Collection[str]) -> TrainSpec:
        """The configuration that a formula names, on the same data.

        Where several have the name, it is the one that agrees with the run in what they differ in.
        """
        words = str(source_of(formula))
        name = words.split()[0]
        if name not in self._by_name:
            raise ConfigError(
                f"'{formula}' names {name}, which no run of the first stage has"
                f"{nearest(name, sorted(self._by_name))}"
                if self._by_name
                else f"'{formula}' names {name}, but all runs of the study wait for a result; add "
                "the run that it is of."
            )
        if (key := repr((words, own.data))) not in self._groups:
            self._groups[key] = self._group(words, own.data)
        group = self._groups[key]
        mine = {path: value for path, value in _flat(own).items() if path not in waiting}
        axes = [path for path in group.differ if path in mine and path not in group.named]
        alike = [
            (spec, flat)
            for spec, flat in group.alike
            if all(flat.get(path) == mine[path] for path in axes)
        ]
        if not group.alike:
            raise ConfigError(
                f"'{formula}' names {words}, which the study does not have with the data of this "
                "run."
            )
        example = alike or group.alike
        differ = _differences([flat for _, flat in alike]) if alike else group.differ
        if len(alike) == 1:
            return alike[0][0]
        word = f"{differ[0].removeprefix('objective.')}={example[0][1].get(differ[0])}"
        raise ConfigError(
            f"'{formula}' may mean {len(example)} configurations, which differ in "
            f"{', '.join(differ)}{'' if alike else ', and none is as this run'}; name one, as in "
            f"result('{name} {word}')."
        )

    def _group(self, words: str, data: Choice) -> "_Group":
        name, *settings = words.split()
        alike = [(spec, flat) for spec, flat in self._by_name[name] if spec.data == data]
        named = []
        for word in settings:
            path, _, text = word.partition("=")
            value = parse_value(text, path)
            named += [path, f"objective.{path}"]
            alike = [
                (spec, flat)
                for spec, flat in alike
                if flat.get(path, flat.get(f"objective.{path}")) == value
            ]
        return _Group(alike, _differences([flat for _, flat in alike]), named)


class _Group(NamedTuple):
    """What the words of a formula leave."""

    alike: list[tuple[TrainSpec, dict[str, Any]]]
    differ: list[str]
    """Paths at which they differ."""
    named: list[str]
    """Paths that the words name."""


def specs_after(
    table: Mapping[str, Any],
    sources: Sources,
    seeds: Sequence[int],
    built: dict[str, Any],
) -> list[TrainSpec]:
    """The runs of a configuration that waits for results: a spec for each seed.

    Args:
        table: With formulas.
        sources: Configurations that wait for nothing.
        seeds: Of the study.
        built: As in `config.spec`.

    Raises:
        ConfigError: A formula names no run or several, or its setting cannot wait.
    """
    formulas = waiting_settings(table)
    rest = copy.deepcopy(dict(table))
    for path in formulas:
        outer, _, last = path.rpartition(".")
        if outer not in ("objective", "optim"):  # the rest would make no sense without it
            raise ConfigError(
                f"{path} cannot be taken from a result; numbers of the objective and of the "
                "optimizer can, such as objective.beta and optim.lr."
            )
        dotted.get(rest, outer).pop(last)
    own = config.spec({**rest, "seeds": list(seeds)}, built)
    for path in formulas:
        _check_setting(own, path)
    found = {path: sources.find(text, own, formulas) for path, text in formulas.items()}
    return [
        config.spec(
            {
                **rest,
                "seeds": [seed],
                "origins": [
                    {"setting": path, "formula": formulas[path], "source": sources.ids(source)[i]}
                    for path, source in found.items()
                ],
            },
            built,
        )
        for i, seed in enumerate(seeds)
    ]


def _check_setting(spec: TrainSpec, path: str) -> None:
    """Only what may differ inside a population can wait: all else decides about the plan."""
    names = [f"objective.{name}" for name in hyper_fields(spec.objective.settings)]
    names += [f"optim.{name}" for name in hyper_fields(spec.optim)]
    if path not in names:
        raise ConfigError(
            f"{path} cannot be taken from a result; of {spec.objective.name} these can: "
            f"{', '.join(names)}."
        )


def _differences(flats: Sequence[Mapping[str, Any]]) -> list[str]:
    """Paths at which some have another value than the rest, or none."""
    paths = dict.fromkeys(path for flat in flats for path in flat)
    return [path for path in paths if len({repr(flat.get(path)) for flat in flats}) > 1]


def _flat(spec: TrainSpec) -> dict[str, Any]:
    written = ("format", "seeds", "objective.name", *dotted.WRITTEN_DOWN)
    return {path: v for path, v in dotted.leaves(spec.table()) if path not in written}
