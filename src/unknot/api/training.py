"""Train a model, or one for each seed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias

import torch

from unknot.api.arguments import check_arguments, device_name, seed_list, share_settings
from unknot.api.objects import choice_table, is_dataset_settings, optim_choice
from unknot.api.own_net import (
    holds_modules,
    question_logits,
    question_start,
    try_modules,
)
from unknot.api.progress import Count, bar, reading_bar, say
from unknot.api.run import Run
from unknot.core import registry
from unknot.core.border import check_names
from unknot.core.dataset import FactorDataset, FileSettings
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper
from unknot.core.optim import Optimizer
from unknot.data.memory import Memory
from unknot.data.parts.published_images import decode_files
from unknot.engine.device import Precision
from unknot.runs import config, verbs
from unknot.runs.own_data import as_dataset
from unknot.runs.spec import plain_value
from unknot.runs.training import Training, Watcher

Callback: TypeAlias = Callable[[Run, Mapping[str, Any]], bool | None]
"""Sees the run so far and what was logged; True stops the training."""


def train(
    data: Any = "dsprites",
    objective: Any = "beta_vae",
    net: Any = None,
    *,
    steps: int = 20_000,
    batch: int = 64,
    lr: Hyper | None = None,
    optimizer: str | Optimizer = "adam",
    ema: float | None = None,
    seeds: int | Iterable[SupportsIndex] = 0,
    order_seed: int | None = None,
    sampler: Any = None,
    split: Any = None,
    device: str | torch.device = "auto",
    precision: Precision = "float32",
    out: str | Path | None = None,
    log_every: int = 100,
    checkpoint_every: int = 1_000,
    validate_every: int | None = None,
    stop: Any = None,
    keep: str | None = None,
    score_at: Sequence[int] = (),
    score_every: int | None = None,
    track: Sequence[str] = (),
    data_settings: Mapping[str, Any] | None = None,
    net_settings: Mapping[str, Any] | None = None,
    objective_settings: Mapping[str, Any] | None = None,
    watch: Watcher = lambda _: None,
    callback: Callback | None = None,
    progress: bool = True,
    **settings: Any,
) -> Run:
    """Train one model, or one for each seed side by side.

    Ctrl-C, or the stop button of a notebook, returns the run so far; ``run.resume()`` continues it.

    Args:
        data: A dataset by name, or your own: whatever `dataset` takes.
        objective: An objective by name, or an object: one of `unknot.objectives`, or an instance
            of a class of your own.
        net: An architecture by name or as an object, likewise; when None ``conv64``, or one that
            fits the data. Or modules of PyTorch, ``(encoder, decoder)``, or an object that has
            both: the encoder gives ``(mean, logvar)`` or ``[n, 2 z]``, the decoder logits. Copies
            of them are trained. A function that makes the pair gives each seed its own weights.
        steps: Training steps.
        batch: Images per step and member.
        lr: Learning rate, a number or a schedule; the optimiser's own when None, 1e-4 for Adam.
        optimizer: ``adam``, ``adamw``, ``rmsprop``, ``adagrad`` or ``sgd``; or one with settings,
            ``unknot.AdamW(3e-4, weight_decay=0.01)``.
        ema: Keep a moving average of the weights, of which this share stays at each step, such as
            0.999; codes and pictures are those of the average.
        seeds: A number for a lone run; several for a population, whose results come members first.
        order_seed: A number makes all members see the same batches; else each has its own.
        sampler: Which images form a pair or triplet: ``pairs``, or
            ``{"name": "pairs", "changed": 2}``, or an object; that of the objective when None.
        split: Rows to hold out: ``rows`` (10 % for validation, 10 % for testing), or
            ``{"kind": "combinations", "factors": ["shape", "x"], "test": 0.2}``.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        precision: ``float32``, ``tf32``, ``bf16`` or ``float64``.
        out: A folder to write the run into, resumable; None keeps it in memory.
        log_every: Steps between two rows of the curves.
        checkpoint_every: Steps between two checkpoints.
        validate_every: Steps between two looks at the validation part of the split.
        stop: Stop early by a logged value, ``"validation.loss"``, or with a patience,
            ``{"metric": "validation.loss", "patience": 10}``; or by a metric that is scored every
            ``score_every`` steps, ``"mig"``.
        keep: Keep the weights of the ``best`` step as well, or of the best step by a logged value,
            such as ``validation.recon``, or by a metric.
        score_at: Steps whose weights are kept, to be scored like those of the last.
        score_every: The same for each multiple of so many steps.
        track: Trackers that follow the training while it runs: ``["tensorboard"]``, into ``out``.
        data_settings: The dataset's own settings.
        net_settings: The net's own settings, such as ``{"latents": 6}``.
        objective_settings: The objective's own settings, also those that are called as something
            above is: ``{"steps": 8}`` of `flow_vae`, ``{"precision": "sum"}`` of `ada_mlvae`.
        watch: Called after every few steps with the progress.
        callback: Called at log and validation steps as ``callback(run, logs)``: the run so far,
            which encodes, decodes and scores, and what was logged, by name. True stops training.
        progress: Show a bar, in a terminal or a notebook.
        settings: The objective's own settings, such as ``beta=4``; ``preset`` names a set of them.
            What it has not may be a setting of the net, such as ``latents=6``.

    Raises:
        UnknotError: A setting does not make sense; the message says which and what to do.

    Example: `run = unknot.train("dsprites", "beta_vae", beta=4, steps=20_000)`
    """
    device = device_name(device)
    check_arguments(
        out=out,
        score_at=score_at,
        functions={"watch": watch, "callback": callback},
        tables={
            "data_settings": data_settings,
            "net_settings": net_settings,
            "objective_settings": objective_settings,
        },
        progress=progress,
    )
    name = choice_table("objectives", objective)["name"]
    its_fields = ["preset", *(f.name for f in fields(registry.get("objectives", name)))]
    own_settings, net_settings = share_settings(
        settings, name, its_fields, net, objective_settings, net_settings
    )
    with reading_bar(show=progress) as count:
        loaded, data_table = _data(data, data_settings or {}, count)
    seed_numbers, decoded = seed_list(seeds), None
    if holds_modules(net):
        if net_settings:
            raise ConfigError(f"net is modules already, which have no {next(iter(net_settings))}.")
        loaded = config.data(data_table).settings.load() if loaded is None else loaded
        question_start(net, several=isinstance(seed_numbers, list))
        net_table, decoded = try_modules(net, loaded)
    elif net is None:
        net_table = net_settings
    else:
        net_table = choice_table("nets", net, net_settings)
    table: dict[str, Any] = {
        "data": data_table,
        "net": net_table,
        "objective": choice_table("objectives", objective, own_settings),
        "optim": optim_choice(optimizer, lr),
        "steps": steps,
        "batch": batch,
        "seeds": seed_numbers,
        "precision": precision,
        "log_every": log_every,
        "checkpoint_every": checkpoint_every,
    }
    options = {
        "ema": ema,
        "validate_every": validate_every,
        "keep": keep,
        "score_every": score_every,
        "order_seed": order_seed,
        "stop": {"metric": stop} if isinstance(stop, str) else plain_value(stop),
        "sampler": None if sampler is None else choice_table("samplers", sampler),
        "split": plain_value(split),
        "score_at": [*score_at] or None,
        "track": None
        if track is None or (isinstance(track, list | tuple) and not track)
        else check_names("track", track),
    }
    table |= {name: value for name, value in options.items() if value is not None}
    try:
        with reading_bar(show=progress) as count:
            spec = config.spec(table, on_progress=count)
            decode_files(spec.data.settings, count)
    except ConfigError as error:
        word = str(error).partition(" ")[0]
        if word in table and word in its_fields:
            raise ConfigError(
                f"{error} If you mean the setting of {name}, use "
                f"objective_settings={{'{word}': ...}}."
            ) from error
        raise
    if decoded is not None:
        question_logits(decoded, spec.objective.settings)
    with bar(spec.updates, show=progress, watch=watch) as move:
        see = None if callback is None else _with_verbs(callback)
        trained = verbs.train(
            spec,
            out=out,
            device=device,
            watch=move,
            on_start=_say_data if progress else lambda _: None,
            data=loaded,
            callback=see,
        )
    return Run.wrap(trained, say=progress)


def _say_data(training: Training) -> None:
    """What was decided about images or a table of the user's own."""
    if isinstance(training.specs[0].data.settings, FileSettings | Memory):
        say(training.context.dataset.summary)


def _with_verbs(callback: Callback) -> verbs.Callback:
    """A callback that sees a run with all its verbs."""
    return lambda trained, logs: callback(Run.wrap(trained), logs)


def _data(
    data: Any, settings: Mapping[str, Any], on_progress: Count
) -> tuple[FactorDataset | None, dict[str, Any]]:
    """A dataset that is loaded already, if it is, and what the run writes down of it."""
    if isinstance(data, str | Path) or is_dataset_settings(data):
        return None, choice_table("datasets", data, settings)
    loaded = as_dataset(data, settings, on_progress)
    return loaded, loaded.origin.table()
