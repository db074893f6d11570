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
from typing import Any

from unknot.core import dotted
from unknot.core.errors import ConfigError
from unknot.core.hyper import hyper_fields
from unknot.core.registry import nearest
from unknot.core.toml import parse_value
from unknot.runs import config
from unknot.runs.spec import TrainSpec
from unknot.studies.file.formula import is_formula, source_of


def waiting_settings(table: Mapping[str, Any]) -> dict[str, str]:
    """Formulas that wait for a result, by the path of their setting."""
    return {path: value for path, value in dotted.leaves(table) if is_formula(value)}


def specs_after(
    table: Mapping[str, Any],
    sources: Sequence[TrainSpec],
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
        (dotted.get(rest, outer) if outer else rest).pop(last)
    own = config.spec({**rest, "seeds": list(seeds)}, built)
    for path in formulas:
        _check_setting(own, path)
    found = {path: _source(text, own, formulas, sources) for path, text in formulas.items()}
    return [
        config.spec(
            {
                **rest,
                "seeds": [seed],
                "origins": [
                    {"setting": path, "formula": formulas[path], "source": source.ids()[i]}
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


def _source(
    formula: str, own: TrainSpec, waiting: Collection[str], sources: Sequence[TrainSpec]
) -> TrainSpec:
    """The configuration that a formula names, on the same data.

    Where several have the name, it is the one that agrees with the run in what they differ in.
    """
    name, *words = str(source_of(formula)).split()
    same_name = [spec for spec in sources if spec.objective.name == name]
    if not same_name:
        hint = nearest(name, sorted({spec.objective.name for spec in sources}))
        raise ConfigError(f"'{formula}' names {name}, which no run of the first stage has{hint}")
    alike = [(spec, _flat(spec)) for spec in same_name if spec.data == own.data]
    for word in words:
        path, _, text = word.partition("=")
        value = parse_value(text, path)
        alike = [
            (spec, flat)
            for spec, flat in alike
            if flat.get(path, flat.get(f"objective.{path}")) == value
        ]
    mine = {path: value for path, value in _flat(own).items() if path not in waiting}
    for path in _differences([flat for _, flat in alike]):
        if path in mine and path not in [f"objective.{w.partition('=')[0]}" for w in words]:
            alike = [(spec, flat) for spec, flat in alike if flat.get(path) == mine[path]]
    if not alike:
        raise ConfigError(
            f"'{formula}' names {' '.join([name, *words])}, which the study does not have with the "
            "data and settings of this run."
        )
    if differ := _differences([flat for _, flat in alike]):
        word = f"{differ[0].removeprefix('objective.')}={alike[0][1].get(differ[0])}"
        raise ConfigError(
            f"'{formula}' may mean {len(alike)} configurations, which differ in "
            f"{', '.join(differ)}; name one, as in result('{name} {word}')."
        )
    return alike[0][0]


def _differences(flats: Sequence[Mapping[str, Any]]) -> list[str]:
    """Paths at which some have another value than the rest, or none."""
    paths = dict.fromkeys(path for flat in flats for path in flat)
    return [path for path in paths if len({repr(flat.get(path)) for flat in flats}) > 1]


def _flat(spec: TrainSpec) -> dict[str, Any]:
    written = ("format", "seeds", "objective.name", *dotted.WRITTEN_DOWN)
    return {path: v for path, v in dotted.leaves(spec.table()) if path not in written}
