"""Scoring: the scores of several models, here or in processes side by side.

The models stay in this process, with their device. A process that scores
(`unknot.study.scorer`) asks for the rows that its scores need and gets them as they would be
encoded here, in the same portions: who computes a score does not change it. Nothing is written to
the disk on the way. Scores that decode are computed here.
"""

import collections
import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import torch

from unknot.core import errors
from unknot.core.errors import UnknotError
from unknot.metrics import facts
from unknot.study import evaluate, scorer
from unknot.study.cores import cores, threads_in
from unknot.study.decoding import DECODING
from unknot.study.evaluate import Model, ScoringRequest
from unknot.study.records import Record
from unknot.study.training import Stopped

PAUSE = 0.2
"""Seconds between two questions whether to stop."""


def spare() -> int:
    """How many may score side by side: OMP_NUM_THREADS, as Ray sets it, may say fewer than cores.

    Example:
        >>> spare() >= 1
        True
    """
    said = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores(), max(1, int(said))) if said.isdecimal() else cores()


def score(
    models: Sequence[Callable[[], Model]],
    wanted: ScoringRequest,
    *,
    known: Sequence[Record] = (),
    processes: int = 1,
    on_score: Callable[[int], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[list[Record], None, None]:
    """Score models; yields one after the other, in their order.

    Args:
        models: Each is made when it is its turn.
        wanted: By which scores.
        known: Records; a score among them is not computed again.
        processes: The most that score side by side, each with one thread; with one, or a single
            model, all is done here. Close the iterator to end them.
        on_score: Called with the number of scores done so far, of all models.
        stop: Asked after every score, and several times a second where processes score.

    Raises:
        Stopped: Asked to stop.
        ConfigError: A score does not apply or is unknown, and that is an error.
        DataError: A score does not apply, and that is an error.
    """
    if processes > 1 and len(models) > 1:
        yield from _side_by_side(models, wanted, known, processes, on_score, stop)
        return
    done = 0

    def heard() -> None:
        nonlocal done
        done += 1
        on_score(done)
        _check(stop)

    for make in models:
        yield evaluate.score(make(), wanted, known, heard)


def _check(stop: Callable[[], bool]) -> None:
    if stop():
        raise Stopped


@dataclass(frozen=True, eq=False)
class Scorer:
    """A process that scores."""

    process: "subprocess.Popen[bytes]"


Said: TypeAlias = "queue.SimpleQueue[tuple[Scorer, scorer.Message | None]]"
"""What scorers say; nothing when one is dead."""


@dataclass(frozen=True, eq=False)
class Job:
    """A model that is being scored."""

    place: int
    model: Model
    here: Iterator[Record]
    """Scores that are computed in this process."""
    elsewhere: list[str]
    """Scores that a scorer computes."""
    records: dict[str, Record]
    """What there is so far, by metric."""

    def work(self) -> bool:
        """Compute one score here; False when none is left."""
        for record in self.here:
            self.records[record.metric] = record
            return True
        return False


def _side_by_side(
    models: Sequence[Callable[[], Model]],
    wanted: ScoringRequest,
    known: Sequence[Record],
    processes: int,
    on_score: Callable[[int], None],
    stop: Callable[[], bool],
) -> Iterator[list[Record]]:
    each = len({*wanted.metrics})
    waiting, deaths = collections.deque(range(len(models))), collections.Counter[int]()
    said: Said = queue.SimpleQueue()
    team: dict[Scorer, Job | None] = {}
    jobs: list[Job] = []
    finished: dict[int, list[Record]] = {}
    started, told = 0, 0
    try:
        for due in range(len(models)):
            while due not in finished:
                _check(stop)
                while waiting and len(jobs) < processes:
                    idle = next((one for one, job in team.items() if job is None), None)
                    # The dead are not replaced: there may be too little memory for so many.
                    here = deaths[waiting[0]] > 1 or (not team and started == processes)
                    if not (here or idle or started < processes):
                        break
                    place = waiting.popleft()
                    job = _begin(place, models[place](), wanted, known, here=here)
                    jobs.append(job)
                    if job.elsewhere:
                        if idle is None:
                            idle, started = _start(said), started + 1
                        team[idle] = job
                        _send(idle, _words(job, wanted))
                # Scorers that wait for rows come first.
                worked = said.empty() and any(job.work() for job in jobs)
                with contextlib.suppress(queue.Empty):
                    one, message = said.get(timeout=0 if worked else PAUSE)
                    if message is not None:
                        _answer(one, message, team)
                    else:
                        lost = team.pop(one)
                        _end([one])
                        if lost in jobs:
                            jobs.remove(lost)
                            deaths[lost.place] += 1
                            waiting.appendleft(lost.place)
                done = each * len(finished) + sum(len(job.records) for job in jobs)
                if done != told:
                    told = done
                    on_score(done)
                for job in [job for job in jobs if len(job.records) == each]:
                    jobs.remove(job)
                    finished[job.place] = [job.records[metric] for metric in wanted.metrics]
            yield finished[due]
    finally:
        _end([*team])


def _begin(
    place: int, model: Model, wanted: ScoringRequest, known: Sequence[Record], *, here: bool
) -> Job:
    """A model and who is to compute which of its scores; ``here`` all of them."""
    records = evaluate.recall(model, wanted, known)
    rest = [metric for metric in wanted.metrics if metric not in records]
    mine = [metric for metric in rest if here or metric in DECODING]
    results = evaluate.compute(model, replace(wanted, metrics=mine))
    others = [metric for metric in rest if metric not in mine]
    # While the first has many rows encoded, which all have in common, the others compute.
    others.sort(key=lambda metric: (facts(metric).rows == "most") == (place > 0))
    return Job(place, model, results, others, records)


def _words(job: Job, wanted: ScoringRequest) -> dict[str, Any]:
    """A job as a scorer is told it."""
    model = job.model
    return {
        "id": model.id,
        "seed": model.seed,
        "space": [model.space.names, model.space.sizes, model.space.kinds],
        "latents": model.latents,
        "wanted": asdict(replace(wanted, metrics=job.elsewhere)),
    }


def _answer(one: Scorer, message: scorer.Message, team: dict[Scorer, Job | None]) -> None:
    fact, data = message
    job = team[one]
    if fact["event"] == "end" or job is None:
        team[one] = None
    elif fact["event"] == "rows":
        codes = job.model.encode(torch.frombuffer(data, dtype=torch.int64))
        _send(one, {}, codes.numpy().tobytes())
    elif fact["event"] == "score":
        record = Record(**fact["record"])
        job.records[record.metric] = record
    else:
        kind = getattr(errors, fact["kind"], None)
        if kind is None:  # not on purpose
            raise UnknotError(f"{fact['kind']}: {fact['error']}")
        raise kind(fact["error"])


def _start(said: Said) -> Scorer:
    # No GPU: what a scorer needs of one is computed here.
    alone = {**threads_in(1), "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(
        [sys.executable, "-m", "unknot.study.scorer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **alone},
        start_new_session=True,  # Ctrl-C reaches this process, which ends its scorers
    )
    one = Scorer(process)
    threading.Thread(target=_read, args=(one, said), daemon=True).start()
    return one


def _read(one: Scorer, said: Said) -> None:
    if one.process.stdout:
        with one.process.stdout as stream, contextlib.suppress(ValueError):  # not its words
            while message := scorer.read(stream):
                said.put((one, message))
    one.process.kill()
    one.process.wait()
    said.put((one, None))


def _send(one: Scorer, fact: dict[str, Any], data: bytes = b"") -> None:
    if one.process.stdin:
        with contextlib.suppress(OSError):  # it died: its reader will say so
            scorer.write(one.process.stdin, fact, data)


def _end(team: Sequence[Scorer]) -> None:
    """End scorers at once; they have nothing to save."""
    for one in team:
        one.process.kill()
    for one in team:
        one.process.wait()
        if one.process.stdin:
            with contextlib.suppress(OSError):  # it did not read all
                one.process.stdin.close()
