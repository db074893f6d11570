"""Scoring: a metric measures rows; what is around that is the same for all of them."""

import functools
import inspect
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from jaxtyping import Float
from torch import Tensor

from unknot.core.border import check_type
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.objective import Net
from unknot.metrics.parts.array_rows import QUANTILE_BINS, Array
from unknot.metrics.parts.decoding import Decoded, DecoderSettings, Likelihood, PosteriorSamples
from unknot.metrics.parts.doubts import doubts
from unknot.metrics.parts.drawing import Codes, take_codes
from unknot.metrics.parts.facts import FIELDS, Facts, Protocol, RowSettings, pick_protocol
from unknot.metrics.parts.given import GivenCodes, GivenFactors
from unknot.metrics.parts.inputs import Images, Inputs
from unknot.metrics.parts.intervals import check_level, half_sample_interval, resamples
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.score import Score

S = TypeVar("S")


@dataclass(frozen=True)
class Measured:
    """What a metric computes: numbers by part (``""`` is the score itself) and tensors."""

    values: Mapping[str, Tensor | float]
    parts: Mapping[str, Tensor]
    remarks: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    """What one must know beside the settings to repeat it, such as the version of a solver."""


class Sample(typing.Protocol):
    """What a metric measures: rows, or what was made of them once."""

    def half(self, step: int) -> "Sample":
        """Half of it, drawn without replacement, for an interval."""
        ...


class Base(ABC, Generic[S]):
    """What all metrics have: facts, settings by protocol, a text, a signature and a name."""

    kinds: Sequence[type] = ()
    """Types of settings in addition to those of the protocols."""

    def __init__(
        self, measure: Callable[[Any, S], Measured], facts: Facts, settings: Mapping[str, S]
    ) -> None:
        functools.update_wrapper(self, measure)
        self.__doc__ = _documented(measure.__doc__ or "", facts)
        self.measure, self.facts, self.protocols = measure, facts, settings
        self.__signature__ = inspect.signature(self.__call__)

    @abstractmethod
    def __call__(self, *args: Any, **options: Any) -> Score:
        """Score a model, or several."""

    def pick(self, protocol: str | S) -> Protocol[S]:
        """The settings of a name, or settings as they are."""
        return pick_protocol(self.facts.name, self.protocols, protocol, self.kinds)

    def __repr__(self) -> str:
        plain = [p.replace(annotation=p.empty) for p in self.__signature__.parameters.values()]
        return f"{self.facts.name}{inspect.Signature(plain)}"

    def __reduce__(self) -> str:
        return self.facts.name


