"""Scores of a run's members, kept in its folder and never written twice."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

import unknot
from unknot.core import noise, registry
from unknot.core.errors import ConfigError, DataError, StoreError
from unknot.core.factors import FactorSpace
from unknot.core.likelihood import of_pixels
from unknot.core.objective import Net, Recoding
from unknot.core.representation import Once, Representation
from unknot.engine.checkpoint import write_whole
from unknot.engine.encode import encode
from unknot.metrics import all_scores, importance, protocols
from unknot.metrics.elbo import of_draws as elbo_of_draws
from unknot.metrics.log_likelihood import of_draws as log_likelihood_of_draws
from unknot.metrics.result import Score
from unknot.study.run import Run

DECODING: dict[str, Callable[..., Score]] = {
    "elbo": elbo_of_draws,
    "log_likelihood": log_likelihood_of_draws,
}
IMAGES = 256
"""Images that the scores which decode look at: some ten thousand decoded points for each model."""
LARGEST = 500_000_000
"""Codes of a grid, up to so many numbers, have each a place in memory."""
LONGEST = 100
"""Parts of a score that are longer than this, such as one number for each image, are not kept."""


@runtime_checkable
class Calibrated(Protocol):
    """An objective whose Gaussian decoder has a variance of its own."""

    def variance(self, own: Mapping[str, Tensor], error: Tensor, count: int) -> Tensor:
        """Of each member, from what it has learnt and its squared error over so many pixels."""
        ...


@dataclass(frozen=True)
class Record:
    """One score of one member."""

    id: str
    seed: int
    metric: str
    protocol: dict[str, Any]
    values: dict[str, float]
    ceiling: float | None
    remarks: list[str]
    unknot: str
    parts: dict[str, list[float]] = field(default_factory=dict)
    """One number for each code, factor or the like."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a record the same as another: run, score, its settings and our version."""
        return self.id, self.metric, json.dumps([self.protocol, self.unknot], sort_keys=True)


@dataclass(frozen=True)
class Wanted:
    """Which scores, and how."""

    metrics: Sequence[str]
    protocol: str = "unknot"
    seed: int = 0
    """Of everything the scores draw."""
    strict: bool = True
    """Whether a score that does not apply is an error; else the reason is noted."""

    def __post_init__(self) -> None:
        if self.protocol not in protocols.MEANINGS:
            nearest = registry.nearest(self.protocol, list(protocols.MEANINGS))
            raise ConfigError(f"There is no protocol '{self.protocol}'{nearest}")


@dataclass(frozen=True)
class Model:
    """A trained model as its scores see it."""

    id: str
    seed: int
    space: FactorSpace
    latents: int
    encode: Callable[[Tensor], Tensor]
    """Means and log-variances side by side, ``[n, 2 z]``, of rows of the grid."""
    decoded: Callable[[str], Score]
    """A score that decodes, by its name."""


@dataclass(frozen=True)
class Scored:
    """The scores of one model."""

    id: str
    records: list[Record]
    skipped: dict[str, str]
    """Why others do not apply."""


def evaluate(
    run: Run,
    *,
    protocol: str = "unknot",
    metrics: Sequence[str] | None = None,
    seed: int = 0,
    strict: bool = True,
    known: Sequence[Record] = (),
) -> Iterator[list[Record]]:
    """Score every member that did not diverge; yields the records of one after the other.

    `unknot.study.scoring` does the same in several processes.

    Args:
        run: Trained models.
        protocol: The name of a protocol.
        metrics: Names of scores; all unless given.
        seed: Of everything the scores draw.
        strict: Whether a score that does not apply is an error; else it is left out.
        known: Records of this run; a score among them is not computed again.

    Raises:
        ConfigError: A score or the protocol is unknown, or a score does not apply.
        DataError: All members diverged.
    """
    wanted = Wanted(everything() if metrics is None else metrics, protocol, seed, strict)
    for model in models(run, wanted):
        yield score(model, wanted, known).records


