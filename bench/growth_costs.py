"""What ``bench/growth.py`` measures: the cost of one thing at one size, as seconds."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import load
import numpy as np
import torch
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

Point = tuple[str, int, float]
"""What was done, at what size, and its cost in seconds."""
Work = Callable[["Clock", int, Path], Iterator[Point]]
"""Measures what has a size."""
OBJECTIVES = ("beta_vae", "beta_tcvae", "dip_vae_ii", "factor_vae")
"""Whose steps are measured with more latents."""


class Clock:
    """CPU seconds of this process, or seconds by the clock where a GPU does the work."""

    def __init__(self, device: str, rounds: int, wait: Callable[[], object] = lambda: None) -> None:
        self.device, self.rounds, self.wait = torch.device(device), rounds, wait
        """`wait` returns when the GPU has nothing else to do."""

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
    start = clock.now() - began
    done, steps = 3, 20 if gpu else 1
    population.advance(0, done)

    def advance() -> None:
        nonlocal done
        population.advance(done, steps)
        done += steps

    def codes() -> None:
        encode(population, data, torch.arange(512))

    if gpu:  # where the first of each compiles
        advance()
        codes()
    else:
        yield "start", start
    clock.wait()
    yield "step", clock.least(advance) / steps
    yield "state", clock.least(population.state)
    yield "codes of 512 images", clock.least(codes)


def members(clock: Clock, size: int, _: Path) -> Iterator[Point]:
    for what, seconds in training(clock, "conv64", 10, 64, size, "beta_vae"):
        yield what, size, seconds


def sides(clock: Clock, size: int, _: Path) -> Iterator[Point]:
    for what, seconds in training(clock, "conv", 10, size, 4, "beta_vae"):
        yield what, size**2, seconds


def training_latents(clock: Clock, size: int, _: Path) -> Iterator[Point]:
    for objective in OBJECTIVES:
        yield from step_of(objective, clock, size, _)


def step_of(objective: str, clock: Clock, size: int, _: Path) -> Iterator[Point]:
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


FAMILIES: dict[str, Work] = {
    "members": members,
    "sides": sides,
    "training": training_latents,
    "latents": latents,
    "rows": rows,
    "runs": runs,
}
