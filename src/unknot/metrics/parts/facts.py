"""Facts: what is true of a metric, as data; read without importing PyTorch."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, TypeAlias

from unknot.core import registry
from unknot.core.errors import ConfigError

Need: TypeAlias = Literal["codes", "factors", "posteriors", "decoder", "models"]
Aspect: TypeAlias = Literal[
    "modularity",
    "compactness",
    "explicitness",
    "identifiability",
    "geometry",
    "independence",
    "usage",
    "prior",
    "likelihood",
    "agreement",
]
"""The first three are those of Carbonneau et al. 2022."""


@dataclass(frozen=True)
class Facts:
    """What rankings, pages and lists need to know of a metric.

    Example:
        >>> facts("gaussian_tc").better, facts("gaussian_tc").unit
        ('lower', 'nats')
    """

    name: str
    better: Literal["higher", "lower", "neither"] = "higher"
    range: tuple[int | float | None, int | float | None] = (None, None)
    """Smallest and largest value; None where there is no bound."""
    unit: str = ""
    measures: tuple[Aspect, ...] = ()
    needs: tuple[Need, ...] = ("codes", "factors")
    """``decoder`` is a net and images, ``models`` the codes of several models."""
    rows: Literal["sample", "most"] = "sample"
    """Of a grid: some ten thousand points, or most of them."""
    cost: int | float | None = None
    """CPU seconds for ten codes of dSprites under the protocol ``unknot``; see bench/metrics.py."""
    reads: str = ""
    """How to read it, in a sentence or two."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """How to read its parts."""
    lower_parts: tuple[str, ...] = ()
    """Parts of which less is better; all of them where less of the metric is."""

    def lower(self, part: str = "") -> bool:
        """Whether less of the metric, or of one of its parts, is better."""
        return self.better == "lower" or part in self.lower_parts

    def reading(self, part: str = "") -> str:
        """How to read the metric or one of its parts; empty where nothing is said."""
        return self.parts.get(part, "") if part else self.reads


FIELDS = {field.name for field in fields(Facts)}
LOSSES = ("recon", "loss", "tc", "mmd", "adversary", "off_diagonal", "diagonal")
"""Logged parts of a loss of which less is better; tables of runs have them beside scores."""


def facts(name: str) -> Facts:
    """The facts of a metric, ours or another package's; defaults where it says none."""
    said = registry.literals("metrics", name)
    if said is not None:
        return Facts(name, **{key: said[key] for key in said.keys() & FIELDS})
    try:
        function = registry.get("metrics", name)
    except ConfigError:
        if name not in registry.names("metrics"):
            raise
        return Facts(name)  # its package cannot be imported: calling the metric says why
    given = getattr(function, "facts", None)
    return given if isinstance(given, Facts) else Facts(name)


def lower_is_better(column: str) -> bool:
    """Whether less is better, by the name of a column such as ``elbo.error@paper`` or ``recon``.

    Example:
        >>> columns = ("mig", "gaussian_tc@study2019", "wasserstein_tc.raw", "elbo", "elbo.error")
        >>> [name for name in columns if lower_is_better(name)]
        ['gaussian_tc@study2019', 'wasserstein_tc.raw', 'elbo.error']
    """
    known, part = _of_column(column)
    return known.name in LOSSES or known.lower(part)


def reading(column: str) -> str:
    """How to read a column such as ``dci.completeness@study2019``; empty for no metric of ours.

    Example:
        >>> reading("dci.completeness@study2019")
        '1: each factor is predicted from one latent only. 0: from all equally.'
    """
    known, part = _of_column(column)
    return known.reading(part)


def _of_column(column: str) -> tuple[Facts, str]:
    name, _, part = column.partition("@")[0].partition(".")
    try:
        return facts(name), part
    except ConfigError:
        return Facts(name), part
