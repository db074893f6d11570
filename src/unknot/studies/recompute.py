"""Numbers of a study or a run computed again, each beside its record.

Checksums say that a file is what was written. Whether what was written is right shows only when it
is computed again: scores from the stored weights, or a whole run from its settings.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from unknot.core import noise
from unknot.core.errors import ConfigError, DataError, StoreError
from unknot.engine.checkpoint import unpack_tensors
from unknot.engine.device import threads
from unknot.runs import records, status, verbs
from unknot.runs.decoding import members_with_contrasts
from unknot.runs.evaluate import ScoringRequest, compute, models
from unknot.runs.folder import RunFolder
from unknot.runs.loading import load_training
from unknot.runs.records import Record
from unknot.runs.spec import TrainSpec
from unknot.runs.status import versions
from unknot.runs.training import Training, Watcher, member_specs
from unknot.studies.execute import task
from unknot.studies.study import Study

MACHINE = ("unknot", "torch", "threads")
"""Versions that decide the bits of a training, besides the device."""


@dataclass(frozen=True)
class StoredModel:
    """A trained model of a study or of a run folder."""

    id: str
    seed: int
    folder: RunFolder
    specs: Sequence[TrainSpec]
    """One for each member of the folder."""
    member: int

    def load(self, device: str, step: int | None = None) -> Training:
        """The model as it was stored."""
        return load_training(self.folder, self.specs, device, member=self.member, step=step)

    def records(self) -> list[Record]:
        """Its scores."""
        every = records.read(self.folder.path)
        return [record for record in every if record.id == self.id and record.applies]


@dataclass(frozen=True)
class Recomputed:
    """A number of a record, and the same number computed again."""

    id: str
    seed: int
    kind: Literal["score", "logged value", "weights"]
    name: str
    protocol: str
    recorded: float
    """Of weights 0, as the number is how far they are from those of the record."""
    again: float | None
    """None where it was not computed."""
    reason: str = ""
    """Why it was not computed, or why it need not agree."""
    part: str | None = None
    step: int | None = None
    bits: bool | None = None
    """Of weights: whether all bits are equal."""

    @property
    def difference(self) -> float | None:
        """As a share of the record where that is above 1; 0 where both are undefined."""
        if self.again is None:
            return None
        if math.isnan(self.recorded) and math.isnan(self.again):
            return 0.0
        apart = abs(self.again - self.recorded) / max(1.0, abs(self.recorded))
        return math.inf if math.isnan(apart) else apart

    def differs(self, tolerance: float) -> bool:
        """Whether it should agree and does not."""
        if self.reason:
            return False
        return self.difference is None or self.difference > tolerance


def stored_models(path: Path) -> list[StoredModel]:
    """The trained models of a study or a run folder, without those that diverged."""
    if not (path / "study.db").exists():
        return _models_of_run(RunFolder(path))
    study = Study.open(path)
    specs_of = cache(lambda population: task.from_store(study.store, population).specs())
    found = []
    for run in study.store.runs():
        if run.current and run.ended == "done":
            place, member = study.place(run.id, weights=False)
            specs = specs_of(run.population)
            found.append(StoredModel(run.id, run.seed, RunFolder(place), specs, member))
    return found


def _models_of_run(folder: RunFolder) -> list[StoredModel]:
    record = folder.record()
    if record.get("status") not in ("done", "diverged"):
        return []
    specs = member_specs([folder.spec()])
    return [
        StoredModel(entry["id"], entry["seed"], folder, specs, member)
        for member, entry in enumerate(record["members"])
        if entry["diverged_at"] is None
    ]


def sample(stored: Sequence[StoredModel], n: int, seed: int) -> list[StoredModel]:
    """Some of the models, each as likely as any other; all of them where there are no more.

    Raises:
        StoreError: There are none.
    """
    if not stored:
        raise StoreError("There is no trained model to compute again.")
    chosen = noise.permutation(seed, "check", 0, len(stored), 1)[:n, 0].sort().values
    return [stored[i] for i in chosen.tolist()]


def rescore(
    model: StoredModel, device: str, on_score: Callable[[], None] = lambda: None
) -> Iterator[Recomputed]:
    """All scores of a model, computed again from its stored weights."""
    for step, of_step in groupby(sorted(model.records(), key=_step), key=_step):
        if step and not model.folder.step_file(step).exists():  # such as those of the best step
            for record in of_step:
                yield from _beside(record, None, f"weights of step {step} are not there by number")
                on_score()
            continue
        training = model.load(device, step or None)
        yield from _score_again(training, [*of_step], on_score)


def retrain(
    model: StoredModel,
    device: str,
    watch: Watcher = lambda _: None,
    on_score: Callable[[], None] = lambda: None,
) -> Iterator[Recomputed]:
    """Weights, last logged values and scores at the end, after another training from its settings.

    On another device or with other versions each number carries that as its reason, since rounding
    makes another model of every long training.
    """
    record = model.folder.record_there()
    with threads(record.get("versions", {}).get("threads")):  # another number gives other bits
        spec = replace(member_specs(model.specs)[model.member], track=())
        run = verbs.train(spec, device=device, watch=watch)
    reason = _unlike(record, run.training)
    yield _compare_weights(model, record, run.training, reason)
    before = record["members"][model.member]["last"]
    after = members_with_contrasts(run.training)[0]["last"]
    for name, value in before.items():
        yield Recomputed(
            model.id, model.seed, "logged value", name, "", _number(value),
            _number(after.get(name)), reason,
        )  # fmt: skip
    last = [record for record in model.records() if record.step is None]
    for score in _score_again(run.training, last, on_score):
        yield Recomputed(**{**vars(score), "reason": score.reason or reason})


def _compare_weights(
    model: StoredModel, record: dict[str, Any], training: Training, reason: str
) -> Recomputed:
    """How far the weights of another training are from the stored ones.

    Those of an archive in half precision are compared in it.
    """
    found = Recomputed(model.id, model.seed, "weights", "weights", "", 0.0, None, reason)
    if model.folder.archived_weights == "none":
        return replace(found, reason="the archive has no weights")
    file = model.folder.weights_file
    stored = unpack_tensors(status.read_file(file.parent, file.name, record), file)
    new = training.weights()
    if {*stored} != {*new}:
        return replace(found, name=f"weights ({min({*stored} ^ {*new})} is in one of both)")
    bits, gaps = True, {"weights": 0.0}
    for name, tensor in stored.items():
        before, after = tensor[model.member], new[name][0].cpu().to(tensor.dtype)
        bits = bits and before.numpy().tobytes() == after.numpy().tobytes()
        difference = (after.double() - before.double()).abs()
        gaps[f"weights ({name})"] = float(difference.max()) if len(difference.flatten()) else 0.0
    worst = max(gaps, key=lambda name: math.inf if math.isnan(gaps[name]) else gaps[name])
    return replace(found, name=worst, again=gaps[worst], bits=bits)


def count_scores(stored: Sequence[StoredModel]) -> int:
    """How many scores the records of some models have."""
    return sum(len(model.records()) for model in stored)


def _step(record: Record) -> int:
    return record.step or 0


def _score_again(
    training: Training, stored: Sequence[Record], on_score: Callable[[], None]
) -> Iterator[Recomputed]:
    """Scores of the same settings share the codes of their rows."""
    for (protocol, seed, part), alike in groupby(sorted(stored, key=_settings), key=_settings):
        by_metric = {record.metric: record for record in alike}
        try:
            request = ScoringRequest([*by_metric], protocol, seed, strict=False, part=part or None)
            scores = compute(models(training, request)[0], request)
        except (ConfigError, DataError) as error:  # a protocol that is not here, or no such part
            for record in by_metric.values():
                yield from _beside(record, None, str(error))
            continue
        for again in scores:
            yield from _beside(by_metric[again.metric], again)
            on_score()


def _settings(record: Record) -> tuple[str, int, str]:
    return record.protocol["name"], record.protocol["seed"], record.part or ""


def _beside(record: Record, again: Record | None, reason: str = "") -> Iterator[Recomputed]:
    if again is not None:
        reason = _changed(record.protocol, again.protocol) if again.applies else again.remarks[0]
    for name, value in record.values.items():
        other = again.values.get(name) if again else None
        yield Recomputed(
            record.id, record.seed, "score", name, record.protocol["name"], _number(value),
            None if other is None else _number(other), reason, record.part, record.step,
        )  # fmt: skip


def _changed(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Which settings of a protocol are others than those of a record."""
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return f"the protocol has another {', '.join(names)} here" if names else ""


def _unlike(record: dict[str, Any], training: Training) -> str:
    """What makes a training elsewhere round in another way; nothing where all of it is the same."""
    here = {"device": training.context.runtime.device.type, **versions(training.threads)}
    there = {"device": record["device"].partition(":")[0], **record.get("versions", {})}
    names = ("device", *MACHINE) if here["device"] == "cpu" else ("device", *MACHINE[:2])
    others = [name for name in names if there.get(name) != here[name]]
    words = [f"{name} {there.get(name, 'unknown')} there, {here[name]} here" for name in others]
    return "; ".join(words)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
