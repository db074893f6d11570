"""What a metric declares as data: its facts, and its settings by the name of a protocol.

Protocols are named, versioned settings, because implementations of one metric differ threefold. A
metric's file holds its own, ``PROTOCOLS: dict[name, settings]``, each a frozen dataclass with a
``version`` that rises whenever a number would change. Not every metric has every protocol. For
settings of one's own pass a dataclass instead of a name::

    from dataclasses import replace
    from unknot.metrics.jemmig import PROTOCOLS, jemmig
    jemmig(codes, factors, protocol=replace(PROTOCOLS["carbonneau"], bins=20))

Nothing here imports PyTorch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.core.typed import typed
from unknot.metrics.parts.own_settings import check_settings

S = TypeVar("S")
MEANINGS = {
    "study2019": 'settings of Locatello et al. 2019, "Challenging common assumptions"; comparable '
    "with their 10,800 published models",
    "study2019_fast": "DCI of study2019 in single precision; D and C within 0.01 of it",
    "carbonneau": "settings of the review of Carbonneau et al. 2022 and of its published library",
    "kumar": "settings of Kumar et al. 2018, the DIP-VAE paper",
    "hsu2023": "settings of the training script of Hsu et al. 2023 (QLAE), so of its tables",
    "hsu2023_file": "settings of the file of metrics published with Hsu et al. 2023",
    "hsu2024": "settings of Hsu et al. 2024 (Tripod)",
    "paper": "as the paper that introduced the metric defines it",
    "unknot": "our default: bins that outliers cannot move, dead latents left out, ceilings",
}

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
ASPECTS: dict[Aspect, str] = {
    "modularity": "each latent encodes one factor at most",
    "compactness": "each factor is encoded by one latent",
    "explicitness": "factors can be predicted from all latents",
    "identifiability": "latents are the true factors, up to order and sign",
    "geometry": "codes move as the factors do, and images as the codes do",
    "independence": "latents are independent of one another",
    "usage": "latents that are in use",
    "prior": "all codes together are distributed like the prior",
    "likelihood": "the model explains the images",
    "agreement": "models of several seeds encode the same",
}
"""What metrics measure; the first three are those of Carbonneau et al. 2022."""

Dependence: TypeAlias = Literal[
    "bins",
    "classifier",
    "correlation",
    "distances",
    "draws",
    "estimator",
    "moments",
    "quantile",
    "rows",
    "threshold",
]
DEPENDENCES: dict[Dependence, str] = {
    "bins": "how many bins codes are sorted into, and whether of equal width or of equal mass",
    "classifier": "which learner predicts factors from codes, and its penalty",
    "correlation": "whether only straight lines count, or all that rises or falls",
    "distances": "how far apart two codes are said to be",
    "draws": "which pairs, groups, traversals or samples of posteriors are drawn, and how many",
    "estimator": "whether information is counted in bins, from neighbours or from posteriors",
    "moments": "codes are taken for Gaussian: only means, variances and correlations count",
    "quantile": "which of the largest deviations counts",
    "rows": "how many images there are",
    "threshold": "from where on a latent counts as in use",
}
"""What else than the codes decides the number, so that two programs differ; after table 5.1 of
Moğultay Özcan 2024."""


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
    part_ranges: Mapping[str, tuple[int | float | None, int | float | None]] = field(
        default_factory=dict
    )
    """The same of its parts, by name or by its beginning and ``*``; others have no bounds."""
    unit: str = ""
    measures: tuple[Aspect, ...] = ()
    depends_on: tuple[Dependence, ...] = ()
    """What else than the codes decides the number."""
    needs: tuple[Need, ...] = ("codes", "factors")
    """``decoder`` is a net and images, ``models`` the codes of several models."""
    rows: Literal["sample", "most"] = "sample"
    """Of a grid: some ten thousand points, or most of them."""
    cost: int | float | None = None
    """CPU seconds for ten codes of dSprites under the protocol ``unknot``; see bench/metrics.py."""
    reads: str = ""
    """How to read it, in a sentence or two."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """How to read its parts, by name or by a pattern."""
    lower_parts: tuple[str, ...] = ()
    """Parts for which lower is better; all of them where it is for the metric."""

    def lower(self, part: str = "") -> bool:
        """Whether lower is better for the metric, or for one of its parts."""
        return self.better == "lower" or part in self.lower_parts

    def bounds(self, part: str = "") -> tuple[int | float | None, int | float | None]:
        """Smallest and largest value of the metric, or of one of its parts."""
        if not part:
            return self.range
        ranges = (ends for name, ends in self.part_ranges.items() if fnmatchcase(part, name))
        return next(ranges, (None, None))

    @property
    def range_text(self) -> str:
        """Its range with the unit, such as ``0 to ∞ nats``."""
        low, high = ("" if end is None else f"{end:g}" for end in self.range)
        return f"{low or '−∞'} to {high or '∞'} {self.unit}".strip()

    def reading(self, part: str = "") -> str:
        """How to read the metric or one of its parts; empty where nothing is said."""
        if not part:
            return self.reads
        return next((text for name, text in self.parts.items() if fnmatchcase(part, name)), "")


class RowSettings:
    """How a metric of codes takes its rows: what the dataclasses of its settings derive from.

    A field or property of the same name says otherwise. What is said here is no field, so records
    of protocols hold what a metric declares and nothing else.
    """

    needs: ClassVar[tuple[Need, ...]] = ()
    """What these settings need beside what the metric does, such as ``("posteriors",)``."""

    @property
    def samples(self) -> int | None:
        """At most so many rows; None for all that are given, or 10,000 points of a grid."""
        return None

    @property
    def test_samples(self) -> int | None:
        """Rows to test on, for a metric that learns; 0 for the same rows."""
        return None

    @property
    def distinct(self) -> bool:
        """Whether all points that are drawn from a grid differ."""
        return False

    @property
    def gaps(self) -> bool:
        """Whether a row that lacks a label is of use for the other factors; else it is left out."""
        return False

    @property
    def real(self) -> bool:
        """Whether continuous factors count as numbers; else in quantile bins."""
        return False

    @property
    def across_parts(self) -> bool:
        """Whether it learns from the training part of a split where another part is scored."""
        return False

    @property
    def options(self) -> tuple[str, ...] | None:
        """Keywords that it takes under these settings; None for those of the metric."""
        return None


ONE_FACTOR = "one factor: there is nothing to separate it from"
"""The remark on scores that cannot tell good codes from bad ones, whatever the code."""
FIELDS = {field.name for field in fields(Facts)}
LOSSES = ("recon", "loss", "tc", "mmd", "adversary", "off_diagonal", "diagonal")
"""Logged parts of a loss for which lower is better; tables of runs have them next to scores."""


@typed("name")
def facts(name: str) -> Facts:
    """The facts of a metric, ours or another package's; defaults where it says none."""
    literals = registry.literals("metrics", name)
    if literals is not None:
        return Facts(name, **{key: literals[key] for key in literals.keys() & FIELDS})
    try:
        function = registry.get("metrics", name)
    except ConfigError:
        if name not in registry.names("metrics"):
            raise
        return Facts(name)  # its package cannot be imported: calling the metric says why
    declared = getattr(function, "facts", None)
    return declared if isinstance(declared, Facts) else Facts(name)


