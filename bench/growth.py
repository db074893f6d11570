"""Cost against size, with exponents: what doubles when its size doubles, and what grows faster.

    PYTHONPATH=src python bench/growth.py [--only members,sides] [--device auto]
        [--json docs/benchmarks/growth.json]

Sizes are members of a population, sides of an image, latents, rows of a dataset, and runs of a
study (the stages of ``bench/load.py``). Costs are CPU seconds of a process with one thread, so that
whatever else the machine does does not count; on a GPU, where only `members`, `sides` and
`training` can be measured, they are seconds by the clock. Each is the least of some rounds.

The exponent is the slope of the logarithm of the cost over that of the size at the large end,
where what does not grow weighs least: over the last factor of 16, or the last three sizes. A cost
that is proportional to its size has 1. ``python docs/growth_plot.py`` makes the plot and the table.
"""

import argparse
import json
import math
import os
import platform
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import load
import numpy as np
import torch
from gpu import versions
from populations import bits

from unknot.core import registry
from unknot.core.dataset import FactorDataset
from unknot.core.errors import UnknotError
from unknot.core.factors import FactorSpace
from unknot.core.optim import Adam
from unknot.core.representation import Representation
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.encode import encode
from unknot.engine.population import Member, populate
from unknot.metrics import evaluate, protocols_for
from unknot.metrics.parts import evaluation
from unknot.studies.execute.machine import threads_in

Point = tuple[str, int, float]
"""What was done, at what size, and its cost in seconds."""
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
ON_A_GPU = ("members", "sides", "training")


class Clock:
    """CPU seconds of this process, or seconds by the clock where a GPU does the work."""

    def __init__(self, device: str, rounds: int) -> None:
        self.device, self.rounds = torch.device(device), rounds

    def now(self) -> float:
        if self.device.type == "cpu":
            return time.process_time()
        torch.cuda.synchronize(self.device)
        return time.perf_counter()

    def least(self, work: Callable[[], object]) -> float:
        """Of some rounds; what takes long is done once."""
        spent = []
        while len(spent) < self.rounds and sum(spent) < 5:
            began = self.now()
            work()
            spent.append(self.now() - began)
        return min(spent)


def training(
    clock: Clock, net: str, latents: int, side: int, members: int, objective: str
) -> Iterator[tuple[str, float]]:
    """Of one population: to make it, a step, its state, and codes."""
    gpu = clock.device.type != "cpu"
    batch = 64 if gpu else 8
    space = FactorSpace(("row",), (512,), ("nominal",))
    stored = torch.randint(256, (512, 1, side, side), dtype=torch.uint8)
    data = bits(512, 1) if side == 64 else FactorDataset("bytes", space, Bytes(stored))
    data = data.to(clock.device)
    where = runtime(str(clock.device), "bf16" if gpu else "float32")
    context = Context(data, registry.get("nets", net)(latents=latents), batch, where)
    kind = registry.get("objectives", objective)()
    each = [Member(seed, kind, Adam(lr=1e-4)) for seed in range(members)]
    began = clock.now()
    population = populate(context, each)
    yield "start", clock.now() - began
    done, steps = 3, 20 if gpu else 1
    population.advance(0, done)

    def advance() -> None:
        nonlocal done
        population.advance(done, steps)
        done += steps

    yield "step", clock.least(advance) / steps
    yield "state", clock.least(population.state)
    yield "codes of 512 images", clock.least(lambda: encode(population, data, torch.arange(512)))


def members(clock: Clock, size: int, _: Path) -> Iterator[Point]:
    for what, seconds in training(clock, "conv64", 10, 64, size, "beta_vae"):
        yield what, size, seconds


def sides(clock: Clock, size: int, _: Path) -> Iterator[Point]:
    for what, seconds in training(clock, "conv", 10, size, 4, "beta_vae"):
        yield what, size**2, seconds


def training_latents(clock: Clock, size: int, _: Path) -> Iterator[Point]:
    for objective in ("beta_vae", "beta_tcvae", "dip_vae_ii", "factor_vae"):
        costs = dict(training(clock, "conv64", size, 64, 4, objective))
        yield f"step of {objective}", size, costs["step"]


def codes_of(space: FactorSpace, index: torch.Tensor, latents: int) -> torch.Tensor:
    """Codes that follow a factor each, with noise that is a function of the row; others dead."""
    noise = ((index[:, None] * 7919 + 104_729 * torch.arange(latents)) % 9973) / 9973 - 0.5
    sizes = torch.tensor(space.sizes)
    factors = (space.factors(index) - (sizes - 1) / 2) / ((sizes**2 - 1) / 12).sqrt()
    codes = 0.03 * noise
    count = min(latents, len(sizes))
    codes[:, :count] = factors[:, :count] + 10 * codes[:, :count]
    return codes.float()


def scores(clock: Clock, whole: Representation, logvars: Representation) -> Iterator[Point]:
    """Each metric of codes; those that do not apply are left out."""
    for name in evaluation.code_metrics():
        protocol = "unknot" if "unknot" in protocols_for(name) else "study2019"
        work = partial(evaluate, whole, logvar=logvars, metrics=[name], protocol=protocol)
        try:
            yield name, 0, clock.least(work)
        except UnknotError as error:
            print(f"{name}: {error}")


