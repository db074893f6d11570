"""From TOML files and ``key=value`` words to a checked TrainSpec."""

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from unknot.core import dotted, registry, user_classes
from unknot.core.border import MOST_DIGITS, as_path, check_name
from unknot.core.dataset import FileSettings
from unknot.core.errors import ConfigError
from unknot.core.objective import sampler_of
from unknot.core.optim import OPTIMIZERS, Optimizer
from unknot.core.text import shown
from unknot.core.toml import parse_value
from unknot.data.parts.entry import entry_for
from unknot.data.parts.number_file import NumberFile
from unknot.losses.likelihood import is_of_counts
from unknot.runs import features
from unknot.runs.fields import RENAMED, build, checked_fields, field_types
from unknot.runs.spec import FORMAT, Choice, TrainSpec, settings_table
from unknot.runs.stopping import Stop

Progress: TypeAlias = Callable[[int, int], None]
DEFAULTS = {"data": "dsprites", "net": "conv64", "objective": "beta_vae"}
ROOMS: dict[str, registry.Room] = {"data": "datasets", "net": "nets", "objective": "objectives"}
MOST_SEEDS = 100_000


def assign(table: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """A copy of a table with ``a.b=value`` words applied, as `dotted.put` does.

    Values are TOML; bare words are strings.

    Example:
        >>> assign({"steps": 5}, ["objective.beta=4", "data.name=dsprites"])
        {'steps': 5, 'objective': {'beta': 4}, 'data': {'name': 'dsprites'}}
    """
    result = copy.deepcopy(dict(table))
    given: set[str] = set()
    for word in words:
        path, equals, text = (part.strip() for part in word.partition("="))
        if not equals or not all(path.split(".")):
            raise ConfigError(f"Expected key=value such as objective.beta=4; got '{word}'.")
        check_name(path, "A key")
        check_once(path, given)
        dotted.put(result, path, parse_value(text, path))
    return result


def check_once(path: str, given: set[str]) -> None:
    """Refuse a setting that was given before, and add it to those that were.

    Example:
        >>> check_once("objective.name", {"objective"})
        Traceback (most recent call last):
        ...
        unknot.core.errors.ConfigError: objective is given twice; leave one of them out.
    """
    path = path.removesuffix(".name")
    if path in given:
        raise ConfigError(f"{shown(path)} is given twice; leave one of them out.")
    given.add(path)


def seeds(text: str) -> int | list[int]:
    """Seeds as people type them: ``7``, ``0,3,5``, ``0..9`` (both ends count).

    Example:
        >>> seeds("7"), seeds("0..3,9")
        (7, [0, 1, 2, 3, 9])
    """
    if re.search(f"[0-9]{{{MOST_DIGITS}}}", text):
        raise ConfigError(f"Seeds are whole numbers from 0 to 2**63 - 1; got {MOST_DIGITS} digits.")
    if text.strip().isascii() and text.strip().isdigit():
        return int(text)
    listed: list[int] = []
    for part in text.split(","):
        if not (match := re.fullmatch(r"\s*([0-9]+)(?:\.\.([0-9]+))?\s*", part)):
            raise ConfigError(f"Seeds look like 7, 0,3,5 or 0..9; got '{text}'.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ConfigError(f"Seeds run upwards, as in {last}..{first}; got {part.strip()}.")
        if last - first > MOST_SEEDS:
            raise ConfigError(f"Seeds {part.strip()} are more than {MOST_SEEDS:,}; use fewer.")
        listed += range(first, last + 1)
    return listed


def spec(
    table: Mapping[str, Any],
    built: dict[str, Any] | None = None,
    *,
    on_progress: Progress = lambda *_: None,
) -> TrainSpec:
    """A checked TrainSpec from nested plain values.

    Args:
        table: The values.
        built: Keeps what its inner tables gave, for whoever comes with the same ones again: the
            settings of a study share most of theirs.
        on_progress: Told how many of the user's own images are read, and of how many.
    """
    table = dict(table)
    if (version := table.pop("version", None)) is not None:
        if version != 1 or isinstance(version, bool):
            raise ConfigError(
                f"version must be the number 1, of old files; got {version!r}. Settings of this "
                f"release have format = {FORMAT} instead."
            )
        table = from_format_1(table)
    if (number := table.pop("format", FORMAT)) != FORMAT:
        raise ConfigError(f"The settings have format {number}; this release reads {FORMAT}.")
    if isinstance(listed := table.get("seeds"), list):  # a union, so not read by its type
        table["seeds"] = tuple(listed)
    built = {} if built is None else built
    for name in (*ROOMS, "optim"):
        if name == "net":
            table = _suit(table, table["data"].settings)
        value = table.get(name, {})
        key = f"{name} {value!r}"
        if key not in built:
            built[key] = (
                _choice(name, ROOMS[name], value, on_progress) if name in ROOMS else _optim(value)
            )
        table[name] = built[key]
    if isinstance(split := table.get("split"), str):
        table["split"] = {"kind": split}
    if "stop" in table and not isinstance(table["stop"], Stop):
        table["stop"] = build(Stop, _table("stop", table["stop"]), "stop")
    if isinstance(steps := table.get("score_at"), int):
        table["score_at"] = [steps]
    if isinstance(tracker := table.get("track"), str):
        table["track"] = [tracker]
    if "sampler" in table:
        table["sampler"] = _sampler(table["sampler"], table["objective"].settings)
    return TrainSpec.create(**checked_fields(TrainSpec, table))


def data(value: Any, on_progress: Progress = lambda *_: None) -> Choice:
    """A dataset by its name or path and its settings, with what its files decide written down.

    Args:
        value: A name, a path, or a table with one of them as its ``name``.
        on_progress: Told how many images are read, and of how many.
    """
    return _choice("data", ROOMS["data"], value, on_progress)


def from_format_1(table: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of format 1 under the names that they have now.

    Example:
        >>> from_format_1({"steps": 5, "draw": {"name": "pairs", "sampler": "exact"}})
        {'steps': 5, 'sampler': {'name': 'pairs', 'rule': 'exact'}}
    """
    return {
        RENAMED.get(name, name): from_format_1(value) if isinstance(value, dict) else value
        for name, value in table.items()
    }


def _optim(value: Any) -> Optimizer:
    inner = dict(_table("optim", value))
    name = inner.pop("name", "adam")
    if not isinstance(name, str) or name not in OPTIMIZERS:
        raise ConfigError(
            f"There is no optimiser {name!r}{registry.nearest(str(name), [*OPTIMIZERS])}"
        )
    return build(OPTIMIZERS[name], inner, "optim")


def _choice(
    name: str, room: registry.Room, value: Any, on_progress: Progress = lambda *_: None
) -> Choice:
    inner = dict(_table(name, value))
    choice = inner.pop("name", DEFAULTS[name])
    if not isinstance(choice, str):
        raise ConfigError(f"{name}.name must be the name of one of the {room}; got {choice!r}.")
    if name == "data":
        if choice not in registry.names(room) and (entry := entry_for(choice)):
            choice, inner = entry, {"path": choice, **inner}
        if isinstance(path := inner.get("path"), str):
            as_path("data.path", path)
            # A run must find its file from wherever it is opened.
            inner["path"] = str(Path(path).expanduser().absolute())
        labels = inner.get("labels")
        if labels == "":
            raise ConfigError("data.labels is an empty text; name a CSV file or labels.")
        if isinstance(labels, str) and (file := Path(labels).expanduser()).is_file():
            inner["labels"] = str(file.absolute())
    kind = registry.get(room, choice)
    if name == "data" and "labels" in inner and "labels" not in field_types(kind)[1]:
        raise ConfigError(f"Labels are for your own images; {choice} has factors of its own.")
    source = _source(kind, choice, inner)
    if name == "objective":
        inner = features.pin(inner)
    settings = build(kind, _preset(room, choice, inner), name)
    if isinstance(settings, FileSettings):
        settings = settings.pin(on_progress)
    return Choice(choice, settings, source)


def _source(kind: type, name: str, inner: dict[str, Any]) -> str | None:
    """The hash of the source of a user's own class, if it is the one that a file means."""
    if not user_classes.is_user_name(name):
        return None
    source, wish = user_classes.source_hash(kind), inner.pop("source", None)
    if wish is not None and source != wish:
        raise ConfigError(
            f"{name} was changed after the run was trained, so that it would be another run. "
            "Put the class back as it was, or train again."
        )
    return source


def net_for(shape: tuple[int, int, int]) -> str:
    """`conv64` for its size, `conv` or `conv1d` for others that they take, `mlp` for all else."""
    _, h, w = shape
    if h == w == 64:
        return "conv64"
    sides = registry.get("nets", "conv").sides
    if h in sides and w in sides:
        return "conv"
    return "conv1d" if h == 1 and w in registry.get("nets", "conv1d").sides[1] else "mlp"


def _suit(table: dict[str, Any], data: Any) -> dict[str, Any]:
    """Settings with a net and a likelihood that suit the user's own data, unless they are named.

    What a run of any other dataset leaves open stays what it always was, but for a net where its
    images are too small or large for the usual one.
    """
    if not isinstance(data, FileSettings):
        image = getattr(data, "image", None)
        if image is None or net_for(image) == DEFAULTS["net"]:
            return table
        return {**table, "net": {"name": net_for(image), **_table("net", table.get("net", {}))}}
    if data.shape is None:
        return table
    net, objective = (
        dict(_table("net", table.get("net", {}))),
        _table("objective", table.get("objective", {})),
    )
    net.setdefault("name", net_for(data.shape))
    kind = registry.get("objectives", objective.get("name", DEFAULTS["objective"]))
    if data.unbounded and "likelihood" in field_types(kind)[1]:
        objective = {"likelihood": "gaussian", **objective}
    if is_of_counts(objective.get("likelihood")) and isinstance(data, NumberFile):
        table["data"] = replace(table["data"], settings=data.change(standardize=False))
    return {**table, "net": net, "objective": objective}


def _sampler(table: Any, objective: Any) -> Choice:
    """A sampler by name; the objective's unless it is named."""
    inner = dict(_table("sampler", table))
    choice = inner.pop("name", sampler_of(objective))
    if not isinstance(choice, str):
        raise ConfigError(f"sampler.name must be the name of a sampler; got {choice!r}.")
    kind = registry.get("samplers", choice)
    source = _source(kind, choice, inner)
    return Choice(choice, build(kind, inner, "sampler"), source)


def _preset(room: registry.Room, choice: str, inner: dict[str, Any]) -> dict[str, Any]:
    """Settings over those of the preset that they name, if they do."""
    if (preset := inner.pop("preset", None)) is None:
        return inner
    presets = registry.presets(room, choice)
    if not isinstance(preset, str) or preset not in presets:
        hint = registry.nearest(str(preset), [*presets]) if presets else "; it has none."
        raise ConfigError(f"{choice} has no preset {preset!r}{hint}")
    return {**settings_table(presets[preset]), **inner}


def _table(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        raise ConfigError(f"{name} must be a table or a name; got {value!r}.")
    return value
