"""Scoring: the scores of several models, here or by workers side by side.

The models stay in this process, with their device. A worker asks for the rows that its scores need
and gets them as they would be encoded here, in the same portions: who computes a score does not
change it. Nothing is written to the disk on the way. Scores that decode are computed here, and so
is whatever workers fail to do: an error is the error that it would be here.
"""

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import TypeAlias

import torch
from torch import Tensor

from unknot.core.factors import FactorSpace
from unknot.engine.device import cores
from unknot.metrics import facts
from unknot.metrics.parts.score import Score
from unknot.runs import evaluate
from unknot.runs.evaluate import Model, ScoringRequest
from unknot.runs.metric_names import decodes
from unknot.runs.records import Record
from unknot.runs.training import Stopped
from unknot.studies.execute.events import Failed, Progress, Scored, Warned
from unknot.studies.execute.local import LocalPool, NoWorkersError
from unknot.studies.execute.machine import threads_in
from unknot.studies.execute.task import ScoreTask

ReportProgress: TypeAlias = Callable[[str, int], None]
"""Told what is being done (``train`` or ``score``) and how far: steps, or scores of all members."""
RequestCodes: TypeAlias = Callable[[bytes], bytearray]
"""Gives codes of rows, both as bytes."""


def scoring_processes() -> int:
    """How many may score side by side: OMP_NUM_THREADS, as Ray sets it, may say fewer than cores.

    Example:
        >>> scoring_processes() >= 1
        True
    """
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores(), max(1, int(limit))) if limit.isdecimal() else cores()