def latents(clock: Clock, size: int, _: Path) -> Iterator[Point]:
    space = FactorSpace(("a", "b", "c", "d", "e"), (3, 6, 40, 32, 32), ("ordered",) * 5)
    codes = codes_of(space, torch.arange(space.size), size)
    logvars = Representation.whole(space, torch.full_like(codes, -4.0))
    for what, _, seconds in scores(clock, Representation.whole(space, codes), logvars):
        yield what, size, seconds


def rows(clock: Clock, size: int, folder: Path) -> Iterator[Point]:
    """A file of images and a table: to read them for the first time and again, a batch of 64, all
    metrics of so many rows, and a score of all rows as arrays."""
    import unknot

    file = folder / "images.npy"
    stored = np.lib.format.open_memmap(file, "w+", np.uint8, (size, 8, 8))
    for first in range(0, size, 100_000):
        part = np.arange(first, min(first + 100_000, size))
        stored[first : first + len(part)] = (part[:, None, None] * np.arange(1, 9)) % 251
    stored.flush()
    del stored
    began = clock.now()
    data = unknot.dataset(str(file))
    yield "first reading of images", size, clock.now() - began
    yield "reading of images", size, clock.least(lambda: unknot.dataset(str(file)))
    index = torch.randint(size, (64,))
    yield "100 batches of 64 images", size, clock.least(partial(batches, data, index))
    file.unlink()
    if size <= 1_000_000:  # 100 MB as text
        table = folder / "table.csv"
        values = np.arange(size)[:, None] * np.arange(1, 11) % 251
        np.savetxt(table, values, "%d", ",", header=",".join("abcdefghij"), comments="")
        yield "reading of a CSV file", size, clock.least(lambda: unknot.dataset(str(table)))
        table.unlink()
    space = FactorSpace(("a", "b", "c"), (10, 10, size // 100), ("ordered",) * 3)
    yield from ((what, size, seconds) for what, seconds in sampled(clock, space))
    codes = codes_of(space, torch.arange(size), 6).numpy()
    factors = space.factors(torch.arange(size)).numpy()
    factors[:, 2] %= 10  # classes, and not the number of a row
    if size <= 1_000_000:
        for name in ("mig", "sap", "modularity", "dcimig", "mcc", "irs", "linearity"):
            work = partial(evaluate, codes, factors, metrics=[name])
            yield f"{name} of arrays", size, clock.least(work)


def batches(data: FactorDataset, index: torch.Tensor) -> None:
    for _ in range(100):
        data.batch(index)


def sampled(clock: Clock, space: FactorSpace) -> Iterator[tuple[str, float]]:
    """Metrics that draw a fixed number of rows, of a grid whose codes are computed when asked for:
    all that is left to grow is to find the rows."""
    for name in ("mig", "sap", "modularity", "irs", "beta_vae", "factor_vae"):

        def score(name: str = name) -> None:
            codes = Representation.lazy(space, 6, lambda index: codes_of(space, index, 6))
            evaluate(codes, metrics=[name])

        yield f"{name} of a grid", clock.least(score)


def runs(clock: Clock, size: int, folder: Path) -> Iterator[Point]:
    load.write_images(folder / "bars.npz")
    (folder / "load.toml").write_text(load.study_text(folder / "bars.npz", size))
    for stage in load.STAGES:
        if stage is load.browse:
            continue
        began = clock.now()
        what = stage(folder)
        yield stage.__name__, count_of(size), clock.now() - began
        print(f"{stage.__name__}: {what}")


def count_of(runs: int) -> int:
    """How many runs that study has."""
    return max(runs // len(load.OBJECTIVES), 1) * len(load.OBJECTIVES)


FAMILIES: dict[str, Callable[[Clock, int, Path], Iterator[Point]]] = {
    "members": members,
    "sides": sides,
    "training": training_latents,
    "latents": latents,
    "rows": rows,
    "runs": runs,
}


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


def measure(family: str, size: int, device: str, rounds: int, answers) -> None:
    """One size in a process of its own."""
    torch.set_num_threads(1)
    clock = Clock(device, rounds)
    with tempfile.TemporaryDirectory() as folder:
        for point in FAMILIES[family](clock, size, Path(folder)):
            answers.put(point)
    answers.put(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def family_rows(family: str, sizes: Sequence[int], device: str, rounds: int) -> Iterator[dict]:
    """All points of one kind of size, as they come."""
    context = get_context("spawn")
    for size in sizes:
        answers = context.SimpleQueue()
        process = context.Process(target=measure, args=(family, size, device, rounds, answers))
        process.start()
        points: list[Point] = []
        while process.is_alive() or not answers.empty():
            if answers.empty():
                time.sleep(0.05)
                continue
            found = answers.get()
            if isinstance(found, tuple):
                points.append(found)
                continue
            for what, count, seconds in points:
                row = {"what": what, "size": count, "seconds": seconds, "peak MB": found}
                yield {"family": family, **row}
            points = []
        process.join()
        if process.exitcode:
            print(f"{family} {size}: its process ended with {process.exitcode}")


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
    for family in options.only.split(","):
        if gpu and family not in ON_A_GPU:
            print(f"{family} is measured on a CPU only")
            continue
        facts = {**versions(), "device": name, "rounds": options.rounds}
        kept = [r for r in rows_before if (r["family"], r["device"]) != (family, name)]
        new: list[dict] = []
        sizes = [size for size in SIZES[family] if size <= (options.most or math.inf)]
        for row in family_rows(family, sizes, options.device, options.rounds):
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
