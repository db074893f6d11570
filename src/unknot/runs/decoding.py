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
from unknot.losses.likelihood import pixel_likelihood
from unknot.metrics.parts.decoding import PosteriorSamples, Variance, sample_posteriors
from unknot.metrics.parts.scoring import DecoderMetric, Score
from unknot.runs.training import Training

IMAGES = 256
"""Images that they look at: some ten thousand decoded points for each model."""


def decoding(training: Training, protocol: str, seed: int) -> Callable[[str, int], Score]:
    """Scores of metrics that decode, by name and member; all members are decoded in one pass."""
    population, dataset = training.population, training.context.dataset
    objective = training.specs[0].objective  # members differ in numbers that are not needed here

    @cache
    def samples_for(metric: str) -> PosteriorSamples:
        if isinstance(objective.settings, Recoding):
            raise ConfigError(
                f"{metric} needs posteriors that the decoder was trained with; the encoder of "
                f"{objective.name} does not give them."
            )
        if not hasattr(objective.settings, "likelihood"):
            raise ConfigError(
                f"{metric} needs a Bernoulli or Gaussian likelihood; {objective.name} has none."
            )
        # A loss of blurred images is no density. What is left without it is one of the same means,
        # and compares with that of models trained on pixels alone.
        likelihood = pixel_likelihood(objective.settings.likelihood)
        size = len(dataset)
        index = torch.arange(size)
        if size > IMAGES:
            index = noise.integers(seed, "metric/images", 0, IMAGES, high=size)
        return sample_posteriors(
            Net(population.encode, population.decode),
            dataset.batch(index),
            likelihood=likelihood,
            samples=_metric(metric).posterior_samples(protocol),
            seed=seed,
            variance=_variance(training, metric),
        )

    def score(metric: str, member: int) -> Score:
        return _metric(metric).score(
            samples_for(metric).member(member), protocol=protocol, seed=seed
        )

    return score


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