def score(
    model: Model,
    wanted: Wanted,
    known: Sequence[Record] = (),
    on_score: Callable[[], None] = lambda: None,
) -> Scored:
    """Score one model, in this process.

    Args:
        model: What to score.
        wanted: By which scores.
        known: Records; a score among them is not computed again.
        on_score: Called after each score.

    Raises:
        ConfigError: A score does not apply, or is unknown.
        DataError: A score does not apply.
    """
    found, skipped = recalled(model, wanted, known), dict[str, str]()
    for _ in found:
        on_score()
    rest = replace(wanted, metrics=[m for m in wanted.metrics if m not in found])
    for metric, result in results(model, rest):
        if isinstance(result, Record):
            found[metric] = result
        else:
            skipped[metric] = result
        on_score()
    return scored(model, wanted, found, skipped)


def scored(
    model: Model, wanted: Wanted, found: Mapping[str, Record], skipped: Mapping[str, str]
) -> Scored:
    """Scores in the order in which they were asked for."""
    return Scored(
        model.id,
        [found[metric] for metric in wanted.metrics if metric in found],
        {metric: skipped[metric] for metric in wanted.metrics if metric in skipped},
    )


def recalled(model: Model, wanted: Wanted, known: Sequence[Record]) -> dict[str, Record]:
    """Records of wanted scores that need not be computed again."""
    own = [r for r in known if r.id == model.id and r.metric in wanted.metrics]
    return {r.metric: r for r in own if _same(r, wanted)}


def results(model: Model, wanted: Wanted) -> Iterator[tuple[str, Record | str]]:
    """Each score as it comes: its record, or why it does not apply.

    Raises:
        ConfigError: A score does not apply or is unknown, and that is an error.
        DataError: A score does not apply, and that is an error.
    """
    of_codes = _of_codes(model, wanted)
    for metric in wanted.metrics:
        try:
            found = model.decoded(metric) if metric in DECODING else of_codes(metric)
        except (ConfigError, DataError) as error:
            if wanted.strict:
                raise
            yield metric, str(error)
        else:
            yield metric, _record(model, found)


def everything() -> list[str]:
    """The scores of one trained model."""
    return sorted([*all_scores.names(), *DECODING])


def models(run: Run, wanted: Wanted) -> list[Model]:
    """The members of a run that did not diverge.

    Raises:
        DataError: There is none.
    """
    if len(run.diverged) == len(run.spec.seed_list):
        raise DataError("No member can be scored: all of them diverged.")
    members, latents = len(run.spec.seed_list), run.spec.net.settings.latents
    decoded = _decoded(run, wanted)

    def side_by_side(index: Tensor) -> Tensor:
        q = encode(run.training.population, run.dataset, index)
        return torch.stack([q.mean, q.logvar], dim=1).permute(2, 0, 1, 3).flatten(1)

    # Rows are encoded once for all members; who has one member remembers them itself.
    size, width = run.dataset.space.size, 2 * latents * members
    rows = _once(side_by_side, size, width) if members > 1 else side_by_side

    def model(member: int, name: str, seed: int) -> Model:
        own = slice(2 * latents * member, 2 * latents * (member + 1))
        return Model(
            name,
            seed,
            run.dataset.space,
            latents,
            lambda index: rows(index)[:, own],
            lambda metric: decoded(metric, member),
        )

    names = zip(run.spec.ids(), run.spec.seed_list, strict=True)
    return [model(i, *each) for i, each in enumerate(names) if i not in run.diverged]


def _of_codes(model: Model, wanted: Wanted) -> Callable[[str], Score]:
    """The scores of codes, by name; each row is encoded once for all of them."""
    latents = model.latents
    rows = _once(model.encode, model.space.size, 2 * latents)
    codes = Representation(model.space, latents, lambda index: rows(index)[:, :latents])
    logvar = Representation(model.space, latents, lambda index: rows(index)[:, latents:])

    def score(metric: str) -> Score:
        table = all_scores.evaluate(
            codes, logvar=logvar, protocol=wanted.protocol, metrics=[metric], seed=wanted.seed
        )
        return table[metric]

    return score


def _once(encode: Callable[[Tensor], Tensor], size: int, width: int) -> Callable[[Tensor], Tensor]:
    """Codes by row number, each row encoded when it is first asked for and remembered.

    As `Once`, but with a place for every point of the grid: votes ask for a million rows, and
    looking these up among sorted ones takes longer than the vote. Memory is taken as it is filled.
    """
    if size * width > LARGEST:
        return Once(encode)
    known = torch.zeros(size, dtype=torch.bool)
    codes = torch.empty(size, width)

    def rows(index: Tensor) -> Tensor:
        new = index[~known[index]].unique()
        if len(new):
            codes[new], known[new] = encode(new), True
        return codes[index]

    return rows


