"""Cost against size, with exponents: what doubles when its size doubles, and what grows faster.

    PYTHONPATH=src python bench/growth.py [--only members,sides] [--device auto]
        [--json docs/benchmarks/growth.json]

Sizes are members of a population, sides of an image, latents, rows of a dataset, and runs of a
study (the stages of ``bench/load.py``). Costs are CPU seconds of a process with one thread, so that
whatever else the machine does does not count. Each is the least of some rounds.

On a GPU only `members`, `sides` and `training` can be measured, at fewer sizes. There costs are
seconds by the clock. All processes compile side by side, and then measure one after the other,
while the others wait; those that are not ready in time are left out. It takes less than five
minutes.

The exponent is the slope of the logarithm of the cost over that of the size at the large end,
where what does not grow weighs least: over the last factor of 16, or the last three sizes. A cost
that is proportional to its size has 1. ``python docs/growth_plot.py`` makes the plot and the table.
"""

import argparse
import itertools
import json
import math
import os
import platform
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from gpu import versions
from growth_costs import FAMILIES, OBJECTIVES, Clock, Point, Work, step_of

from unknot.studies.execute.machine import threads_in

WIDE = 16.0
"""The factor of sizes at the large end that an exponent is taken over."""
FEWEST = 3
"""Points that it takes at least."""
SIZES = {
    "members": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    "sides": (32, 48, 64, 96, 128),
    "training": (6, 10, 16, 32, 64),
    "latents": (6, 10, 16, 32, 64),
    "rows": (10_000, 100_000, 1_000_000, 10_000_000),
    "runs": (10, 100, 1_000, 10_000),
}
LABELS = {
    "members": "members of a population",
    "sides": "pixels of an image",
    "training": "latents of a net",
    "latents": "latents of codes",
    "rows": "rows of a dataset",
    "runs": "runs of a study",
}
ON_A_GPU = {"members": (1, 8, 64, 256, 512), "sides": (32, 64, 128), "training": (6, 16, 64)}
"""What can be measured on a GPU, at sizes that compile side by side on 16 cores."""
COMPILING = 210.0
"""Seconds that processes have to get ready on a GPU."""
MEASURING = 20.0
"""Seconds that each has then."""


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """The slope of log cost over log size at the large end; none where there are too few sizes.

    Example:
        >>> exponent([(1, 10.0), (10, 20.0), (100, 2000.0), (1000, 200_000.0)])
        2.0
    """
    ordered = sorted(points)
    if len(ordered) < FEWEST:
        return None
    large = [point for point in ordered if point[0] * WIDE >= ordered[-1][0]]
    large = large if len(large) >= FEWEST else ordered[-FEWEST:]
    logs = [(math.log(size), math.log(cost)) for size, cost in large]
    return round(statistics.linear_regression(*zip(*logs, strict=True)).slope, 2)


