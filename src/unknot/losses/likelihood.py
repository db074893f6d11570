"""Likelihoods of images, and what a decoder's outputs are under each."""

from typing import Any, Literal, TypeAlias, get_args

from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.losses.overlap import Overlap, Pixels

Likelihood: TypeAlias = Literal["bernoulli", "gaussian", "sigmoid_gaussian"] | Overlap
"""Outputs are logits of probabilities, means, or logits of means within (0, 1); or one of these
with a loss of blurred images beside it, which is a loss but not the logarithm of a likelihood."""


def likelihood_of(objective: Any) -> Likelihood:
    """The likelihood of an objective; one that names none decodes to means."""
    likelihood: Likelihood = getattr(objective, "likelihood", "gaussian")
    return likelihood


def pixel_likelihood(likelihood: Likelihood) -> Pixels:
    """The likelihood of single pixels.

    Raises:
        ConfigError: There is none of this name.

    Example:
        >>> pixel_likelihood("bernoulli"), pixel_likelihood(Overlap.create(pixels="gaussian"))
        ('bernoulli', 'gaussian')
    """
    pixels = likelihood.pixels if isinstance(likelihood, Overlap) else likelihood
    if pixels not in (names := get_args(Pixels)):
        raise ConfigError(f"There is no likelihood '{pixels}'{nearest(str(pixels), list(names))}")
    return pixels


def activate(likelihood: Likelihood, decoded: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Images that a decoder's outputs stand for: probabilities or means.

    Example:
        >>> import torch
        >>> activate("sigmoid_gaussian", torch.zeros(2)).tolist()
        [0.5, 0.5]
        >>> activate("gaussian", torch.zeros(2)).tolist()
        [0.0, 0.0]
    """
    return decoded if pixel_likelihood(likelihood) == "gaussian" else decoded.sigmoid()
