"""The two functions that a first script uses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, SupportsIndex

from unknot.core import registry
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper
from unknot.core.optim import Optimizer
from unknot.engine.device import Precision
from unknot.runs import config, run
from unknot.runs.own_data import as_dataset
from unknot.runs.run import Callback, Run
from unknot.runs.spec import optim_table, plain_value
from unknot.runs.training import Watcher


def dataset(source: Any, **settings: Any) -> FactorDataset:
    """A dataset by name, or of your own images.

    It is a ``torch.utils.data.Dataset``; ``summary`` says in a line what was read.

    Args:
        source: A name as in ``unknot list datasets``; the path of a folder of pictures, or of an
            npy, npz, HDF5 or Parquet file; an array or tensor of images; a dataset of PyTorch or
            Hugging Face; or a `FactorDataset`.
        settings: Its own settings, as in ``unknot data show NAME``. For images these are ``size``,
            ``crop``, ``channels``, ``standardize`` and ``limit``; of objects also ``name``.

    Raises:
        ConfigError: There is no such dataset or setting.
        DataError: Images cannot be read.

    Example:
        >>> ds = dataset("xysquares", spacing=4)
        >>> ds.space.sizes
        (8, 8, 8, 8, 8, 8)
    """
    return as_dataset(source, settings)


def train(
    data: Any = "dsprites",
    objective: str = "beta_vae",
    net: str | None = None,
    *,
    steps: int = 20_000,
    batch: int = 64,
    lr: Hyper | None = None,
    optimizer: str | Optimizer = "adam",
    ema: float | None = None,
    seeds: int | Iterable[SupportsIndex] = 0,
    order_seed: int | None = None,
    sampler: str | Mapping[str, Any] | None = None,
    split: str | Mapping[str, Any] | None = None,
    device: str = "auto",
    precision: Precision = "float32",
    out: str | Path | None = None,
    log_every: int = 100,
    checkpoint_every: int = 1_000,
    validate_every: int | None = None,
    stop: Mapping[str, Any] | None = None,
    keep: str | None = None,
    score_at: Sequence[int] = (),
    score_every: int | None = None,
    data_settings: Mapping[str, Any] | None = None,
    net_settings: Mapping[str, Any] | None = None,
    objective_settings: Mapping[str, Any] | None = None,
    watch: Watcher = lambda _: None,
    callback: Callback | None = None,
    **settings: Any,
) -> Run:
    """Train one model, or one for each seed side by side.

    Args:
        data: A dataset by name, or your own: whatever `dataset` takes.
        objective: An objective by name.
        net: An architecture by name; ``conv64`` when None, or one that fits your own data.
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
            ``{"name": "pairs", "changed": 2}``; the sampler of the objective when None.
        split: Rows to hold out: ``rows`` (10 % for validation, 10 % for testing), or
            ``{"kind": "combinations", "factors": ["shape", "x"], "test": 0.2}``.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        precision: ``float32``, ``tf32``, ``bf16`` or ``float64``.
        out: A folder to write the run into, resumable; None keeps it in memory.
        log_every: Steps between two rows of the curves.
        checkpoint_every: Steps between two checkpoints.
        validate_every: Steps between two looks at the validation part of the split.
        stop: Stop early, ``{"metric": "validation.loss", "patience": 10}``.
        keep: Keep the weights of the ``best`` step as well, or of the best step by a logged value,
            such as ``validation.recon``.
        score_at: Steps whose weights are kept, to be scored like those of the last.
        score_every: The same for each multiple of so many steps.
        data_settings: The dataset's own settings.
        net_settings: The net's own settings, such as ``{"latents": 6}``.
        objective_settings: The objective's own settings, also those that are called as something
            above is: ``{"steps": 8}`` of `flow_vae`, ``{"precision": "sum"}`` of `ada_mlvae`.
        watch: Called after every few steps with the progress.
        callback: Called at log and validation steps as ``callback(run, logs)``: the run so far,
            which encodes, decodes and scores, and what was logged, by name. True stops training.
        settings: The objective's own settings, such as ``beta=4``; ``preset`` names a set of them.

    Raises:
        UnknotError: A setting does not make sense; the message says which and what to do.
    """
    loaded = None if isinstance(data, str | Path) else as_dataset(data, data_settings or {})
    named = {"name": str(data), **(data_settings or {})}
    table: dict[str, Any] = {
        "data": loaded.origin.table() if loaded else named,
        "net": {**({} if net is None else {"name": net}), **(net_settings or {})},
        "objective": {
            "name": objective,
            **{
                name: plain_value(value)
                for name, value in {**settings, **(objective_settings or {})}.items()
            },
        },
        "optim": _optim_table(optimizer, lr),
        "steps": steps,
        "batch": batch,
        "seeds": seeds if isinstance(seeds, int) else [seed.__index__() for seed in seeds],
        "precision": precision,
        "log_every": log_every,
        "checkpoint_every": checkpoint_every,
    }
    looks = {"validate_every": validate_every, "keep": keep, "score_every": score_every}
    options = {"ema": ema, **looks, "stop": None if stop is None else dict(stop)}
    table |= {name: value for name, value in options.items() if value is not None}
    if score_at:
        table["score_at"] = [*score_at]
    if order_seed is not None:
        table["order_seed"] = order_seed
    if sampler is not None:
        table["sampler"] = sampler if isinstance(sampler, str) else dict(sampler)
    if split is not None:
        table["split"] = split if isinstance(split, str) else dict(split)
    its_fields = ["preset", *(f.name for f in fields(registry.get("objectives", objective)))]
    for name in settings:
        if name not in its_fields:
            hint = registry.nearest(name, [*its_fields, *table, "lr", "optimizer", "device", "out"])
            raise ConfigError(f"train and {objective} have no setting '{name}'{hint}")
        if name in (objective_settings or {}):
            raise ConfigError(f"'{name}' is given twice, as a keyword and in objective_settings.")
    try:
        spec = config.spec(table)
    except ConfigError as error:
        name = str(error).partition(" ")[0]
        if name in table and name in its_fields:
            raise ConfigError(
                f"{error} If you mean the setting of {objective}, use "
                f"objective_settings={{'{name}': ...}}."
            ) from error
        raise
    return run.train(spec, out=out, device=device, watch=watch, callback=callback, data=loaded)


def _optim_table(optimizer: str | Optimizer, lr: Hyper | None) -> dict[str, Any]:
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
