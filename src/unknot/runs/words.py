"""Settings as words of a command: ``objective=beta_vae beta=4 steps=20000``."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from unknot.core import dotted, registry
from unknot.core.border import check_name
from unknot.core.errors import ConfigError
from unknot.core.optim import OPTIMIZERS
from unknot.data.parts.entry import entry_for
from unknot.runs import config
from unknot.runs.spec import TrainSpec

TABLES = (*dotted.NAMED, "split", "stop")
"""Settings that have settings of their own."""


def apply(table: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """A copy of a table with words such as ``beta=4`` applied.

    A setting of the chosen objective, net, dataset or optimiser may go by its last name, if no
    other has the same.

    Example:
        >>> apply({}, ["beta=2", "objective=beta_vae", "lr=0.001"])
        {'objective': {'name': 'beta_vae', 'beta': 2}, 'optim': {'lr': 0.001}}
    """
    paths = [word for word in words if "=" not in word or is_whole(_path(word))]
    short = [word for word in words if word not in paths]
    result = config.assign(table, paths)
    if any(_path(word) == "seeds" for word in paths) and isinstance(result["seeds"], str):
        result["seeds"] = config.seeds(result["seeds"])
    given = {_path(word).removesuffix(".name") for word in paths}
    for word in short:
        path, _, value = word.partition("=")
        check_name(path.strip(), "A key")
        whole = complete(result, path.strip())
        config.check_once(whole, given)
        result = config.assign(result, [f"{whole}={value}"])
    return result


def complete(table: Mapping[str, Any], name: str) -> str:
    """The whole path of a setting from its last name.

    Args:
        table: Says which objective, net, dataset and optimiser are meant.
        name: Such as ``beta``.

    Raises:
        ConfigError: There is no such setting, or there are several.

    Example:
        >>> complete({"objective": "beta_vae"}, "beta"), complete({}, "latents")
        ('objective.beta', 'net.latents')
    """
    paths = [path for path in known_paths(table) if path.endswith(f".{name}")]
    if len(paths) > 1:
        raise ConfigError(f"'{name}' could be {' or '.join(sorted(paths))}; write which.")
    if paths:
        return paths[0]
    tops = [f.name for f in fields(TrainSpec)]
    last = [path.rpartition(".")[2] for path in known_paths(table)]
    raise ConfigError(f"Unknown key '{name}'{registry.nearest(name, [*tops, *last])}")


def known_paths(table: Mapping[str, Any]) -> list[str]:
    """Paths of all settings of what a table chooses."""
    paths = ["objective.preset"]
    for word, room in config.ROOMS.items():
        name = chosen_name(table, word) or config.DEFAULTS[word]
        if word == "data" and name not in registry.names(room):
            name = entry_for(name) or name
        paths += [f"{word}.{setting}" for setting in registry.settings(room, name)]
    optimizer = OPTIMIZERS.get(chosen_name(table, "optim") or "adam")
    paths += [f"optim.{f.name}" for f in fields(optimizer)] if optimizer else []
    if sampler := chosen_name(table, "sampler"):
        paths += [f"sampler.{setting}" for setting in registry.settings("samplers", sampler)]
    return paths


def chosen_name(table: Mapping[str, Any], word: str) -> str | None:
    """The name of the objective, net or other thing that a table chooses, if it names one.

    Example:
        >>> chosen_name({"net": "conv", "data": {"size": 64}}, "net")
        'conv'
    """
    value = table.get(word)
    name = value.get("name") if isinstance(value, Mapping) else value
    return name if isinstance(name, str) else None


def is_whole(path: str) -> bool:
    """Whether a path needs no completion.

    Example:
        >>> is_whole("objective.beta"), is_whole("steps"), is_whole("beta")
        (True, True, False)
    """
    tops = {f.name for f in fields(TrainSpec)}
    return not path or "." in path or path in {*tops, *TABLES, "format", "version"}


def _path(word: str) -> str:
    return word.partition("=")[0].strip()