class Metric(Base[S]):
    """A metric of the codes of one model: calling it takes rows and measures them.

    ``inspect.signature`` shows the options that the metric has; others are refused.
    """

    def __init__(
        self,
        measure: Callable[[Any, S], Measured],
        facts: Facts,
        settings: Mapping[str, S],
        options: Sequence[str] = ("interval",),
        ceiling: bool = False,
        sample: Callable[[Rows, S], Sample] | None = None,
        kinds: Sequence[type[RowSettings]] = (),
    ) -> None:
        super().__init__(measure, facts, settings)
        self.options, self.ceiling, self.sample, self.kinds = options, ceiling, sample, kinds
        all_settings = [row_settings(facts.name, entry) for entry in settings.values()]
        needs = {*facts.needs, *(need for entry in all_settings for need in entry.needs)}
        needs |= {need for kind in kinds for need in kind.needs}
        hidden = {"test", "kinds", "images", "interval", "logvar"} - {*options}
        if "posteriors" in needs:
            hidden.remove("logvar")
        visible = [p for n, p in self.__signature__.parameters.items() if n not in hidden]
        self.__signature__ = self.__signature__.replace(parameters=visible)

    def __call__(
        self,
        codes: GivenCodes,
        factors: GivenFactors = None,
        *,
        logvar: GivenCodes = None,
        protocol: str | S = "unknot",
        seed: int = 0,
        test: tuple[GivenCodes, GivenFactors] | None = None,
        kinds: Sequence[str] | None = None,
        images: Images = None,
        interval: float | None = None,
    ) -> Score:
        """Score codes; the metric's own text and signature say what it reads."""
        _refuse({"logvar": logvar, "test": test}, self.__signature__.parameters, self.facts.name)
        inputs = Inputs(codes, factors, seed, logvar, test, kinds, images)
        return self.score(inputs, protocol, interval)

    def takes(self, option: str, protocol: str | S = "unknot") -> bool:
        """Whether the metric has an option under a protocol."""
        return option in self._options(row_settings(self.facts.name, self.pick(protocol).settings))

    def _options(self, settings: RowSettings) -> Sequence[str]:
        return self.options if settings.options is None else settings.options

    def score(
        self, inputs: Inputs, protocol: str | S = "unknot", interval: float | None = None
    ) -> Score:
        """The score of inputs that other metrics may share."""
        name = self.facts.name
        choice = self.pick(protocol)
        settings, taking = choice.settings, row_settings(name, choice.settings)
        options = self._options(taking)
        check_level(interval)
        extras = {"interval": interval, "kinds": inputs.kinds, "images": inputs.images}
        _refuse(extras, options, f"{name} under '{choice.name}'")
        needs, reader, split = (*self.facts.needs, *taking.needs), "", None
        if "posteriors" in needs:
            by_paper = "posteriors" not in self.facts.needs and choice.name == "paper"
            reader = f"{name} under the protocol of its paper" if by_paper else name
        if "test" in self.options:
            split = taking.test_samples, taking.distinct
        rows = inputs.rows(
            taking.samples,
            factors="factors" in needs,
            split=split,
            posteriors=reader,
            distinct=taking.distinct,
        )
        rows = rows if taking.gaps else rows.complete()
        sample: Sample = rows if self.sample is None else self.sample(rows, settings)
        measured = self.measure(sample, settings)
        if "factors" in needs:
            separates = self.facts.measures != ("explicitness",)
            remarks = doubts(rows, real=taking.real, separates=separates)
            measured = replace(measured, remarks=(*measured.remarks, *remarks))
        record: dict[str, Any] = {"seed": inputs.seed}
        if "continuous" in rows.kinds:
            record["continuous"] = "numbers" if taking.real else f"{QUANTILE_BINS} quantile bins"
        ceiling, ends = None, None
        if self.ceiling and not reader:
            ceiling = float(self.measure(rows.perfect(), settings).values[""])
        if interval is not None:

            def again(step: int) -> float:
                return float(self.measure(sample.half(step), settings).values[""])

            count = resamples(self.facts.cost)
            value = float(measured.values[""])
            ends = half_sample_interval(again, value, interval, count, self.facts.range)
            record |= {"level": interval, "interval": f"{count} half-samples of the rows"}
        return build(choice, measured, rows, record, interval=ends, ceiling=ceiling)


class DecoderMetric(Base[S]):
    """A metric of a net and images; its settings ``sample`` what it measures."""

    def __call__(
        self,
        net: Net,
        x: Float[Tensor, "..."],
        *,
        likelihood: Likelihood = "bernoulli",
        protocol: str | S = "unknot",
        seed: int = 0,
    ) -> Score:
        """Score one model on images."""
        samples = self.sampling(protocol).sample(net, x, likelihood=likelihood, seed=seed)
        return self.score(samples, protocol=protocol, seed=seed)

    def sampling(self, protocol: str | S) -> DecoderSettings:
        """The settings of a protocol, which say what is decoded."""
        settings: Any = self.pick(protocol).settings
        return typing.cast(DecoderSettings, settings)

    def score(self, samples: Decoded, *, protocol: str | S, seed: int) -> Score:
        """The score of one model from its samples, such as those of a population's member."""
        samples.check()
        choice = self.pick(protocol)
        record: dict[str, Any] = {"seed": seed}
        if isinstance(samples, PosteriorSamples):
            record = {"likelihood": samples.likelihood, **record}
        return build(choice, self.measure(samples, choice.settings), samples.rows, record)


@dataclass(frozen=True)
class Models:
    """Rows of several models on the same points, and the divergence of each code, where known."""

    rows: tuple[Rows, ...]
    kl: Sequence[Array] | None = None


class ModelsMetric(Base[S]):
    """A metric that compares several models."""

    def __call__(
        self,
        models: Sequence[Codes],
        *,
        kl: Sequence[Array] | None = None,
        protocol: str | S = "unknot",
        seed: int = 0,
    ) -> Score:
        """Score models by their codes of the same points."""
        name, choice = self.facts.name, self.pick(protocol)
        check_type("models", models, Sequence)
        if len(models) < 2:
            raise ConfigError(f"{name} compares at least two models; got {len(models)}.")
        samples = row_settings(name, choice.settings).samples
        rows = tuple(take_codes(codes, samples=samples, seed=seed) for codes in models)
        if len(sizes := {len(r) for r in rows}) > 1:
            raise ShapeError(f"{name} needs all models on the same rows; got {sorted(sizes)} rows.")
        measured = self.measure(Models(rows, kl), choice.settings)
        return build(choice, measured, rows[0], {"seed": seed, "models": len(models)})


