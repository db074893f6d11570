"""Critics: networks that tell two kinds of rows apart, and the loss by which they learn it."""

import math
from itertools import pairwise
from typing import Any

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from unknot.core.errors import ConfigError
from unknot.core.hyper import at_least
from unknot.core.objective import Note, Term, Terms
from unknot.core.optim import Adam


def build_critic(objective: Any, inputs: int, outputs: int) -> nn.Sequential:
    """The critic that an objective's fields describe."""
    sizes = {"layers": objective.critic_layers, "width": objective.critic_width}
    return mlp(inputs, outputs, **sizes, slope=objective.critic_slope)


def critic_adam(objective: Any) -> Adam:
    """The optimiser that an objective's fields describe."""
    betas = {"beta1": objective.critic_beta1, "beta2": objective.critic_beta2}
    return Adam(objective.critic_lr, **betas)


def mlp(inputs: int, outputs: int, *, layers: int, width: int, slope: float) -> nn.Sequential:
    """Hidden layers of one width with leaky ReLUs between; the outputs are not activated.

    Example:
        >>> critic = mlp(10, 2, layers=6, width=1000, slope=0.2)
        >>> sum(p.numel() for p in critic.parameters())
        5018002
    """
    sizes = [inputs, *[width] * layers]
    hidden = [
        part
        for before, after in pairwise(sizes)
        for part in (nn.Linear(before, after), nn.LeakyReLU(slope))
    ]
    return nn.Sequential(*hidden, nn.Linear(sizes[-1], outputs))


def tell_apart(first: Float[Tensor, "*p n"], second: Float[Tensor, "*p m"]) -> Terms:
    r"""What a critic minimises, from the log-odds that it gives for "of the first kind".

    $$-\tfrac12 \mathbb E_{1}[\ln \sigma(T)] - \tfrac12 \mathbb E_{2}[\ln(1 - \sigma(T))]$$

    The best $T$ is the logarithm of the ratio of both densities; with it the loss is $\ln 2$ less
    the Jensen-Shannon divergence, so `jsd` is a lower bound of that. Exact in the logits: nothing
    is clipped, and a confident mistake keeps its gradient.

    Args:
        first: Log-odds of rows of the first kind.
        second: Log-odds of rows of the second kind.

    Example:
        >>> import torch
        >>> float(tell_apart(torch.zeros(4), torch.zeros(6))["tell"].value)  # ln 2: it cannot tell
        0.6931471824645996
    """
    loss = 0.5 * (F.softplus(-first).mean(-1) + F.softplus(second).mean(-1))
    right = 0.5 * ((first > 0).to(loss).mean(-1) + (second <= 0).to(loss).mean(-1))
    return {"tell": Term(loss), "accuracy": Note(right), "jsd": Note(math.log(2) - loss)}


def check_critic(thing: Any) -> None:
    """Check the fields that describe a critic and its optimiser; for ``__post_init__``."""
    at_least(thing, 1, "critic_layers", "critic_width")
    at_least(thing, 0, "critic_slope", "critic_lr")
    kind = type(thing).__name__
    if isinstance(thing.critic_lr, int | float) and thing.critic_lr == 0:
        raise ConfigError(f"{kind}.critic_lr must be above 0; got {thing.critic_lr}.")
    for name in ("critic_beta1", "critic_beta2"):
        if not 0 <= getattr(thing, name) < 1:
            raise ConfigError(f"{kind}.{name} must lie in [0, 1); got {getattr(thing, name)}.")