def _decoded(run: Run, wanted: Wanted) -> Callable[[str, int], Score]:
    """The scores that decode, by name and member; all members are decoded in one pass."""
    population, objective = run.training.population, run.spec.objective

    @cache
    def drawn(metric: str) -> importance.Draws:
        if isinstance(objective.settings, Recoding):
            raise ConfigError(
                f"{metric} needs posteriors that the decoder was trained with; the encoder of "
                f"{objective.name} does not give them."
            )
        if not hasattr(objective.settings, "likelihood"):
            raise ConfigError(
                f"{metric} needs a Bernoulli or Gaussian likelihood; {objective.name} has none."
            )
        # A loss of blurred images is no density. What is left without it is one of the same means,
        # and compares with that of models trained on pixels alone.
        likelihood = of_pixels(objective.settings.likelihood)
        chosen = protocols.pick(metric, protocols.of(metric), wanted.protocol)
        size = len(run.dataset)
        index = torch.arange(size)
        if size > IMAGES:
            index = noise.integers(wanted.seed, "metric/images", 0, IMAGES, high=size)
        return importance.draw(
            Net(population.encode, population.decode),
            run.dataset.batch(index),
            likelihood=likelihood,
            draws=chosen.settings.draws,
            seed=wanted.seed,
            variance=_variance(run, metric),
        )

    def score(metric: str, member: int) -> Score:
        own = drawn(metric).member(member)
        return DECODING[metric](own, protocol=wanted.protocol, seed=wanted.seed)

    return score


def _variance(run: Run, metric: str) -> importance.Variance | None:
    """That of the decoder, where the objective has one of its own."""
    objective = run.spec.objective.settings
    if not isinstance(objective, Calibrated):
        return None
    state = run.training.population.state()
    own = {n.removeprefix("own."): v.double() for n, v in state.items() if n.startswith("own.")}
    pixels = math.prod(run.dataset.shape)

    def variance(error: Tensor) -> Tensor:
        try:
            return objective.variance(own, error, pixels)
        except ConfigError as refusal:
            raise ConfigError(f"{metric} needs the density of a Gaussian: {refusal}") from refusal

    return variance


def _same(record: Record, wanted: Wanted) -> bool:
    """Whether a score would be computed with the settings of a record."""
    settings = protocols.of(record.metric).get(wanted.protocol)
    if settings is None or record.unknot != unknot.__version__:
        return False
    chosen = protocols.Protocol(record.metric, wanted.protocol, settings)
    return _plain(chosen.record(seed=wanted.seed)).items() <= record.protocol.items()


def _record(model: Model, score: Score) -> Record:
    short = {k: v for k, v in score.parts.items() if v.ndim == 1 and len(v) <= LONGEST}
    return Record(
        model.id,
        model.seed,
        score.name,
        _plain(score.protocol),
        dict(score.values),
        score.ceiling,
        list(score.remarks),
        unknot.__version__,
        {k: v.astype(float).tolist() for k, v in short.items()},
    )


def _plain(protocol: Any) -> dict[str, Any]:  # noqa: ANN401
    plain: dict[str, Any] = json.loads(json.dumps(dict(protocol), default=str))
    return plain


def read(folder: Path) -> list[Record]:
    """The records of a run folder.

    Raises:
        StoreError: A line of the file is not a record.
    """
    path = folder / "scores.jsonl"
    if not path.exists():
        return []
    try:
        return [Record(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    except (ValueError, TypeError) as error:
        raise StoreError(f"{path} is damaged: {error}. Move it away and score again.") from error


def append(folder: Path, records: Sequence[Record]) -> int:
    """Add records to a run folder; those that are there already stay as they are.

    Returns:
        How many were new.

    Raises:
        WriteError: The disk refused; the file is as it was.
    """
    old = read(folder)
    known = {record.key for record in old}
    new = [record for record in records if record.key not in known]
    if new:
        lines = "".join(json.dumps(asdict(record)) + "\n" for record in [*old, *new])
        write_whole(folder / "scores.jsonl", lines.encode())
    return len(new)
