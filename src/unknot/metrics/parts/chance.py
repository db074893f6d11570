"""Chance: what codes that know nothing of the factors score."""

from dataclasses import dataclass

import torch

from unknot.core import noise, registry
from unknot.core.errors import ConfigError, DataError
from unknot.core.factor_table import Space
from unknot.core.representation import Representation
from unknot.metrics.parts.evaluation import score_codes
from unknot.metrics.parts.facts import facts
from unknot.metrics.parts.inputs import Inputs

DRAWS = 3
"""Sets of such codes."""
MARGIN = 0.01
"""How far above all of them a score has to be to count as better."""


@dataclass(frozen=True)
class Chance:
    """What codes that know nothing score."""

    level: float
    """Their mean."""
    limit: float
    """Up to here a score is no better."""


def has_chance_level(name: str) -> bool:
    """Whether a metric, or a part of one such as ``dci.completeness``, has a chance level.

    It reads the factors, and higher is better.

    Example:
        >>> [has_chance_level(name) for name in ("mig", "dci.completeness", "active_units")]
        [True, True, False]
    """
    metric, _, part = name.partition(".")
    if metric not in registry.names("metrics"):
        return False
    about = facts(metric)
    return about.better == "higher" and "factors" in about.needs and not about.lower(part)


def measure_chance(metric: str, protocol: str, space: Space, latents: int) -> dict[str, Chance]:
    """The chance level of a metric and of its parts, by name; empty where it does not apply.

    Codes are independent normal numbers, the same for a row whenever it is read, which is what
    shuffling the factors of a model leaves. Posteriors have the variance 1.

    Args:
        metric: Its name.
        protocol: The name of a protocol.
        space: The factors.
        latents: How many codes each row has.
    """
    draws: list[dict[str, float]] = []
    flat = Representation(space, latents, lambda index: torch.zeros(len(index), latents))
    for step in range(DRAWS):
        values = noise.normal(0, "metric/chance", step, space.size, latents)
        inputs = Inputs(Representation.whole(space, values), logvar=flat, seed=step)
        try:
            draws.append(dict(score_codes(metric, inputs, protocol).values))
        except (ConfigError, DataError):
            return {}
    return {
        name: Chance(
            sum(draw[name] for draw in draws) / DRAWS, max(draw[name] for draw in draws) + MARGIN
        )
        for name in draws[0]
        if has_chance_level(name)
    }