def score_models(
    models: Iterable[Model],
    request: ScoringRequest,
    *,
    stored: Sequence[Record] = (),
    processes: int = 1,
    on_score: Callable[[int], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[list[Record], None, None]:
    """Score models; yields the records of one after the other, in their order.

    Args:
        models: Each is taken when it is its turn, or all at once where workers score.
        request: By which scores.
        stored: Records; a score among them is not computed again.
        processes: The most workers that score side by side, each with one thread; with one, or a
            single model, all is done here. Close the iterator to end them.
        on_score: Called with the number of scores done so far, of all models.
        stop: Asked after every score, and several times a second where workers score.
    """
    # A worker does not know which rows are in a part, nor the labels of a table.
    if processes > 1 and request.part is None:
        models = [*models]
        if len(models) > 1 and models[0].space.is_grid:
            yield from _side_by_side(models, request, stored, processes, on_score, stop)
            return
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        on_score(done)
        _check(stop)

    for model in models:
        yield evaluate.score(model, request, stored, count)


def _check(stop: Callable[[], bool]) -> None:
    if stop():
        raise Stopped


class Scoreboard:
    """Records of models that are being scored, as they come from here and from workers."""

    def __init__(
        self,
        models: Sequence[Model],
        request: ScoringRequest,
        stored: Sequence[Record],
        on_score: Callable[[int], None],
        stop: Callable[[], bool],
    ) -> None:
        self.models = {model.id: model for model in models}
        self.request, self.on_score, self.stop = request, on_score, stop
        self.records = {m.id: evaluate.recall(m, request, stored) for m in models}
        self.partial: dict[str, int] = {}
        """Scores that workers have computed of models that they are at."""
        self.reported = 0
        self.due = list(self.models)

    def missing(self, key: str) -> ScoringRequest:
        """The scores of a model that are not there yet."""
        return self.request.without(self.records[key])

    def compute(self, key: str, request: ScoringRequest) -> None:
        """Compute scores of a model here."""
        for record in evaluate.compute(self.models[key], request):
            self.records[key][record.metric] = record
            self.tell()
            _check(self.stop)

    def add(self, key: str, records: Sequence[Record]) -> None:
        """Take the records that a worker has computed."""
        self.partial.pop(key, None)
        step = self.models[key].step  # workers know of codes alone
        self.records[key].update({r.metric: replace(r, step=step) for r in records})
        self.tell()

    def tell(self) -> None:
        """Say how many scores there are, where that is more than was said."""
        done = sum(map(len, self.records.values())) + sum(self.partial.values())
        if done > self.reported:
            self.reported = done
            self.on_score(done)

    def finished(self) -> Iterator[list[Record]]:
        """Records of models that are complete and whose turn it is."""
        while self.due and not self.missing(self.due[0]).metrics:
            records = self.records[self.due.pop(0)]
            yield [records[metric] for metric in self.request.metrics]


def _side_by_side(
    models: Sequence[Model],
    request: ScoringRequest,
    stored: Sequence[Record],
    processes: int,
    on_score: Callable[[int], None],
    stop: Callable[[], bool],
) -> Iterator[list[Record]]:
    board = Scoreboard(models, request, stored, on_score, stop)
    board.tell()
    tasks = [score_task(model, board.missing(model.id), i) for i, model in enumerate(models)]

    def answer(key: str, rows: bytearray) -> bytes:
        codes = board.models[key].encode(torch.frombuffer(rows, dtype=torch.int64))
        return codes.numpy().tobytes()

    with LocalPool(
        [task for task in tasks if task.request["metrics"]],
        workers=processes,
        # No GPU: what a worker needs of one is computed here.
        environment={**threads_in(1), "CUDA_VISIBLE_DEVICES": ""},
        replace_dead=False,
        answer=answer,
        stop=stop,
        grace=0.0,  # they have nothing to save
    ) as pool:
        for key in board.models:  # while workers start
            missing = board.missing(key).metrics
            decoding = [metric for metric in missing if decodes(metric)]
            board.compute(key, replace(request, metrics=decoding))
        yield from board.finished()
        try:
            for event in pool.events():
                if isinstance(event, Scored):
                    board.add(event.key, event.records)
                elif isinstance(event, Failed):
                    board.compute(event.key, board.missing(event.key))
                elif isinstance(event, Progress):
                    board.partial[event.key] = event.done
                    board.tell()
                elif isinstance(event, Warned):
                    warnings.warn(event.text.partition(": ")[2], stacklevel=2)
                yield from board.finished()
        except NoWorkersError:  # then without them, below
            pass
    while board.due:
        board.compute(board.due[0], board.missing(board.due[0]))
        yield from board.finished()


def score_task(model: Model, missing: ScoringRequest, place: int) -> ScoreTask:
    """The scores of codes as a worker is told them."""
    metrics = [metric for metric in missing.metrics if not decodes(metric)]
    # While the first has many rows encoded, which all have in common, the others compute.
    metrics.sort(key=lambda metric: (facts(metric).rows == "most") == (place > 0))
    space = [[*part] for part in (model.space.names, model.space.sizes, model.space.kinds)]
    request = asdict(replace(missing, metrics=metrics))
    return ScoreTask(model.id, model.seed, space, model.latents, request)


def score_remote_model(
    task: ScoreTask, *, ask: RequestCodes, tell: ReportProgress, stop: Callable[[], bool]
) -> list[Record]:
    """Score a model that is elsewhere, in a worker."""

    def encode(index: Tensor) -> Tensor:
        codes = ask(index.numpy().tobytes())
        return torch.frombuffer(codes, dtype=torch.float32).view(len(index), -1)

    def decoded(metric: str) -> Score:
        raise NotImplementedError(f"{metric} decodes, which is done where the model is")

    space = FactorSpace(*(tuple(part) for part in task.space))
    model = Model(task.key, task.seed, space, task.latents, encode, decoded)
    records = []
    for record in evaluate.compute(model, ScoringRequest(**task.request)):
        records.append(record)
        tell("score", len(records))
        _check(stop)
    return records


def no_codes(data: bytes) -> bytearray:
    """The `RequestCodes` of tasks that have their models themselves."""
    raise NotImplementedError(f"{len(data)} bytes were asked for")
