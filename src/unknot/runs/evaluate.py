"""Scores of a run's members."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import torch
from torch import Tensor

import unknot
from unknot.core import noise
from unknot.core.errors import ConfigError, DataError
from unknot.core.factor_table import Space, as_table
from unknot.core.representation import CodeCache, Representation
from unknot.engine.encode import encode
from unknot.metrics.parts import evaluation
from unknot.metrics.parts.facts import Protocol, RowSettings, check_protocol, protocols_for
from unknot.metrics.parts.inputs import Inputs
from unknot.metrics.parts.intervals import check_level
from unknot.metrics.parts.score import Score
from unknot.runs.context import part_rows
from unknot.runs.decoding import decoding, reconstruction_errors
from unknot.runs.metric_names import RECON, decodes, model_metrics
from unknot.runs.records import Record, protocol_record
from unknot.runs.run import Run
from unknot.runs.training import Training

OnRows: TypeAlias = Callable[[int, int], None]
"""Told of rows done, and all rows."""
PART_ROWS = 20_000
"""Rows of a part that scores look at, at most."""
NO_INTERVAL = "no interval: halves of the rows would be another score"
LONGEST = 100
"""Parts of a score that are longer than this, such as one number for each image, are not kept."""


@dataclass(frozen=True)
class ScoringRequest:
    """Which metrics, and how."""

    metrics: Sequence[str]
    protocol: str = "unknot"
    seed: int = 0
    """Random seed for the metrics."""
    strict: bool = True
    """Whether a metric that does not apply is an error; else the reason is noted."""
    part: str | None = None
    """The part of the run's split whose rows are scored; all rows when None."""
    interval: float | None = None
    """Level of an interval over rows, for the metrics that can have one."""

    def __post_init__(self) -> None:
        check_protocol(self.protocol)
        check_level(self.interval)

    def without(self, metrics: Container[str]) -> "ScoringRequest":
        """The same request for the other metrics."""
        return replace(self, metrics=[m for m in self.metrics if m not in metrics])

    def only(self, metrics: Container[str]) -> "ScoringRequest":
        """The same request for some of the metrics."""
        return replace(self, metrics=[m for m in self.metrics if m in metrics])


@dataclass(frozen=True)
class Model:
    """A trained model as metrics see it."""

    id: str
    seed: int
    space: Space
    latents: int
    encode: Callable[[Tensor], Tensor]
    """Means and log-variances side by side, ``[n, 2 z]``, of rows of the grid."""
    decoded: Callable[[str], Score]
    """The score of a metric that decodes, by its name."""
    rows: Tensor | None = None
    """The rows to look at where a part is scored."""
    train_rows: Tensor | None = None
    """Rows of the training part where another part is scored."""
    step: int | None = None
    """When in training the weights were so; None for the end."""
    errors: Callable[[], dict[str, float]] = dict
    """Of its reconstructions."""


def evaluate(
    run: Run,
    *,
    protocol: str = "unknot",
    metrics: Sequence[str] | None = None,
    seed: int = 0,
    strict: bool = True,
    stored: Sequence[Record] = (),
    part: str | None = None,
    interval: float | None = None,
    on_rows: OnRows = lambda _, __: None,
) -> Iterator[list[Record]]:
    """Score every member that did not diverge; yields the records of one after the other.

    `unknot.studies.execute.score_models` does the same in several processes.

    Args:
        run: Trained models.
        protocol: The name of a protocol.
        metrics: Names; all unless given.
        seed: Random seed for the metrics.
        strict: Whether a metric that does not apply is an error; else it is left out.
        stored: Records of this run; a score among them is not computed again.
        part: Score rows of this part of the run's split; all rows when None.
        interval: Level of an interval over rows, for the metrics that can have one.
        on_rows: Told how many rows are encoded while scores wait for them, and of how many.
    """
    names = model_metrics(part) if metrics is None else metrics
    request = ScoringRequest(names, protocol, seed, strict, part, interval)
    for model in models(run.training, request, on_rows):
        yield [record for record in score(model, request, stored) if record.applies]


def score(
    model: Model,
    request: ScoringRequest,
    stored: Sequence[Record] = (),
    on_score: Callable[[], None] = lambda: None,
) -> list[Record]:
    """Score one model, in this process.

    Args:
        model: What to score.
        request: By which metrics.
        stored: Records; a score among them is not computed again.
        on_score: Called after each score.
    """
    records = recall(model, request, stored)
    for _ in records:
        on_score()
    for record in compute(model, request.without(records)):
        records[record.metric] = record
        on_score()
    return [records[metric] for metric in request.metrics]


def recall(model: Model, request: ScoringRequest, stored: Sequence[Record]) -> dict[str, Record]:
    """Records of requested scores that need not be computed again, by metric."""
    return {
        record.metric: record
        for record in stored
        if record.id == model.id
        and record.metric in request.metrics
        and (record.part, record.step) == (request.part, model.step)
        and _same(record, request)
    }


def compute(model: Model, request: ScoringRequest) -> Iterator[Record]:
    """The record of each score as it comes; of one that does not apply, it says why."""
    of_codes = cache(lambda: _of_codes(model, request))  # which encodes the rows of a part
    for metric in request.metrics:
        try:
            if metric == RECON:
                yield _plain_record(model, request, metric, values=model.errors())
                continue
            score = model.decoded(metric) if decodes(metric) else of_codes()(metric)
        except (ConfigError, DataError) as error:
            if request.strict:
                raise
            yield _plain_record(model, request, metric, remarks=[str(error)])
        else:
            record = replace(_record(model, score), part=request.part, step=model.step)
            if request.interval is not None and score.interval is None:
                record.remarks.append(NO_INTERVAL)
            yield record


