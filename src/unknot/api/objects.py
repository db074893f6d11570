"""Objects in place of names: from an instance to the settings that a run writes down."""

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from unknot.core import registry, user_classes
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper
from unknot.core.optim import Optimizer
from unknot.core.registry import Room
from unknot.core.text import shown
from unknot.runs.folder import RunFolder
from unknot.runs.spec import optim_table, plain_value, settings_table

WORDS: dict[Room, str] = {
    "objectives": "objective",
    "nets": "net",
    "samplers": "sampler",
    "datasets": "data",
}
ROOMS: dict[str, Room] = {word: room for room, word in WORDS.items()}


def choice_table(
    room: Room, thing: Any, settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A name with settings, or an object that has them, as a table of plain values.

    Args:
        room: Where names are looked up.
        thing: A name, a table, or an instance of one of our classes or of the user's own.
        settings: For a name; an object has its own.
    """
    word, settings = WORDS[room], settings or {}
    if isinstance(thing, str | Path):
        return {"name": str(thing), **{name: plain_value(v) for name, v in settings.items()}}
    if isinstance(thing, Mapping):
        if "name" not in thing:
            raise ConfigError(f"{word} as a table needs a name; got {shown(thing)}.")
        return {**thing, **settings}
    if isinstance(thing, type):
        raise ConfigError(f"{word} is a class; make an instance of it: {thing.__name__}(...).")
    if not is_dataclass(thing):
        if room == "nets":
            raise ConfigError(
                "net is a name, or an instance of a dataclass with latents, init, encoder(image) "
                f"and decoder(image) that make modules; got {_kinds(thing)}. Modules that are made "
                "already are a pair, net=(encoder, decoder), or a function that makes it."
            )
        methods = user_classes.METHODS[room]
        remedy = f" It needs the method {methods[0]}."
        if all(callable(getattr(thing, method, None)) for method in methods):
            remedy = " Write @dataclass(frozen=True) above the class."
        raise ConfigError(
            f"{word} is a name, or an instance of a dataclass whose fields are its settings; got "
            f"{'None' if thing is None else type(thing).__name__}.{'' if thing is None else remedy}"
        )
    name = registry.name_of(room, type(thing))
    if settings:
        raise ConfigError(
            f"{word} is an object already; give {', '.join(settings)} to it: "
            f"{type(thing).__name__}({next(iter(settings))}=...)."
        )
    table = settings_table(thing)
    try:
        json.dumps(table)
    except TypeError as error:
        raise ConfigError(
            f"Settings of {type(thing).__name__} must be numbers, texts, lists or dataclasses of "
            f"them, so that a file can hold them: {error}."
        ) from error
    return {"name": name, **table}


def _kinds(thing: Any) -> str:
    """What a thing is, or what its parts are."""
    if isinstance(thing, tuple | list) and len(thing) == 2:
        names = [f"the class {t.__name__}" if isinstance(t, type) else type(t).__name__
                 for t in thing]  # fmt: skip
        return f"({', '.join(names)})"
    return type(thing).__name__


def optim_choice(optimizer: str | Optimizer, lr: Hyper | None = None) -> dict[str, Any]:
    """An optimiser by name or as an object, as a table of plain values.

    Args:
        optimizer: ``adamw``, or ``unknot.AdamW(3e-4)``.
        lr: The learning rate, for a name.
    """
    if isinstance(optimizer, str):
        return {"name": optimizer} | ({} if lr is None else {"lr": plain_value(lr)})
    if not isinstance(optimizer, Optimizer):
        raise ConfigError(
            "optimizer is a name such as 'adamw', or settings such as unknot.AdamW(3e-4); "
            f"got {optimizer!r}."
        )
    if lr is not None:
        raise ConfigError("The learning rate is given twice, as lr and inside of optimizer.")
    return optim_table(optimizer)


def is_dataset_settings(thing: Any) -> bool:
    """Whether an object is the settings of a dataset, such as ``data.XYSquares(spacing=4)``."""
    return is_dataclass(thing) and callable(getattr(thing, "load", None))


def give_classes(path: str | Path, **classes: Any) -> None:
    """Let a run folder find the classes of its objective and net.

    Args:
        path: The folder.
        classes: By ``objective`` and ``net``: a class, an instance, or None.
    """
    table: dict[str, Any] | None = None
    for word, thing in classes.items():
        if thing is None:
            continue
        kind = thing if isinstance(thing, type) else type(thing)
        user_classes.check_class(f"{word}s", kind, f"{word}={shown(thing)}")
        table = RunFolder(Path(path)).table() if table is None else table
        name = str(table.get(word, {}).get("name", ""))
        if user_classes.is_user_name(name):
            user_classes.give(kind, name)
