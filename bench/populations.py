"""Rows of the GPU benchmark: what each trains or encodes, and how it is measured."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import roofline
import torch
from baselines import Baseline, Steps, side_by_side
from roofline import PRECISIONS

from unknot.core import registry
from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.core.objective import Adversarial, views_of
from unknot.core.optim import Adam
from unknot.data.parts.images import Bits, Bytes
from unknot.engine import stacked as engine
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.encode import encode
from unknot.engine.population import Member

OBJECTIVES = (
    "factor_vae", "ada_gvae", "tvae", "beta_tcvae", "annealed_vae", "dip_vae_ii", "l_vae",
)  # fmt: skip
"""With a critic, of pairs, of triplets, and others."""

Row = dict[str, object]


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    how: str
    """``kernels``, ``windows`` or ``encode``, or a loop of ``baselines.py``: ``plain``, ``graph``,
    ``vmap``, or ``processes``, one with a graph for each member."""
    members: int
    precision: str
    objective: str = "beta_vae"
    net: str = "conv64"
    colour: bool = False
    """Images of 3 x 64 x 64 random bytes rather than the dataset."""

    @property
    def name(self) -> str:
        name = f"{self.how} {self.net} {self.objective} {self.precision} {self.members}"
        return f"{name} colour" if self.colour else name

    @property
    def plain(self) -> bool:
        """Whether it is a loop of others."""
        return self.how in ("plain", "graph", "vmap", "processes")


def bits(count: int, channels: int) -> FactorDataset:
    """Images whose content does not matter: bits of one channel, or bytes of three."""
    space = FactorSpace(("row",), (count,), ("nominal",))
    generator = torch.Generator().manual_seed(0)
    if channels == 1:
        stored = torch.randint(256, (count, 512), dtype=torch.uint8, generator=generator)
        return FactorDataset("bits", space, Bits(stored, (1, 64, 64)))
    shape = (count, channels, 64, 64)
    stored = torch.randint(256, shape, dtype=torch.uint8, generator=generator)
    return FactorDataset("bytes", space, Bytes(stored))


def cases(sizes: tuple[int, ...] = (1, 8, 64, 128), precisions=PRECISIONS) -> list[Case]:
    """All rows, what matters most first."""
    low, many = precisions[0], max(m for m in sizes if m <= 64)
    first = [
        Case("plain", 1, "float32"),
        Case("graph", 1, low),
        Case("kernels", many, low),
        Case("kernels", many, low, colour=True),
        Case("kernels", 1, low),
        *(Case("kernels", many, p) for p in precisions[1:]),
        *(Case("graph", 1, p) for p in precisions[1:]),
        *(Case("kernels", many, low, objective) for objective in OBJECTIVES),
        *(Case("kernels", m, low) for m in sizes),
        *(Case("vmap", many, p) for p in precisions[:2]),
        *(Case("plain", 1, p) for p in precisions),
        Case("processes", 1 if many < 8 else 8, low),
        Case("graph", 1, low, colour=True),
        Case("encode", many, "float32"),  # codes are, however models are trained
        Case("kernels", many, low, net="locatello"),
        *(Case("windows", many, p) for p in precisions),
    ]
    rest = [Case(h, m, p) for h in ("kernels", "windows") for p in precisions for m in sizes]
    return list(dict.fromkeys([*first, *rest]))


def lone_loop(device: torch.device, batch: int, precision: str) -> Steps:
    """A captured loop in a process of its own, with images of its own."""
    data = bits(20_000 if device.type == "cuda" else 64, 1).to(device)
    return Baseline(device, data, batch, precision).steps("graph")


@dataclass(frozen=True)
class Bench:
    """Where rows are measured, with what data and for how long."""

    device: torch.device
    dataset: FactorDataset
    batch: int
    seconds: float
    roof: dict[str, float]

    def population(self, case: Case) -> engine.Stacked:
        net = registry.get("nets", case.net)()
        context = Context(
            self.data(case), net, self.batch, runtime(str(self.device), case.precision)
        )
        objective = registry.get("objectives", case.objective)()
        each = [Member(seed, objective, Adam(lr=1e-4)) for seed in range(case.members)]
        if case.how == "windows":  # for good: a row is a process of its own
            engine.ready = lambda _: False
        return engine.Stacked.fresh(context, each)

    def data(self, case: Case) -> FactorDataset:
        """The images of a row, where it is measured."""
        if not case.colour:
            return self.dataset
        count = 20_000 if self.device.type == "cuda" else 64
        return bits(count, 3).to(self.device)

    def loops(self, case: Case) -> Steps:
        """A loop of others."""
        baseline = Baseline(self.device, self.data(case), self.batch, case.precision)
        return baseline.steps(case.how, case.members)

    def warm(self, case: Case) -> Callable[[], Row]:
        """What measures a row, ready to run."""
        if case.how == "encode":
            models = self.population(case)
            encode(models, self.dataset, torch.arange(min(2048, len(self.dataset))))
            call = partial(self.encoding, models)
        elif case.how == "processes":
            single = partial(lone_loop, self.device, self.batch, case.precision)
            call = partial(self.processes, side_by_side(single, case.members, self.seconds), case)
        else:
            steps = self.loops(case) if case.plain else partial(self.population(case).advance, 0)
            steps(3)
            call = partial(self.training, steps, case)
        roofline.wait(self.device)
        return call

    def processes(self, rate: Callable[[], float], case: Case) -> Row:
        """Steps per second of all processes."""
        return self.row(rate(), case)

    def training(self, steps: Callable[[int], object], case: Case) -> Row:
        """Model-steps per second, and the operations and bytes in them."""
        n = 5
        for _ in range(2):  # the first round says how many steps the second may take
            began = time.perf_counter()
            steps(n)
            roofline.wait(self.device)
            rate = n / (time.perf_counter() - began)
            n = max(5, int(self.seconds * rate))
        return self.row(rate * case.members, case)

    def row(self, rate: float, case: Case) -> Row:
        """A rate of model-steps, with the operations and bytes in them."""
        objective = registry.get("objectives", case.objective)()
        images = self.batch * views_of(objective)
        row: Row = {"model-steps/s": rate, "images/s": rate * images}
        if isinstance(objective, Adversarial):  # whose critic is not among the layers counted
            return row
        net, shape = registry.get("nets", case.net)(), self.data(case).shape
        works = roofline.work(net, shape, images, case.precision)
        flops = sum(w.flops for w in works)
        least = roofline.least_seconds(works, self.roof[case.precision], self.roof["bytes"])
        return {
            **row,
            "TFLOP/s": rate * flops / 1e12,
            "share of roofline": rate * least,
            "GFLOP a model-step": flops / 1e9,
            "MB a model-step": sum(w.bytes for w in works) / 1e6,
        }

    def encoding(self, models: engine.Stacked) -> Row:
        """All images for all members, as an evaluation asks for them."""
        began = time.perf_counter()
        q = encode(models, self.dataset, torch.arange(len(self.dataset)))
        seconds = time.perf_counter() - began
        return {"seconds": seconds, "images/s": q.mean.shape[0] * q.mean.shape[1] / seconds}