def models(
    training: Training, request: ScoringRequest, on_rows: OnRows = lambda _, __: None
) -> list[Model]:
    """The members of a population that did not diverge.

    Args:
        training: The population.
        request: By which they will be scored.
        on_rows: Told how many rows are encoded while scores wait for them, and of how many.
    """
    names = [*zip(training.ids, training.seeds, strict=True)]
    if len(training.diverged) == len(names):
        raise DataError("No member can be scored: all of them diverged.")
    dataset, latents = training.context.dataset, training.context.net.latents
    part = None if request.part is None else _some_rows(training, request.part, request.seed)
    other = request.part not in (None, "train")
    train = _some_rows(training, "train", request.seed) if other else None
    decoded = decoding(training, request.protocol, request.seed, part)

    @cache
    def errors() -> list[dict[str, float]]:
        return reconstruction_errors(training, request.seed, part)

    def both(index: Tensor) -> Tensor:
        count = len(index)
        q = encode(training.population, dataset, index, on_rows=lambda done: on_rows(done, count))
        return torch.cat([q.mean, q.logvar], dim=-1)

    # Rows are encoded once for all members; who has one member remembers them itself.
    rows = (
        CodeCache(both, dataset.space.size) if len(names) > 1 else lambda index, _: both(index)[0]
    )

    def model(member: int, name: str, seed: int) -> Model:
        return Model(
            name,
            seed,
            dataset.space,
            latents,
            lambda index: rows(index, member),
            lambda metric: decoded(metric, member),
            part,
            train,
            training.weight_steps.get(member),
            lambda: errors()[member],
        )

    return [
        model(i, *names_of_model)
        for i, names_of_model in enumerate(names)
        if i not in training.diverged and not training.ended_before_weights(i)
    ]


def _of_codes(model: Model, request: ScoringRequest) -> Callable[[str], Score]:
    """The scores of codes, by name; rows are encoded and taken once for all of them."""
    latents = model.latents
    rows = CodeCache(model.encode, model.space.size)
    codes = Representation(model.space, latents, lambda index: rows(index)[:, :latents])
    logvar = Representation(model.space, latents, lambda index: rows(index)[:, latents:])

    if model.rows is not None:
        return _of_rows(model, model.rows, codes, logvar, request)
    inputs = Inputs(codes, logvar=logvar, seed=request.seed)
    return lambda metric: evaluation.score_codes(metric, inputs, request.protocol, request.interval)


def _of_rows(
    model: Model,
    index: Tensor,
    codes: Representation,
    logvar: Representation,
    request: ScoringRequest,
) -> Callable[[str], Score]:
    """The scores of some rows; they fill no grid, and are scored as anyone's arrays are."""
    factors = None if model.space.stands_in else as_table(model.space, index)
    inputs = Inputs(codes.codes(index), factors, request.seed, logvar.codes(index))

    @cache
    def across() -> Inputs:
        """Rows of the training part, with those of this part to test on."""
        train = model.train_rows
        known = None if train is None or factors is None else as_table(model.space, train)
        if train is None or known is None:
            return inputs
        test = inputs.codes, factors
        return Inputs(codes.codes(train), known, request.seed, logvar.codes(train), test)

    def score(metric: str) -> Score:
        settings = protocols_for(metric).get(request.protocol)
        crosses = isinstance(settings, RowSettings) and settings.across_parts
        some = across() if crosses else inputs
        return evaluation.score_codes(metric, some, request.protocol, request.interval)

    return score


def _some_rows(training: Training, part: str, seed: int) -> Tensor:
    """Rows of a part, each once, at most so many as scores look at."""
    rows = part_rows(training.context, part)
    if len(rows) <= PART_ROWS:
        return rows
    return rows[noise.permutation(seed, "metric/part", 0, len(rows), 1)[:PART_ROWS, 0]]


def _same(record: Record, request: ScoringRequest) -> bool:
    """Whether a score would be computed with the settings of a record."""
    if record.metric == RECON:
        settings = {"name": request.protocol, "seed": request.seed}
        return record.unknot == unknot.__version__ and record.protocol == settings
    protocol_settings = protocols_for(record.metric).get(request.protocol)
    if protocol_settings is None or record.unknot != unknot.__version__:
        return False
    protocol = Protocol(record.metric, request.protocol, protocol_settings)
    return protocol_record(protocol.record(seed=request.seed)).items() <= record.protocol.items()


def _plain_record(
    model: Model,
    request: ScoringRequest,
    metric: str,
    *,
    values: dict[str, float] | None = None,
    remarks: Sequence[str] = (),
) -> Record:
    """The record of what has no protocol of its own: errors, or why there is no score."""
    return Record(
        model.id,
        model.seed,
        metric,
        {"name": request.protocol, "seed": request.seed},
        values or {},
        None,
        [*remarks],
        unknot.__version__,
        part=request.part,
        step=model.step,
    )


def _record(model: Model, score: Score) -> Record:
    short = {k: v for k, v in score.parts.items() if v.ndim == 1 and len(v) <= LONGEST}
    return Record(
        model.id,
        model.seed,
        score.name,
        protocol_record(score.protocol),
        dict(score.values),
        score.ceiling,
        list(score.remarks),
        unknot.__version__,
        {k: v.astype(float).tolist() for k, v in short.items()},
        interval=None if score.interval is None else [*score.interval],
    )
