"""Sweep: from a study file to the settings of its runs.

```toml
name = "three betas"
seeds = "0..4"
metrics = ["mig", "sap"]

[train]                                   # what all runs share, as in a file of `unknot train`
steps = 20_000

[across]                                  # axes that multiply every grid
data = ["dsprites", "xysquares"]

[[grid]]                                  # grids are added up; the lists in one multiply
objective.name = "beta_vae"
objective.beta = [1, 2, 4]

[[grid]]
objective.name = "dip_vae_i"
objective.lambda_od = [1, 2, 5]
objective.lambda_d = "= 10 * objective.lambda_od"
```
"""

import copy
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unknot.core import dotted, registry
from unknot.core.border import check_name
from unknot.core.errors import ConfigError
from unknot.metrics.parts.facts import check_protocol
from unknot.runs import config
from unknot.runs.metric_names import metric_names, split_part
from unknot.studies.file.formula import canonical, compute, is_formula, source_of

KEYS = (
    *("version", "name", "seeds", "metrics", "protocol", "score_seed", "score_every", "members"),
    *("baseline", "train", "across", "grid"),
)
FORMAT = 1
MOST = 1_000_000
"""Runs of one study; more are a slip of the hand."""
LONGEST_CHAIN = 64
"""Formulas that follow from each other."""


@dataclass(frozen=True)
class Sweep:
    """A study as asked for: settings of its runs, their seeds, and how to score them."""

    name: str
    seeds: tuple[int, ...]
    settings: tuple[dict[str, Any], ...]
    """Tables such as `config.spec` takes, each with the place it came from in ``places``; formulas
    that wait for a result of another run are still in them."""
    places: tuple[str, ...]
    metrics: tuple[str, ...] | None = ()
    """Scores by name; none when empty, all that apply when None."""
    protocol: str = "unknot"
    score_seed: int = 0
    members: int | None = None
    """The most models in one population; None leaves it to the machine."""
    baselines: tuple[str, ...] = ()
    """What its report holds scores against: objectives, settings or ``score=number``."""


def expand(table: Mapping[str, Any]) -> Sweep:
    """The runs that a study file asks for: what is across all, then grids, then their axes.

    The first axis is the slowest, and seeds are the fastest.

    Example:
        >>> sweep = expand({"grid": [{"objective": {"beta": [1, 2], "likelihood": "gaussian"}}]})
        >>> [setting["objective"] for setting in sweep.settings]
        [{'likelihood': 'gaussian', 'beta': 1}, {'likelihood': 'gaussian', 'beta': 2}]
    """
    for key in table:
        if key not in KEYS:
            hint = registry.nearest(key, [*KEYS])
            if key in dotted.SETTINGS:
                hint = "; what all runs share stands under [train]."
            raise ConfigError(f"Unknown key '{key}' in a study{hint}")
    if (version := table.get("version", FORMAT)) != FORMAT:
        raise ConfigError(f"version of a study must be the number {FORMAT}; got {version!r}.")
    base = _inner("[train]", table.get("train", {}))
    if "score_every" in table:
        base = {**base, "score_every": _integer("score_every", table["score_every"], 1)}
    if "seeds" in base:
        raise ConfigError("Seeds of a study stand at its top, not under [train].")
    seeds = _seeds(table.get("seeds", 0))
    across = _axes("[across]", _inner("[across]", table.get("across", {})))
    grids = _grids(table, across)
    points = sum(math.prod(len(axis) for axis in axes) for _, axes in grids)
    runs = len(seeds) * points * math.prod(len(axis) for axis in across)
    if runs > MOST:
        raise ConfigError(f"The study would have {runs:,} runs; at most {MOST:,} can be planned.")
    settings, places = [], []
    for outer in itertools.product(*across):
        for place, axes in grids:
            for inner in itertools.product(*axes):
                settings.append(_setting(place, base, [*itertools.chain(*outer, *inner)]))
                places.append(place)
    return Sweep(
        name=_text("name", table.get("name", "study")),
        seeds=seeds,
        settings=tuple(settings),
        places=tuple(places),
        metrics=_metrics(table.get("metrics", [])),
        protocol=_protocol(table.get("protocol", "unknot")),
        score_seed=_integer("score_seed", table.get("score_seed", 0), 0),
        members=_integer("members", table["members"], 1) if "members" in table else None,
        baselines=baselines(table.get("baseline", [])),
    )


Axis = list[list[tuple[str, Any]]]
"""Each of its points sets one path, or several that run in step."""


def _grids(table: Mapping[str, Any], across: Sequence[Axis]) -> list[tuple[str, list[Axis]]]:
    value = table.get("grid", [{}])
    if isinstance(value, dict):
        raise ConfigError("Grids are written [[grid]], with two brackets; got one [grid].")
    if not isinstance(value, list) or not value:
        raise ConfigError(f"grid must be one or more tables [[grid]]; got {value!r}.")
    grids = []
    for n, grid in enumerate(value, start=1):
        place = f"grid {n}" if "grid" in table else "the study"
        if "grid" in table and not grid:
            raise ConfigError(f"{place} is empty; name at least one setting in it, or remove it.")
        axes = _axes(place, _inner(place, grid))
        _check_paths(place, [path for axis in (*across, *axes) for path, _ in axis[0]])
        grids.append((place, axes))
    return grids


