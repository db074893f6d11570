"""All metrics of one representation at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, TypeAlias

from unknot.core import registry
from unknot.core.border import check_names
from unknot.core.errors import ConfigError, DataError
from unknot.core.representation import Representation
from unknot.core.text import shown
from unknot.metrics.parts.facts import check_protocol, facts, protocols_for
from unknot.metrics.parts.given import GivenCodes, GivenFactors
from unknot.metrics.parts.inputs import Inputs
from unknot.metrics.parts.intervals import check_level
from unknot.metrics.parts.score import Score
from unknot.metrics.parts.scoring import Base, Metric

MetricFunction: TypeAlias = Callable[..., Any]
"""Codes ``[n, z]`` and, where there are any, factors ``[n, f]`` to a number."""
NO_INTERVAL = (
    "no interval. It comes from scores of half of the rows, and these choose rows of their own or "
    "train on fixed parts of them, so that halves would be another score."
)
NO_FACTORS = "Give the factors of the same rows for these."


@dataclass(frozen=True, repr=False, eq=False)
class Table:
    """Scores by metric, and why others are missing."""

    scores: Mapping[str, Score]
    skipped: Mapping[str, str]

    def __getitem__(self, name: str) -> Score:
        if name not in self.scores:
            reason = self.skipped.get(name, f"not asked for; there are {', '.join(self.scores)}")
            raise ConfigError(f"There is no score of '{name}' here: {reason}")
        return self.scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def values(self) -> dict[str, float]:
        """Every number of every score by its full name, with its protocol where that was named."""
        return {
            f"{key}{at}{protocol}": value
            for name, score in self.scores.items()
            for _, at, protocol in [name.partition("@")]
            for key, value in score.values.items()
        }

    def __repr__(self) -> str:
        wide = max([14, *(len(name) + 1 for name in self.scores)])
        intervals = any(score.interval for score in self.scores.values())
        head = f"{'interval':>19}" if intervals else ""
        lines = [f"{'metric':<{wide}}{'score':>8}{head}{'ceiling':>9}{'relative':>10}  remarks"]
        for name, score in self.scores.items():
            ceiling = "" if score.ceiling is None else f"{score.ceiling:.3f}"
            relative = "" if score.relative is None else f"{100 * score.relative:.0f} %"
            ends = "{:.4f} to {:.4f}".format(*score.interval) if score.interval else ""
            ends = f"{ends:>19}" if intervals else ""
            lines.append(
                f"{name:<{wide}}{float(score):>8.4f}{ends}{ceiling:>9}{relative:>10}  "
                f"{'; '.join(score.remarks)}".rstrip()
            )
        if intervals and (plain := [n for n, score in self.scores.items() if not score.interval]):
            lines.append(fill(f"{', '.join(plain)}: {NO_INTERVAL}", 100))
        reasons: dict[str, list[str]] = {}
        for name, reason in self.skipped.items():
            reasons.setdefault(reason.replace(f"{name} ", "It ", 1), []).append(name)
        for reason, left_out in reasons.items():
            lines.append(fill(f"left out: {', '.join(left_out)}. {reason}", 100))
        return "\n".join(lines)


def evaluate(
    codes: GivenCodes,
    factors: GivenFactors = None,
    *,
    logvar: GivenCodes = None,
    protocol: str = "unknot",
    metrics: Sequence[str | MetricFunction] | None = None,
    seed: int = 0,
    test: tuple[GivenCodes, GivenFactors] | None = None,
    interval: float | None = None,
) -> Table:
    """Every metric that applies, under one protocol.

    Args:
        codes: Codes ``[n, z]``, or a representation.
        factors: Factor values ``[n, f]``; none with a representation. Without factors, the metrics
            that need none are computed.
        logvar: Log-variances of the posteriors, in the form of the codes, for the metrics that read
            them; these are skipped without.
        protocol: The name of a protocol. Metrics without it are skipped.
        metrics: Names, perhaps with a protocol, ``dci@study2019``; metrics themselves; or functions
            of codes and factors that return a number. All metrics of one representation unless
            given. A metric asked for is not skipped: it raises what stops it.
        seed: Random seed for the metrics.
        test: Test arrays for the metrics that learn; else rows are split as the protocol says.
        interval: Level of an interval, such as 0.95, for the metrics that can have one.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 6)).reshape(2, -1).T.repeat(20, axis=0)
        >>> evaluate(factors.astype(float), factors, metrics=["mig", "irs"])
        metric           score  ceiling  relative  remarks
        mig             1.0000    1.000     100 %
        irs             1.0000
    """
    strict = metrics is not None
    chosen = check_names("metrics", metrics) if strict else code_metrics()
    inputs = Inputs(codes, factors, seed, logvar, test)
    return score_table(inputs, chosen, protocol, interval, strict=strict)


def score_table(
    inputs: Inputs,
    metrics: Sequence[str | MetricFunction],
    protocol: str,
    interval: float | None,
    *,
    strict: bool,
) -> Table:
    """Scores of the same inputs; a metric that does not apply is skipped unless `strict`."""
    check_protocol(protocol)
    check_level(interval)
    codes, factors = inputs.codes, inputs.factors
    has_factors = isinstance(codes, Representation) or factors is not None
    if not isinstance(codes, Representation):
        inputs.rows(samples=None, factors=has_factors)  # bad arrays are refused once, for all
    scores: dict[str, Score] = {}
    skipped: dict[str, str] = {}
    for metric in metrics:
        asked = metric.facts.name if isinstance(metric, Base) else metric
        if not isinstance(asked, str):
            if not callable(asked):
                raise ConfigError(f"A metric is a name or a function; got {shown(asked)}.")
            score = measure_with(asked, inputs, has_factors=has_factors)
            scores[score.name] = score
            continue
        name, at, wish = asked.partition("@")
        try:
            if at:
                check_protocol(wish)
                scores[asked] = score_codes(name, inputs, wish, interval)
                continue
            names = protocols_for(name)
            if not strict and names and protocol not in names:
                skipped[name] = f"It has no protocol '{protocol}'."
                continue
            if not strict and not has_factors and "factors" in facts(name).needs:
                skipped[name] = NO_FACTORS
                continue
            scores[name] = score_codes(name, inputs, protocol, interval)
        except (ConfigError, DataError) as error:
            if strict:
                raise
            skipped[name] = str(error)
    return Table(scores, skipped)


def score_codes(name: str, inputs: Inputs, protocol: str, interval: float | None = None) -> Score:
    """One metric of codes by its name; those of the same inputs share their rows.

    A metric that cannot have an interval is computed without.
    """
    metric, needs = registry.get("metrics", name), facts(name).needs
    if "decoder" in needs:
        raise ConfigError(f"{name} needs a model: metrics.{name}(net, images).")
    if "models" in needs:
        raise ConfigError(f"{name} compares several models: metrics.{name}([codes, codes, ...]).")
    if isinstance(metric, Metric):
        level = interval if metric.takes("interval", protocol) else None
        return metric.score(inputs, protocol, level)
    result = metric(inputs.codes, inputs.factors, protocol=protocol, seed=inputs.seed)
    return result if isinstance(result, Score) else _number(name, result, {"name": protocol})


def measure_with(function: MetricFunction, inputs: Inputs, *, has_factors: bool = True) -> Score:
    """The score of a plain function of codes ``[n, z]`` and factors ``[n, f]``, as arrays."""
    rows = inputs.rows(samples=None, factors=has_factors)
    name = getattr(function, "__name__", type(function).__name__)
    arrays = (rows.codes.cpu().numpy(), *([rows.values.cpu().numpy()] if has_factors else []))
    record = {"name": "custom", "rows": len(rows), "factors": rows.names, "seed": inputs.seed}
    return _number(name, function(*arrays), record)


def _number(name: str, value: Any, record: Mapping[str, Any]) -> Score:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} must return a number; got {type(value).__name__}.") from error
    return Score(name, {name: number}, {}, record)


def code_metrics() -> list[str]:
    """Metrics of the codes of one model; others compare models, or decode."""
    return [name for name in registry.names("metrics") if "codes" in facts(name).needs]
