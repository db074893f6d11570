"""The training context of a spec: dataset, net, batch, split and device."""

import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.data.parts.counts import as_counts
from unknot.data.parts.scaling import measure_on
from unknot.engine.context import Context
from unknot.engine.device import runtime, to_read
from unknot.losses.features import Features
from unknot.losses.likelihood import is_of_counts, likelihood_of, pixel_likelihood
from unknot.losses.mapped import MappedLoss
from unknot.runs import features
from unknot.runs.spec import TrainSpec
from unknot.samplers.parts.split import check_part, rows_in_part


def training_context(
    spec: TrainSpec,
    device: str = "auto",
    *,
    trained: bool = False,
    data: FactorDataset | None = None,
) -> Context:
    """Dataset, net, batch and device of a population; `trained` only to use its weights.

    The dataset is loaded unless it comes along, as one does that exists in memory only. What is
    measured to scale its values is measured on the training part.
    """
    if data is None:
        data = spec.data.settings.load()
    where = (to_read if trained else runtime)(device, spec.precision)
    split = spec.split
    rows = None if split is None or not data.measured else rows_in_part(split, data.space, "train")
    dataset = measure_on(data, rows, split).to(where.device)
    likelihood = likelihood_of(spec.objective.settings)
    if isinstance(likelihood, MappedLoss):
        if not trained:
            features.require(likelihood)
            likelihood.prepare(where.device, where.dtype)
        likelihood.check(dataset.shape)
        if isinstance(likelihood, Features):
            likelihood.check_scale(dataset.mean, dataset.std)
    if is_of_counts(likelihood):
        dataset = as_counts(dataset, likelihood)
    elif dataset.mean and pixel_likelihood(likelihood) != "gaussian":
        raise ConfigError(
            "Standardised images are outside [0, 1], which the likelihood "
            f"{pixel_likelihood(likelihood)} does not allow. "
            "Add --set objective.likelihood=gaussian."
        )
    sampler = spec.sampler.settings if spec.sampler else None
    return Context(
        dataset, spec.net.settings, spec.batch, where, sampler, ema=spec.ema, split=split
    )


def part_rows(context: Context, part: str) -> Int[Tensor, " n"]:
    """Row numbers of a part of the split, in order."""
    split, space = context.split, context.dataset.space
    name = check_part(split, part)
    return torch.arange(space.size) if split is None else rows_in_part(split, space, name)