CodesNeed: TypeAlias = Literal["codes", "factors", "posteriors"]
Measure: TypeAlias = Callable[[Any, S], Measured]


@overload
def metric(
    settings: Mapping[str, S],
    *,
    needs: tuple[Literal["decoder"]],
    **about: Any,
) -> Callable[[Measure[S]], DecoderMetric[S]]: ...
@overload
def metric(
    settings: Mapping[str, S],
    *,
    needs: tuple[Literal["models"]],
    **about: Any,
) -> Callable[[Measure[S]], ModelsMetric[S]]: ...
@overload
def metric(
    settings: Mapping[str, S],
    *,
    needs: tuple[CodesNeed, ...] = ...,
    **about: Any,
) -> Callable[[Measure[S]], Metric[S]]: ...
def metric(
    settings: Mapping[str, Any], *, needs: tuple[Any, ...] = ("codes", "factors"), **about: Any
) -> Callable[[Measure[Any]], Any]:
    """Make a metric of a function ``measure(rows, settings) -> Measured``.

    The metric is called as ``name(codes, factors, *, protocol, seed, ...)``: it picks the settings,
    takes rows as they say (``samples``, and ``test_samples`` and ``distinct`` for one that learns),
    and adds remarks, ceiling and interval.

    Args:
        settings: By the name of a protocol; see `unknot.metrics.parts.facts`. Settings that
            need more than the metric has ``needs`` of their own, such as ``("posteriors",)``.
        needs: ``codes`` with ``factors`` or ``posteriors``; or ``decoder``, where it measures
            posterior samples; or ``models``, where it measures several models.
        **about: Fields of `Facts`, as literals: they are read without importing the file. And, for
            one of codes: ``options``, which keywords it takes beside protocol and seed, of
            ``interval`` (unless given), ``test``, ``kinds`` and ``images``; ``ceiling``, whether to
            report what a perfect code scores on the same rows; ``sample``, which makes of rows what
            is measured, and halves itself for an interval; and ``kinds``, types of settings
            in addition to those of the protocols.

    Example:
        >>> import torch
        >>> @metric({"unknot": None}, better="lower", needs=("codes",))
        ... def spread(rows, settings):
        ...     return Measured({"": rows.codes.std(0).max()}, {})
        >>> spread(torch.arange(10.0)[:, None])
        spread 3.0277 (protocol unknot, 10 rows)
    """
    kind = {"decoder": DecoderMetric, "models": ModelsMetric}.get(needs[0], Metric)
    fields = {key: about.pop(key) for key in about.keys() & FIELDS}
    return lambda measure: kind(
        measure, Facts(measure.__name__, needs=needs, **fields), settings, **about
    )


def row_settings(metric: str, settings: object) -> RowSettings:
    """How a metric takes its rows under settings; None has no say in it."""
    if settings is None:
        return RowSettings()
    if not isinstance(settings, RowSettings):
        raise ConfigError(
            f"Settings of {metric} must be dataclasses derived from unknot.metrics.RowSettings; "
            f"got {type(settings).__name__}."
        )
    return settings


def _documented(text: str, facts: Facts) -> str:
    """A docstring with the range and the reading of a metric after its first paragraph."""
    summary, *rest = text.split("\n\n")
    scale = f"Range: {facts.range_text}; better: {facts.better}."
    return "\n\n".join([summary, "\n    ".join(["    " + scale, facts.reads]).rstrip(), *rest])


def _refuse(extras: Mapping[str, object], options: Collection[str], metric: str) -> None:
    """Raise a ConfigError for an option that a metric does not have."""
    for option, value in extras.items():
        if value is not None and option not in options:
            raise ConfigError(f"{metric} takes no `{option}`; leave it out.")


def build(
    protocol: Protocol[Any],
    measured: Measured,
    rows: Rows,
    record: Mapping[str, Any],
    *,
    interval: tuple[float, float] | None = None,
    ceiling: float | None = None,
) -> Score:
    """A score from what was measured."""
    name = protocol.metric
    values = {f"{name}.{k}" if k else name: float(v) for k, v in measured.values.items()}
    if bad := [k for k, v in values.items() if not abs(v) < float("inf")]:
        raise DataError(f"{bad[0]} is not a finite number on these rows.")
    full_record = protocol.record(rows=len(rows), factors=rows.names, **record, **measured.record)
    # Copies: metrics share tables that rows remember.
    parts = {k: v.detach().cpu().numpy().copy() for k, v in measured.parts.items()}
    remarks = (*rows.remarks, *measured.remarks)
    return Score(name, values, parts, full_record, interval, ceiling, remarks)
