"""Likelihoods of images, and what a decoder's outputs are under each."""

from typing import Literal, TypeAlias

from jaxtyping import Float
from torch import Tensor

Likelihood: TypeAlias = Literal["bernoulli", "gaussian", "sigmoid_gaussian"]
"""Outputs are logits of probabilities, means, or logits of means within (0, 1)."""


def activated(likelihood: str, decoded: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Images that a decoder's outputs stand for: probabilities or means.

    Example:
        >>> import torch
        >>> activated("sigmoid_gaussian", torch.zeros(2)).tolist()
        [0.5, 0.5]
        >>> activated("gaussian", torch.zeros(2)).tolist()
        [0.0, 0.0]
    """
    return decoded if likelihood == "gaussian" else decoded.sigmoid()
