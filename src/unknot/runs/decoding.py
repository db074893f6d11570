"""Metrics that decode: how likely trained models make their images."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from unknot.core import noise, registry
from unknot.core.errors import ConfigError
from unknot.core.objective import Calibrated, Net, Recoding
from unknot.losses import reconstruction
from unknot.losses.counts import row_totals
from unknot.losses.likelihood import activate, is_of_counts, likelihood_of, pixel_likelihood
from unknot.losses.mapped import MappedLoss
from unknot.metrics.parts.decoding import Decoded, Variance
from unknot.metrics.parts.score import Score
from unknot.metrics.parts.scoring import DecoderMetric
from unknot.runs.description import AbsentImages
from unknot.runs.training import Training

IMAGES = 256
"""Images that they look at: some ten thousand decoded points for each model."""
FEW_IMAGES = 64
"""Images that show whether reconstructions differ at all."""
MOST_IMAGES = 10_000
"""Images that the error of reconstructions is a mean over, at most."""


def decoding(
    training: Training, protocol: str, seed: int, rows: Tensor | None = None
) -> Callable[[str, int], Score]:
    """Scores of metrics that decode, by name and member; all members are decoded in one pass.

    Args:
        training: The models.
        protocol: The name of a protocol.
        seed: Random seed for the metrics.
        rows: Rows to take images from; all rows when None.
    """
    population, dataset = training.population, training.context.dataset
    objective = training.specs[0].objective  # members differ in numbers that are not needed here

    @cache
    def samples_for(metric: str) -> Decoded:
        settings = _metric(metric).sampling(protocol)
        index = _rows_to_decode(len(dataset), rows, IMAGES, seed)
        net = Net(population.encode, population.decode)
        if not settings.density:
            likelihood = pixel_likelihood(likelihood_of(objective.settings))
            return settings.sample(net, dataset.batch(index), likelihood=likelihood, seed=seed)
        if isinstance(objective.settings, Recoding):
            raise ConfigError(
                f"{metric} needs posteriors that the decoder was trained with; the encoder of "
                f"{objective.name} does not give them."
            )
        if not hasattr(objective.settings, "likelihood"):
            raise ConfigError(f"{metric} needs a likelihood; {objective.name} has none.")
        own = objective.settings.likelihood
        if isinstance(own, MappedLoss) and not own.is_density:
            raise ConfigError(
                f"{metric} needs a density of pixels, in nats; {objective.name} compares "
                f"{own.caption}, whose distance has no unit."
            )
        # A loss of blurred images is no density. What is left without it is one of the same means,
        # and compares with that of models trained on pixels alone.
        likelihood = pixel_likelihood(own)
        return settings.sample(
            net,
            dataset.batch(index),
            likelihood=likelihood,
            seed=seed,
            variance=_variance(training, metric),
        )

    def score(metric: str, member: int) -> Score:
        return _metric(metric).score(
            samples_for(metric).member(member), protocol=protocol, seed=seed
        )

    return score


def reconstruction_errors(
    training: Training, seed: int, rows: Tensor | None = None
) -> list[dict[str, float]]:
    """Errors of reconstructions from the means of posteriors, of each member.

    ``recon`` is the reconstruction loss of the objective's likelihood, and ``recon.mse`` the
    squared error, of counts that of their log1p; both are summed over pixels and averaged over
    images. ``recon.per_pixel``, ``recon.squared`` and ``recon.absolute`` are this loss, the squared
    and the absolute error of a pixel.

    Args:
        training: The models.
        seed: Of which rows are taken, where there are more than 10,000.
        rows: Rows to take images from; all rows when None.
    """
    population, dataset = training.population, training.context.dataset
    likelihood = likelihood_of(training.specs[0].objective.settings)
    index = _rows_to_decode(len(dataset), rows, MOST_IMAGES, seed)
    sums: dict[str, Tensor] = {}
    with torch.no_grad():
        for some in index.split(max(1, 4_096 // population.members)):
            x = dataset.batch(some)
            decoded = population.decode(population.encode(x).mean)
            x = x.to(decoded).expand(len(decoded), *x.shape)
            total = row_totals(x) if is_of_counts(likelihood) else None
            off = activate(likelihood, decoded, total) - x
            pixels = math.prod(x.shape[2:])
            loss = reconstruction(likelihood, decoded, x)
            squares = off.square().flatten(2).sum(2).mean(1)
            errors = {
                "recon": loss,
                "recon.mse": squares,
                "recon.per_pixel": loss / pixels,
                "recon.squared": squares / pixels,
                "recon.absolute": off.abs().flatten(1).mean(1),
            }
            for name, error in errors.items():
                sums[name] = sums.get(name, 0) + error.double().cpu() * len(some) / len(index)
    return [
        {name: float(error[member]) for name, error in sums.items()}
        for member in range(population.members)
    ]


def reconstruction_contrasts(training: Training) -> list[float]:
    """How much reconstructions vary over images, as a share of how much the images do.

    Near 0, a member draws the same whatever it sees: it has collapsed, or its decoder is dead.
    """
    population, dataset = training.population, training.context.dataset
    likelihood = likelihood_of(training.specs[0].objective.settings)
    with torch.no_grad():
        x = dataset.batch(_rows_to_decode(len(dataset), None, FEW_IMAGES, 0))
        decoded = population.decode(population.encode(x).mean)
        x = x.to(decoded)
        total = row_totals(x.expand(len(decoded), *x.shape)) if is_of_counts(likelihood) else None
        spread = activate(likelihood, decoded, total).flatten(2).double().var(1).sum(1)
        shares: list[float] = (spread / x.flatten(1).double().var(0).sum()).tolist()
    return shares


def members_with_contrasts(training: Training) -> list[dict[str, Any]]:
    """The record of each member of a finished training, with the contrast among its last values.

    Without images, as of a run that is saved again elsewhere, there is no contrast.
    """
    members: list[dict[str, Any]] = training.record()["members"]
    if isinstance(training.context.dataset.images, AbsentImages):
        return members
    return [
        {**member, "last": {**member["last"], "contrast": value if math.isfinite(value) else None}}
        for member, value in zip(members, reconstruction_contrasts(training), strict=True)
    ]


def _rows_to_decode(size: int, rows: Tensor | None, most: int, seed: int) -> Tensor:
    size = size if rows is None else len(rows)
    places = torch.arange(size)
    if size > most:
        places = noise.integers(seed, "metric/images", 0, most, high=size)
    return places if rows is None else rows[places]


def _metric(name: str) -> DecoderMetric[Any]:
    metric: DecoderMetric[Any] = registry.get("metrics", name)
    return metric


def _variance(training: Training, metric: str) -> Variance | None:
    """That of the decoder, where the objective has one of its own."""
    objective = training.specs[0].objective.settings
    if not isinstance(objective, Calibrated):
        return None
    state = training.weights()
    prefix = "extra."
    extra = {n.removeprefix(prefix): v.double() for n, v in state.items() if n.startswith(prefix)}
    pixels = math.prod(training.context.dataset.shape)

    def variance(error: Tensor) -> Tensor:
        try:
            return objective.decoder_variance(extra, error, pixels)
        except ConfigError as refusal:
            raise ConfigError(f"{metric} needs the density of a Gaussian: {refusal}") from refusal

    return variance