def measure(
    work: Work, size: int, device: str, rounds: int, answers: Any, wait: Callable[[], object]
) -> None:
    """One size in a process of its own."""
    torch.set_num_threads(1)
    clock = Clock(device, rounds, wait)
    with tempfile.TemporaryDirectory() as folder:
        for point in work(clock, size, Path(folder)):
            answers.put(point)
    answers.put(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def nothing() -> None:
    """What a process waits for that has a core to itself."""


def rows_of(family: str, points: Iterable[Point], peak: float) -> Iterator[dict]:
    for what, count, seconds in points:
        row = {"what": what, "size": count, "seconds": seconds, "peak MB": peak}
        yield {"family": family, **row}


def family_rows(family: str, sizes: Sequence[int], device: str, rounds: int) -> Iterator[dict]:
    """All points of one kind of size, as they come."""
    context = get_context("spawn")
    for size in sizes:
        answers = context.SimpleQueue()
        words = (FAMILIES[family], size, device, rounds, answers, nothing)
        process = context.Process(target=measure, args=words)
        process.start()
        yield from received(family, process, answers)
        process.join()
        if process.exitcode:
            print(f"{family} {size}: its process ended with {process.exitcode}")


def received(family: str, process: Any, answers: Any, limit: float = math.inf) -> Iterator[dict]:
    """What a process has measured, when all of it is there."""
    points: list[Point] = []
    until = time.monotonic() + limit
    while (process.is_alive() or not answers.empty()) and time.monotonic() < until:
        if answers.empty():
            time.sleep(0.05)
            continue
        found = answers.get()
        if isinstance(found, tuple):
            points.append(found)
            continue
        yield from rows_of(family, points, found)
        return


class Turn:
    """Tells that a process is ready, and waits until it may go on."""

    def __init__(self, context: Any) -> None:
        self.ready, self.go = context.Event(), context.Event()

    def __call__(self) -> None:
        self.ready.set()
        self.go.wait()


def gpu_jobs(families: Iterable[str], most: float) -> Iterator[tuple[str, Work, int]]:
    """Kinds of size, what each process does, and at which size; largest first, as they compile
    longest."""
    for family in families:
        works = [FAMILIES[family]]
        if family == "training":
            works = [partial(step_of, objective) for objective in OBJECTIVES[1:]]
        for size in sorted(ON_A_GPU[family], reverse=True):
            if size <= most:
                yield from ((family, work, size) for work in works)


def gpu_rows(jobs: Sequence[tuple[str, Work, int]], device: str, rounds: int) -> Iterator[dict]:
    """All points: processes compile side by side and measure one after the other."""
    context = get_context("spawn")
    started = []
    for family, work, size in jobs:
        answers, turn = context.SimpleQueue(), Turn(context)
        words = (work, size, device, rounds, answers, turn)
        process = context.Process(target=measure, args=words, daemon=True)
        process.start()
        started.append((family, size, process, answers, turn))
    until = time.monotonic() + COMPILING
    while time.monotonic() < until and not all(
        turn.ready.is_set() or not process.is_alive() for _, _, process, _, turn in started
    ):
        time.sleep(0.1)
    for family, size, process, _, turn in started:
        if not turn.ready.is_set():
            process.kill()
            process.join()
            print(f"{family} {size}: not ready in {COMPILING:.0f} s, or ended")
    for family, _, process, answers, turn in started:
        turn.go.set()
        yield from received(family, process, answers, MEASURING)
        process.kill()
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default=",".join(FAMILIES), help="kinds of size, by commas")
    parser.add_argument("--most", type=int, help="no larger sizes than this")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="rows of other kinds and devices there stay")
    options = parser.parse_args()
    gpu = options.device != "cpu"
    os.environ.update(threads_in(1))  # of libraries, whose idle threads would count
    name = torch.cuda.get_device_name() if gpu else platform.machine()
    rows_before = json.loads(options.json.read_text())["rows"] if _is_file(options.json) else []
    chosen, most = options.only.split(","), options.most or math.inf
    if gpu:
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # each process has a core
        for family in chosen:
            if family not in ON_A_GPU:
                print(f"{family} is measured on a CPU only")
        jobs = [*gpu_jobs([family for family in chosen if family in ON_A_GPU], most)]
        measured = gpu_rows(jobs, options.device, options.rounds)
    else:
        sizes = {family: [s for s in SIZES[family] if s <= most] for family in chosen}
        measured = itertools.chain.from_iterable(
            family_rows(family, sizes[family], options.device, options.rounds) for family in chosen
        )
    for family, rows_of_family in itertools.groupby(measured, lambda row: row["family"]):
        facts = {**versions(), "device": name, "rounds": options.rounds}
        kept = [r for r in rows_before if (r["family"], r["device"]) != (family, name)]
        new: list[dict] = []
        for row in rows_of_family:
            new.append({**row, **{key: facts[key] for key in ("device", "date", "torch")}})
            print(
                f"{family:9} {row['what']:32} {row['size']:>12,} {row['seconds']:12.5f} s",
                flush=True,
            )
        rows_before = kept + new
        if options.json:
            found = {"labels": LABELS, "facts": facts, "rows": rows_before}
            options.json.write_text(json.dumps(found, indent=1))
        for what in dict.fromkeys(row["what"] for row in new):
            points = [(r["size"], r["seconds"]) for r in new if r["what"] == what]
            print(f"{family:9} {what:32} exponent {exponent(points)}")


def _is_file(path: Path | None) -> bool:
    return path is not None and path.is_file()


if __name__ == "__main__":
    main()
