"""Likelihoods of a study's runs: reconstruction losses of two likelihoods cannot be compared."""

from collections.abc import Mapping
from typing import Any

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.core.files import file_stem

NATS = ("bernoulli", "poisson", "negative_binomial")
"""Likelihoods whose loss is minus the logarithm of a probability, with nothing left out."""
LEARNT_VARIANCE = ("sigma_vae",)
"""Objectives that divide the squared error by a variance of their own."""


def likelihood_name(configuration: Configuration) -> str:
    """The likelihood that a reconstruction loss belongs to; empty where the table has none."""
    return _name(configuration.objective, configuration.settings)


def by_likelihood(results: Results) -> dict[str, Results]:
    """The results of each likelihood; of one alone as they are."""
    table = results.table
    columns = [n for n in results.settings if n.startswith("objective.likelihood")]
    names = [
        _name(str(objective), {n: table[n][i] for n in columns if table[n][i] is not None})
        for i, objective in enumerate(table["objective"])
    ]
    distinct = list(dict.fromkeys(names))
    if len(distinct) == 1:
        return {distinct[0]: results}
    return {name: results.where([other == name for other in names]) for name in distinct}


def likelihood_parts(results: Results) -> list[tuple[str, str, Results]]:
    """Each likelihood with the end of its figures' names, where there are several, and results."""
    parts = by_likelihood(results)
    several = len(parts) > 1
    return [
        (name, f"-{file_stem(name or 'unknown')}" if several else "", part)
        for name, part in parts.items()
    ]


def _name(objective: str, settings: Mapping[str, Any]) -> str:
    name = settings.get("objective.likelihood", "")
    parts = {
        key.rpartition(".")[2]: value
        for key, value in settings.items()
        if key.startswith("objective.likelihood.")
    }
    if parts:
        name = parts.get("kind", "overlap")
    if name == "features":  # of another module they are another function
        name = f"features {str(parts.get('sha256', ''))[:6]}"
    return f"{objective} {name}" if objective in LEARNT_VARIANCE else str(name)