def by_property(names: Iterable[str]) -> dict[str, list[str]]:
    """Names of metrics by what they measure, in the order of `ASPECTS`; ``other`` is last.

    Example:
        >>> by_property(["dci", "mig", "sap"])
        {'modularity, compactness, explicitness': ['dci'], 'compactness': ['mig', 'sap']}
    """
    order = list(ASPECTS)
    measures = {name: facts(name).measures for name in names}
    known = {aspects for aspects in measures.values() if aspects and {*aspects} <= {*order}}
    groups = {
        ", ".join(aspects): [name for name in measures if measures[name] == aspects]
        for aspects in sorted(known, key=lambda aspects: [order.index(a) for a in aspects])
    }
    others = [name for name in measures if measures[name] not in known]
    return {**groups, "other": others} if others else groups


def property_text(group: str) -> str:
    """What the metrics of a group of `by_property` measure, in words.

    Example:
        >>> property_text("modularity, compactness")
        'each latent encodes one factor at most; each factor is encoded by one latent'
    """
    if group == "other":
        return "metrics that do not say what they measure"
    return "; ".join(text for aspect, text in ASPECTS.items() if aspect in group.split(", "))


@typed("column")
def lower_is_better(column: str) -> bool:
    """Whether lower is better, by the name of a column such as ``elbo.error@paper`` or ``recon``.

    Example:
        >>> columns = ("mig", "gaussian_tc@study2019", "wasserstein_tc.raw", "elbo", "elbo.error")
        >>> [name for name in columns if lower_is_better(name)]
        ['gaussian_tc@study2019', 'wasserstein_tc.raw', 'elbo.error']
    """
    metric, part = _column_facts(column)
    return metric.name in LOSSES or metric.lower(part)