def _axes(place: str, block: dict[str, Any]) -> list[Axis]:
    """What a block says, in its order: settings are axes of one point, zipped ones a single axis.

    Settings of one value come first, so that a file of them reads as it would under [train].
    """
    zips = block.get("zip", [])
    shape = isinstance(zips, list) and all(isinstance(z, list) for z in zips)
    if not shape or any(not isinstance(path, str) for z in zips for path in z):
        raise ConfigError(f'{place}: zip looks like [["optim.lr", "batch"]]; got {zips!r}.')
    leaves = {}
    for path, value in dotted.leaves({k: v for k, v in block.items() if k != "zip"}):
        if value == []:
            raise ConfigError(f"{place}: {path} is an empty list; an axis needs a value or more.")
        if path in dotted.NAMED and dotted.is_name(value):
            path = f"{path}.name"  # data = "dsprites" is short for it
        leaves[path] = value if isinstance(value, list) else [value]
    partner = _partners(place, zips, leaves)
    axes: list[Axis] = []
    for path in sorted(leaves, key=lambda path: len(leaves[path]) > 1):
        together = partner.get(path, (path,))
        if path == together[0]:
            columns = [[(p, value) for value in leaves[p]] for p in together]
            axes.append([list(point) for point in zip(*columns, strict=True)])
    return axes


def _partners(
    place: str, zips: Sequence[Sequence[str]], leaves: Mapping[str, list[Any]]
) -> dict[str, tuple[str, ...]]:
    partner: dict[str, tuple[str, ...]] = {}
    for group in zips:
        paths = tuple(f"{p}.name" if p in dotted.NAMED and p not in leaves else p for p in group)
        for path in paths:
            if path not in leaves:
                raise ConfigError(f"{place}: zip names {path}{registry.nearest(path, [*leaves])}")
            if path in partner or paths.count(path) > 1:
                raise ConfigError(f"{place}: {path} is zipped twice.")
            partner[path] = paths
        lengths = {path: len(leaves[path]) for path in paths}
        if len({*lengths.values()}) > 1:
            lengths_text = ", ".join(f"{path} has {length}" for path, length in lengths.items())
            raise ConfigError(f"{place}: zipped axes must be of one length; {lengths_text}.")
    return partner


def _check_paths(place: str, paths: Sequence[str]) -> None:
    for i, path in enumerate(paths):
        if path in paths[:i]:
            raise ConfigError(f"{place}: the axis {path} comes twice, here and under [across].")
        if inside := [p for p in paths[:i] if p.startswith(f"{path}.")]:
            raise ConfigError(f"{place}: {path} would undo {inside[0]}, which is set before it.")
        if path == "seeds" or path.startswith("seeds."):
            raise ConfigError(f"{place}: seeds of a study stand at its top, for all runs.")


def _setting(place: str, base: dict[str, Any], point: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """One table of settings: the base with a point of the grid put in and formulas computed."""
    table = copy.deepcopy(base)
    formulas: dict[str, str] = {}
    for path, value in (*((p, v) for p, v in dotted.leaves(base) if is_formula(v)), *point):
        formulas.pop(path, None)
        if is_formula(value):
            formulas[path] = value
        else:
            dotted.put(table, path, value)
    open_paths: set[str] = set()
    waiting: dict[str, str] = {}

    def lookup(path: str) -> object:
        if path in open_paths & {*formulas}:
            raise ConfigError(f"{place}: {path} = '{formulas[path]}' depends on itself.")
        if len(open_paths) > LONGEST_CHAIN:
            raise ConfigError(
                f"{place}: {path} is in a chain of more than {LONGEST_CHAIN} formulas."
            )
        if path in formulas:
            settle(path)
        if path in waiting:
            raise ConfigError(
                f"{place}: a formula names {path}, which waits for a result; write "
                f"'{waiting[path]}' in it instead."
            )
        try:
            return dotted.get(table, path)
        except KeyError as error:
            hint = registry.nearest(path, [p for p, _ in dotted.leaves(table)])
            message = f"{place}: a formula names {path}, which is not set{hint}"
            raise ConfigError(message) from error

    def settle(path: str) -> None:
        open_paths.add(path)
        if source_of(formulas[path]) is None:
            dotted.put(table, path, compute(formulas[path], lookup))
        else:  # has its value when its source has ended; the names in it are checked now
            compute(formulas[path], lookup, lambda _: math.pi)
            waiting[path] = canonical(formulas[path])
            dotted.put(table, path, waiting[path])
        del formulas[path]
        open_paths.discard(path)

    while formulas:
        settle(next(iter(formulas)))
    if "origins" in table:
        raise ConfigError(
            f"{place}: origins are what a plan writes; take a result by a formula, such as "
            "objective.beta = \"= result('l_vae').beta_hat\"."
        )
    return table


def _inner(place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{place} must be a table of settings; got {value!r}.")
    return value


def _seeds(value: Any) -> tuple[int, ...]:
    read = config.seeds(value) if isinstance(value, str) else value
    listed = read if isinstance(read, list) else [read]
    if not listed or any(isinstance(s, bool) or not isinstance(s, int) or s < 0 for s in listed):
        raise ConfigError(f'seeds look like 7, [0, 3, 5] or "0..9"; got {value!r}.')
    return tuple(listed)


def _metrics(value: Any) -> tuple[str, ...] | None:
    if value == "all":
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ConfigError(f'metrics look like ["mig", "dci@study2019"], or "all"; got {value!r}.')
    for name in value:
        metric, mark, protocol = split_part(name)[0].partition("@")
        metric_names([metric])
        if mark:
            check_protocol(protocol)
    return tuple(dict.fromkeys(value))


def baselines(value: Any) -> tuple[str, ...]:
    """The words under ``baseline``, one or a list."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ConfigError(f'baseline looks like "vae" or ["vae", "mig=0.1"]; got {value!r}.')
    return tuple(words)


def _protocol(value: Any) -> str:
    check_protocol(value)
    return str(value)


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{key} must be a text; got {value!r}.")
    return check_name(value, f"The {key}")


def _integer(key: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
        range_text = f"a whole number from {least} on, below 2^63"
        raise ConfigError(f"{key} must be {range_text}; got {value!r}.")
    return value
