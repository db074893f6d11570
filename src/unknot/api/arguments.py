"""Arguments of the first functions that a script calls: their types, looked at before anything."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from inspect import signature
from itertools import islice
from operator import index
from typing import Any, SupportsIndex

import torch

from unknot.core import registry
from unknot.core.border import as_path, check_type
from unknot.core.errors import ConfigError
from unknot.core.optim import OPTIMIZERS
from unknot.core.text import shown
from unknot.runs.config import DEFAULTS, MOST_SEEDS
from unknot.runs.spec import TrainSpec

SETTINGS = {"data_settings": "data", "net_settings": "net", "objective_settings": "objective"}
"""Arguments that are tables of settings, and where the name of the thing belongs."""
SLIP = 0.85
"""How alike a word and a setting are of which it is a slip, such as seed and seeds."""
OTHER_WORDS = {
    **dict.fromkeys(("learning_rate", "optim_lr"), "lr"),
    **dict.fromkeys(("epochs", "iterations", "max_steps", "num_steps", "n_steps"), "steps"),
    **dict.fromkeys(("latent_dim", "z_dim", "n_latents", "num_latents"), "latents"),
    **dict.fromkeys(("random_state", "random_seed"), "seeds"),
    **dict.fromkeys(("callbacks", "on_step"), "callback"),
    **dict.fromkeys(("verbose", "progress_bar", "quiet"), "progress"),
    **dict.fromkeys(("dataset", "images", "x", "X"), "data"),
    **dict.fromkeys(("model", "architecture", "network"), "net"),
    **dict.fromkeys(("optim", "opt"), "optimizer"),
    **dict.fromkeys(("path", "folder", "save_to", "out_dir"), "out"),
    **dict.fromkeys(("early_stopping", "patience"), "stop"),
}
"""What other libraries call our arguments."""
PLACES: dict[registry.Room, str] = {"nets": "net_settings", "datasets": "data_settings"}
"""Arguments that hold settings by their own names; those of the objective are keywords."""


def check_arguments(
    *,
    out: Any,
    score_at: Any,
    functions: Mapping[str, Any],
    tables: Mapping[str, Any],
    progress: Any,
) -> None:
    """Refuse arguments of `unknot.train` of a wrong type.

    Args:
        out: A path, or None.
        score_at: Steps.
        functions: What is called, by name; None for nothing.
        tables: Settings by the name of their argument; None for none.
        progress: True or False.

    Raises:
        ConfigError: One has another type; the message has its name.
    """
    if out is not None:
        as_path("out", out)
    check_type("score_at", score_at, Sequence)
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise ConfigError(f"{name} must be a function; got {shown(function)}.")
    check_callback(functions.get("callback"))
    check_type("progress", progress, bool)
    for name, table in tables.items():
        check_type(name, table, Mapping, type(None))
        if "name" in (table or {}):
            raise ConfigError(f"{name} has a name among its settings; use {SETTINGS[name]}='...'.")


def check_callback(callback: Any) -> None:
    """Refuse a callback that cannot be called with a run and what was logged."""
    if callback is None:
        return
    try:
        parameters = signature(callback)
    except (TypeError, ValueError):  # some of those written in C have none
        return
    try:
        parameters.bind(None, {})
    except TypeError as error:
        raise ConfigError(
            f"callback is called as callback(run, logs); {shown(callback)} does not take these: "
            f"{error}."
        ) from error


def device_name(device: Any) -> str:
    """The name of a device, which may be one of PyTorch.

    Example:
        >>> device_name(torch.device("cpu"))
        'cpu'
    """
    check_type("device", device, str, torch.device)
    return str(device)


def share_settings(
    settings: Mapping[str, Any],
    objective: str,
    its_fields: Sequence[str],
    net: Any,
    objective_settings: Mapping[str, Any] | None,
    net_settings: Mapping[str, Any] | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keywords of `unknot.train` as settings of the objective and, where it has none, of the net.

    Args:
        settings: The keywords.
        objective: The name of the objective.
        its_fields: Names of its settings.
        net: A net by name, or anything else.
        objective_settings: Settings that are known to be the objective's.
        net_settings: Settings that are known to be the net's.

    Raises:
        ConfigError: Neither has such a setting, or one is given twice.
    """
    shares = {
        "objective_settings": dict(objective_settings or {}),
        "net_settings": dict(net_settings or {}),
    }
    name = net if isinstance(net, str) else DEFAULTS["net"]
    net_fields = registry.settings("nets", name) if net is None or isinstance(net, str) else {}
    for setting, value in settings.items():
        if setting.partition(".")[0] == "optim":
            raise ConfigError(
                f"'{setting}' is a setting of files; use lr=..., or optimizer=unknot.Adam(...)."
            )
        if setting not in its_fields and setting not in net_fields:
            if word := OTHER_WORDS.get(setting):
                raise ConfigError(f"train has no setting '{setting}'; it is called '{word}' here.")
            words = [*its_fields, *net_fields, *(f.name for f in fields(TrainSpec))]
            words += ["lr", "optimizer", "device", "out", "callback", "progress"]
            words = [word for word in dict.fromkeys(words) if word not in ("origins", "optim")]
            if not get_close_matches(setting, words, cutoff=SLIP):
                _check_place(setting)
            hint = registry.nearest(setting, words)
            raise ConfigError(f"train and {objective} have no setting '{setting}'{hint}")
        place = "objective_settings" if setting in its_fields else "net_settings"
        if setting in shares[place]:
            raise ConfigError(f"'{setting}' is given twice, as a keyword and in {place}.")
        shares[place][setting] = value
    return shares["objective_settings"], shares["net_settings"]


def _check_place(setting: str) -> None:
    """Say where a setting of nets, of datasets or of optimisers is given."""
    for room, argument in PLACES.items():
        if any(setting in registry.settings(room, name) for name in registry.names(room)):
            raise ConfigError(
                f"'{setting}' is a setting of {room}; use {argument}={{'{setting}': ...}}."
            )
    for kind in OPTIMIZERS.values():
        if setting in {f.name for f in fields(kind)}:
            raise ConfigError(
                f"'{setting}' is a setting of optimisers; use "
                f"optimizer=unknot.{kind.__name__}({setting}=...)."
            )


def seed_list(seeds: Any) -> int | list[int]:
    """Seeds of any type of whole numbers, NumPy's among them.

    Example:
        >>> seed_list(7), seed_list(range(3))
        (7, [0, 1, 2])
    """
    wrong = (
        f"seeds must be a whole number or several; got {shown(seeds)}, of the type "
        f"{type(seeds).__name__}."
    )
    if isinstance(seeds, bool | str | bytes | Mapping):
        raise ConfigError(wrong)
    if getattr(seeds, "ndim", 0) == 0 and isinstance(seeds, SupportsIndex):
        return index(seeds)
    try:
        listed = [index(seed) for seed in islice(seeds, MOST_SEEDS + 1)]
    except TypeError as error:
        raise ConfigError(wrong) from error
    if len(listed) > MOST_SEEDS:
        raise ConfigError(f"seeds are more than {MOST_SEEDS:,}; use fewer.")
    return listed
