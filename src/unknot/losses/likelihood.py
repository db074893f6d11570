"""Likelihoods of images and counts, and what a decoder's outputs are under each."""

from typing import Any, Literal, TypeAlias, TypeGuard, get_args

from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.losses.counts import Counts, expected_counts
from unknot.losses.features import Features
from unknot.losses.mapped import MappedLoss, Pixels
from unknot.losses.overlap import Overlap

Density: TypeAlias = Pixels | Counts
Likelihood: TypeAlias = (
    Literal["bernoulli", "gaussian", "sigmoid_gaussian", "poisson", "negative_binomial"]
    | Overlap
    | Features
)
"""Outputs are logits of probabilities, means, logits of means within (0, 1), or logits of shares of
a row's counts, with the logarithms of dispersions if these are negative binomial; or it is one of
the first three with a loss of blurred images or of features beside it, which is a loss but not the
logarithm of a likelihood."""


def likelihood_of(objective: Any) -> Likelihood:
    """The likelihood of an objective; one that names none decodes to means."""
    likelihood: Likelihood = getattr(objective, "likelihood", "gaussian")
    return likelihood


def is_of_counts(likelihood: Any) -> TypeGuard[Counts]:
    """Whether a likelihood is one of counts."""
    return likelihood in get_args(Counts)


def pixel_likelihood(likelihood: Likelihood) -> Density:
    """The likelihood of single pixels.

    Raises:
        ConfigError: There is none of this name.

    Example:
        >>> pixel_likelihood("bernoulli"), pixel_likelihood(Overlap.create(pixels="gaussian"))
        ('bernoulli', 'gaussian')
    """
    pixels = likelihood.pixels if isinstance(likelihood, MappedLoss) else likelihood
    names = [*get_args(Pixels), *get_args(Counts)]
    if pixels not in names:
        raise ConfigError(f"There is no likelihood '{pixels}'{nearest(str(pixels), names)}")
    return pixels


def activate(
    likelihood: Likelihood,
    decoded: Float[Tensor, "..."],
    total: float | Float[Tensor, "..."] | None = None,
) -> Float[Tensor, "..."]:
    """Images that a decoder's outputs stand for: probabilities or means; of counts, their log1p.

    Args:
        likelihood: Whose outputs they are.
        decoded: The outputs.
        total: How many counts a row has in all; 1 unless given, and of no use to other likelihoods.

    Example:
        >>> import torch
        >>> activate("sigmoid_gaussian", torch.zeros(2)).tolist()
        [0.5, 0.5]
        >>> activate("gaussian", torch.zeros(2)).tolist()
        [0.0, 0.0]
        >>> activate("poisson", torch.zeros(1, 2, 1, 1), 6.0).expm1().flatten().tolist()
        [3.0, 3.0]
    """
    density = pixel_likelihood(likelihood)
    if is_of_counts(density):
        return expected_counts(density, decoded, 1.0 if total is None else total).log1p()
    return decoded if density == "gaussian" else decoded.sigmoid()
