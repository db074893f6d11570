"""Train a model, resume its training, and load it again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias

import torch

from unknot.api.arguments import check_arguments, device_name, seed_list, share_settings
from unknot.api.objects import choice_table, give_classes, is_dataset_settings, optim_choice
from unknot.api.own_net import (
    give_modules,
    holds_modules,
    question_logits,
    question_start,
    try_modules,
)
from unknot.api.progress import Count, bar, reading_bar, say
from unknot.api.run import Run
from unknot.api.study import Study
from unknot.core import registry
from unknot.core.border import as_path, check_names
from unknot.core.dataset import FactorDataset, FileSettings
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper
from unknot.core.optim import Optimizer
from unknot.data.memory import Memory
from unknot.data.parts.published_images import decode_files
from unknot.engine.device import Precision
from unknot.runs import config, verbs
from unknot.runs.folder import RunFolder
from unknot.runs.own_data import as_dataset
from unknot.runs.spec import plain_value
from unknot.runs.training import Training, Watcher
from unknot.studies.archive import reading

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
        net: An architecture by name or as an object, likewise; ``conv64`` when None, or one that
            fits your own data. Or modules of PyTorch, ``(encoder, decoder)``, or an object that has
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
        "track": check_names("track", track) if track or isinstance(track, str | int) else None,
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


def resume(
    path: str | Path,
    *,
    device: str | torch.device = "auto",
    data: Any = None,
    objective: Any = None,
    net: Any = None,
    watch: Watcher = lambda _: None,
    progress: bool = True,
) -> Run:
    """Resume a run from its last checkpoint; from the start when it has none.

    Of a finished run, damaged weights and curves are written again, from the same checkpoint.

    Args:
        path: The run folder.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        data: The images, if they were given in Python or have moved, as in `load`.
        objective: The class of the objective, if it is your own and its module is not imported.
        net: The class of the net, likewise; or the modules that it was trained with.
        watch: Called after every few steps with the progress.
        progress: Show a bar, in a terminal or a notebook.

    Raises:
        StoreError: There is no run, or its checkpoints cannot be read.

    Example: `run = unknot.resume("runs/first")`
    """
    _give(path, objective, net)
    with bar(None, show=progress, watch=watch) as move:
        trained = verbs.resume(path, device=device_name(device), data=data, watch=move)
    return Run.wrap(trained, say=progress)


def load(
    path: str | Path,
    *,
    device: str | torch.device = "auto",
    data: Any = None,
    step: int | str | None = None,
    objective: Any = None,
    net: Any = None,
) -> Any:
    """Read a finished run or a study, from its folder, an archive (``study.zip``) or the hub.

    A study gives a `Study`, all else a `Run`. An archive is unpacked into a folder
    that goes when the process ends; each file is compared with its checksum. Data that the settings
    name by a path is looked for in the folder that one is in.

    ``hub:user/name`` and ``hub:user/name@REVISION`` are models on the Hugging Face hub, or in its
    cache: text and safetensors are fetched and nothing else. The commit is in the run's record.

    A run whose data is not there is of use all the same: it encodes and decodes, but has no rows.

    Args:
        path: The folder of a run or a study, the zip file of `unknot archive`, or a model on the
            hub, ``hub:user/name``.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        data: The images, if they were given in Python: the same object, or the dataset made of
            it. Or a path, if the files have moved.
        step: The weights of this step, or ``best``, where they were kept; those of the last step
            when None.
        objective: The class of the objective, if it is your own and its module is not imported:
            no folder causes an import.
        net: The class of the net, likewise; or the modules that it was trained with.

    Raises:
        DataError: The images are not those of the run.
        StoreError: There is no finished run, or its files are damaged.

    Example: `codes = unknot.load("runs/first").encode(images)`
    """
    if isinstance(path, str) and path.startswith("hub:"):
        path = _fetch(path)
    if reading.is_archive(path := as_path("path", path)):
        path = reading.unpack(path)
    if (path / "study.db").exists():
        if any(given is not None for given in (step, objective)):
            raise ConfigError("A study takes no step or objective.")
        return Study.open(path, data=data, net=net)
    _give(path, objective, net)
    return Run.wrap(verbs.load(path, device=device_name(device), data=data, step=step))


def _fetch(address: str) -> Path:
    """The folder of a run from the hub."""
    from unknot.sharing import hub

    fetched = hub.fetch(address)
    say(f"{fetched.name}, revision {fetched.revision}, weights SHA-256 {fetched.sha256}")
    return fetched.path


def _give(path: str | Path, objective: Any, net: Any) -> None:
    """Let a run folder find the classes and modules that it was trained with."""
    if holds_modules(net):
        its = RunFolder(Path(path)).table().get("net", {})
        give_modules(net, [its.get("structure")], "run")
        net = None
    give_classes(path, objective=objective, net=net)


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