def score_bounds(column: str) -> tuple[int | float | None, int | float | None]:
    """Smallest and largest value by the name of a column; None where there is no bound.

    Example:
        >>> [score_bounds(name) for name in ("mig@study2019", "dci.error", "elbo", "recon")]
        [(0, 1), (0, None), (None, None), (None, None)]
    """
    metric, part = _column_facts(column)
    return metric.bounds(part)


@typed("column")
def reading(column: str) -> str:
    """How to read a column such as ``sap@study2019``, and what the number depends on.

    It is empty for a column that is of no metric.

    Example:
        >>> reading("dci.error@study2019")
        'How far predictions from all latents miss the factors; 0 is best. Depends on classifier.'
    """
    metric, part = _column_facts(column)
    text = metric.reading(part)
    return (
        f"{text} Depends on {', '.join(metric.depends_on)}." if text and metric.depends_on else text
    )


def _column_facts(column: str) -> tuple[Facts, str]:
    name, _, part = column.partition("@")[0].partition(".")
    try:
        return facts(name), part
    except ConfigError:
        return Facts(name), part


@dataclass(frozen=True)
class Protocol(Generic[S]):
    """The settings of one metric, and their name."""

    metric: str
    name: str
    settings: S

    def record(self, **measured: object) -> dict[str, Any]:
        """Everything needed to repeat a score, as plain values."""
        return {"name": self.name, **dict(_flat(self.settings)), **measured}


def pick_protocol(
    metric: str, protocols: Mapping[str, S], choice: str | S, kinds: Sequence[type] = ()
) -> Protocol[S]:
    """The settings of a name, or settings as they are under the name ``custom``.

    They are of the type of one of the protocols, or of one of ``kinds``.
    """
    if not isinstance(choice, str):
        allowed = tuple(dict.fromkeys([*map(type, protocols.values()), *kinds]))
        if not isinstance(choice, allowed):
            names = " or ".join(kind.__name__ for kind in allowed)
            raise ConfigError(
                f"{metric} takes the name of a protocol or its own {names}; "
                f"got {type(choice).__name__}."
            )
        check_settings(metric, choice)
        return Protocol(metric, "custom", choice)
    if choice not in protocols:
        raise ConfigError(
            f"{metric} has no protocol '{choice}'{registry.nearest(choice, list(protocols))}"
        )
    return Protocol(metric, choice, protocols[choice])


def check_protocol(name: object) -> None:
    """Raise a ConfigError where no metric can have a protocol of this name."""
    if not isinstance(name, str) or name not in MEANINGS:
        raise ConfigError(
            f"There is no protocol {name!r}{registry.nearest(str(name), [*MEANINGS])}"
        )


@typed("metric")
def protocols_for(metric: str) -> Mapping[str, Any]:
    """The settings of a metric by the name of a protocol; none for an outsider's plain function."""
    protocols: Mapping[str, Any] = getattr(registry.get("metrics", metric), "protocols", {})
    return protocols


def protocol_table(metrics: Sequence[str] | None = None) -> str:
    """All settings of all protocols as one Markdown table.

    Example:
        >>> print(protocol_table(["modularity"]).splitlines()[0])
        | metric | protocol | version | settings |
    """
    lines = ["| metric | protocol | version | settings |", "|---|---|---|---|"]
    for metric in metrics if metrics is not None else registry.names("metrics"):
        for name, settings in protocols_for(metric).items():
            flat = dict(_flat(settings))
            version = flat.pop("version", 1)
            text = ", ".join(filter(None, (_text(key, value) for key, value in flat.items())))
            lines.append(f"| {metric} | {name} | {version} | {text} |")
    return "\n".join(lines)


def _text(key: str, value: object) -> str:
    """A setting in words; nothing for one that is switched off."""
    key = key.replace("_", " ")
    if value is None:
        return f"all {key}" if key.endswith("samples") else ""
    if isinstance(value, bool):
        return key if value else ""
    if isinstance(value, tuple):
        return f"{key} {' '.join(str(v) for v in value)}" if value else ""
    return f"{key} {value:,}" if isinstance(value, int) else f"{key} {value}"


def _flat(settings: Any) -> Iterator[tuple[str, Any]]:
    for entry in fields(settings) if is_dataclass(settings) else ():
        value = getattr(settings, entry.name)
        if is_dataclass(value):
            yield from _flat(value)
        else:
            yield entry.name, value
