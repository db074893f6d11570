"""Scores of a run's members, kept in its folder and never written twice."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

import unknot
from unknot.core import noise, registry
from unknot.core.errors import ConfigError, DataError, StoreError
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


def evaluate(
    run: Run,
    *,
    protocol: str = "unknot",
    metrics: Sequence[str] | None = None,
    seed: int = 0,
    known: Sequence[Record] = (),
    on_score: Callable[[int], None] = lambda _: None,
    on_skip: Callable[[str, str], None] = lambda _, __: None,
) -> Iterator[list[Record]]:
    """Score every member that did not diverge; yields the records of one after the other.

    Args:
        run: Trained models.
        protocol: The name of a protocol.
        metrics: Names of scores; all that apply unless given.
        seed: Of everything the scores draw.
        known: Records of this run; a score among them is not computed again.
        on_score: Called with the number of scores done so far, of all members.
        on_skip: Called with the name of a score that does not apply, and why.

    Raises:
        ConfigError: A score or the protocol is unknown.
        DataError: All members diverged.
    """
    if len(run.diverged) == len(run.spec.seed_list):
        raise DataError("No member can be scored: all of them diverged.")
    if protocol not in protocols.MEANINGS:
        nearest = registry.nearest(protocol, list(protocols.MEANINGS))
        raise ConfigError(f"There is no protocol '{protocol}'{nearest}")
    names = list(metrics) if metrics is not None else everything()
    posteriors, decoded = _posteriors(run), _decoded(run, protocol, seed)

    def score(metric: str, member: int) -> Score:
        if metric in DECODING:
            return decoded(metric, member)
        codes, logvar = posteriors[member]
        table = all_scores.evaluate(
            codes, logvar=logvar, protocol=protocol, metrics=[metric], seed=seed
        )
        return table[metric]

    done = 0
    for i, (name, own) in enumerate(zip(run.spec.ids(), run.spec.seed_list, strict=True)):
        if i in run.diverged:
            continue
        same = [r for r in known if r.id == name and r.metric in names]
        mine = {r.metric: r for r in same if _same(r, protocol, seed)}
        records = []
        for metric in names:
            try:
                if metric not in mine:
                    mine[metric] = _record(name, own, score(metric, i))
                records.append(mine[metric])
            except (ConfigError, DataError) as error:
                if metrics is not None:
                    raise
                on_skip(metric, str(error))
            done += 1
            on_score(done)
        yield records


def everything() -> list[str]:
    """The scores of one trained model."""
    return sorted([*all_scores.names(), *DECODING])


def _posteriors(run: Run) -> list[tuple[Representation, Representation]]:
    """Means and log-variances of each member, of rows that are encoded once for all of them."""
    members, latents = len(run.spec.seed_list), run.spec.net.settings.latents

    def side_by_side(index: Tensor) -> Tensor:
        q = encode(run.training.population, run.dataset, index)
        return torch.cat([q.mean, q.logvar]).transpose(0, 1).flatten(1)

    rows = Once(side_by_side)

    def column(place: int) -> Representation:
        own = slice(place * latents, (place + 1) * latents)
        return Representation(run.dataset.space, latents, lambda index: rows(index)[:, own])

    return [(column(i), column(members + i)) for i in range(members)]


def _decoded(run: Run, protocol: str, seed: int) -> Callable[[str, int], Score]:
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
        chosen = protocols.pick(metric, protocols.of(metric), protocol)
        size = len(run.dataset)
        index = torch.arange(size)
        if size > IMAGES:
            index = noise.integers(seed, "metric/images", 0, IMAGES, high=size)
        return importance.draw(
            Net(population.encode, population.decode),
            run.dataset.batch(index),
            likelihood=likelihood,
            draws=chosen.settings.draws,
            seed=seed,
            variance=_variance(run, metric),
        )

    def score(metric: str, member: int) -> Score:
        return DECODING[metric](drawn(metric).member(member), protocol=protocol, seed=seed)

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


def _same(record: Record, protocol: str, seed: int) -> bool:
    """Whether a score would be computed with the settings of a record."""
    settings = protocols.of(record.metric).get(protocol)
    if settings is None or record.unknot != unknot.__version__:
        return False
    wanted = _plain(protocols.Protocol(record.metric, protocol, settings).record(seed=seed))
    return wanted.items() <= record.protocol.items()


def _record(name: str, seed: int, score: Score) -> Record:
    short = {k: v for k, v in score.parts.items() if v.ndim == 1 and len(v) <= LONGEST}
    return Record(
        name,
        seed,
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
