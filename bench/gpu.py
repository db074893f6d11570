"""Populations on a GPU in one run: model-steps per second, beside plain PyTorch and the roofline.

PYTHONPATH=src python bench/gpu.py [--limit 520] [--seconds 2] [--json FILE] [--only WORDS]

Rows come in the order of their weight, each as soon as it is measured, and end when the limit is
near. Before them, worker processes compile what the rows need into PyTorch's cache on disk
(``--prime 0`` leaves that out, and warm-ups are whole); so one run measures everything.

The roofline is of this card: products of matrices and copies are timed first, and each product of a
step takes the longer of its operations at that rate and its bytes at that rate. Its share in the
table is that least time by the time measured.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unknot.core import registry
from unknot.core.factors import FactorSpace
from unknot.core.objective import Adam
from unknot.data.dataset import Bits, FactorDataset
from unknot.data.dsprites import SPACE, DSprites
from unknot.engine import stacked as engine
from unknot.engine.device import runtime
from unknot.engine.encode import encode
from unknot.engine.population import Member, Setting
from unknot.nets.conv64 import Conv64

PRECISIONS = ("bf16", "tf32", "float32")
OBJECTIVES = ("beta_tcvae", "factor_vae", "annealed_vae", "dip_vae_ii", "l_vae")


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    how: str
    """``plain``, ``kernels``, ``windows`` or ``encode``."""
    members: int
    precision: str
    objective: str = "beta_vae"
    net: str = "conv64"

    @property
    def name(self) -> str:
        return f"{self.how} {self.net} {self.objective} {self.precision} {self.members}"


def cases(sizes: tuple[int, ...] = (1, 8, 64, 128), precisions=PRECISIONS) -> list[Case]:
    """All rows, what matters most first."""
    low, many = precisions[0], max(m for m in sizes if m <= 64)
    first = [
        Case("plain", 1, "float32"),
        Case("kernels", many, low),
        Case("kernels", 1, low),
        Case("encode", many, low),
        *(Case("kernels", many, p) for p in precisions[1:]),
        *(Case("kernels", many, low, objective) for objective in OBJECTIVES),
        Case("kernels", many, low, net="locatello"),
        *(Case("kernels", m, low) for m in sizes),
        *(Case("windows", many, p) for p in precisions),
        *(Case("plain", 1, p) for p in precisions),
    ]
    rest = [Case(h, m, p) for h in ("kernels", "windows") for p in precisions for m in sizes]
    return list(dict.fromkeys([*first, *rest]))


# ---- what a step must do at least


@dataclass(frozen=True)
class Work:
    """A product of matrices, or a pass over memory: operations and bytes."""

    flops: float
    bytes: float


def work(net, image: tuple[int, int, int], batch: int, precision: str) -> list[Work]:
    """What one model's step cannot go without, from its layers.

    A layer's output, the gradient of its input (not of images) and that of its weight are a product
    each, which reads two of the three tensors and writes the third once; ReLUs, masks and losses
    ride along. Adam reads gradient, weight and two moments and writes the last three.
    """
    item = 2 if precision == "bf16" else 4
    found = []
    for part, start in (
        (net.encoder(image), (batch, *image)),
        (net.decoder(image), (batch, net.latents)),
    ):
        for layer, x, y in _layers(part.to("meta"), torch.empty(start, device="meta")):
            size = layer.weight.numel()
            # A transposed layer's inputs, another one's outputs, meet each of their taps once.
            meets = x if isinstance(layer, nn.ConvTranspose2d) else y
            flops = 2.0 * meets.numel() * (size // meets.shape[1])
            traffic = float(item * (x.numel() + y.numel() + size))
            first = part[0] is layer and start[1:] == image
            found += [Work(flops, traffic)] * (2 if first else 3)
            found.append(Work(0.0, (6 * 4 + item + (item if item < 4 else 0)) * float(size)))
    return found


def _layers(module: nn.Module, x: Tensor) -> list[tuple[nn.Module, Tensor, Tensor]]:
    found: list[tuple[nn.Module, Tensor, Tensor]] = []
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
            layer.register_forward_hook(lambda m, given, y: found.append((m, given[0], y)))
    module(x)
    return found


def least_seconds(works: list[Work], flops: float, bandwidth: float) -> float:
    return sum(max(w.flops / flops, w.bytes / bandwidth) for w in works)


@dataclass
class Bench:
    """Where rows are measured, with what data and for how long."""

    device: torch.device
    dataset: FactorDataset
    batch: int
    seconds: float
    base: float = 0.0

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def timed(self, call: Callable[[], object], repeat: int) -> float:
        """Seconds of a call, the best of three rounds."""
        call()
        rounds = []
        for _ in range(3):
            self.wait()
            began = time.perf_counter()
            for _ in range(repeat):
                call()
            self.wait()
            rounds.append((time.perf_counter() - began) / repeat)
        return min(rounds)

    def roofline(self, n: int = 8192, megabytes: int = 2048) -> dict[str, float]:
        """Operations per second of square products by precision, and bytes per second of a copy."""
        found = {}
        for precision in PRECISIONS:
            dtype = torch.bfloat16 if precision == "bf16" else torch.float32
            a, b = (torch.randn(n, n, device=self.device).to(dtype) for _ in range(2))
            torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
            found[precision] = 2 * n**3 / self.timed(lambda a=a, b=b: a @ b, 5)
        torch.backends.cuda.matmul.allow_tf32 = False
        source = torch.zeros(megabytes * 2**18, device=self.device)
        target = torch.empty_like(source)
        found["bytes"] = 2 * source.nbytes / self.timed(lambda: target.copy_(source), 10)
        return found

    def population(self, case: Case) -> engine.Stacked:
        net = registry.get("nets", case.net)()
        setting = Setting(self.dataset, net, self.batch, runtime(str(self.device), case.precision))
        objective = registry.get("objectives", case.objective)()
        each = [Member(seed, objective, Adam(lr=1e-4)) for seed in range(case.members)]
        ready = engine.ready
        engine.ready = ready if case.how != "windows" else lambda _: False
        try:
            return engine.Stacked.fresh(setting, each)
        finally:
            engine.ready = ready

    def plain(self, precision: str) -> Callable[[int], None]:
        """What anyone would write first: one model, eager, PyTorch's Adam, data on the card."""
        net, shape, batch = Conv64(), self.dataset.shape, self.batch
        encoder, decoder = net.encoder(shape).to(self.device), net.decoder(shape).to(self.device)
        optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-4)
        fast = precision != "float32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fast

        def steps(n: int) -> None:
            for _ in range(n):
                rows = torch.randint(0, len(self.dataset), (batch,), device=self.device)
                x = self.dataset.batch(rows)
                optimiser.zero_grad()
                with torch.autocast(self.device.type, torch.bfloat16, precision == "bf16"):
                    mean, logvar = encoder(x).float().chunk(2, 1)
                    z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
                    y = decoder(z).float()
                recon = F.binary_cross_entropy_with_logits(y, x, reduction="sum") / batch
                kl = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum() / batch
                (recon + 4 * kl).backward()
                optimiser.step()

        return steps

    def rate(self, steps: Callable[[int], object]) -> tuple[float, float]:
        """Steps per second after warming up, and the seconds that took."""
        began = time.perf_counter()
        steps(3)
        self.wait()
        warm = time.perf_counter() - began
        began = time.perf_counter()
        steps(5)
        self.wait()
        n = max(5, int(self.seconds * 5 / (time.perf_counter() - began)))
        began = time.perf_counter()
        steps(n)
        self.wait()
        return n / (time.perf_counter() - began), warm

    def training(self, case: Case, roof: dict[str, float]) -> dict[str, object]:
        began = time.perf_counter()
        if case.how == "plain":
            rate, warm = self.rate(self.plain(case.precision))
        else:
            models = self.population(case)
            made = time.perf_counter() - began
            rate, warm = self.rate(lambda n: models.advance(0, n))
            warm += made
        rate *= case.members
        self.base = self.base or rate
        net = registry.get("nets", case.net)()
        views = registry.get("objectives", case.objective)().views
        works = work(net, self.dataset.shape, self.batch * views, case.precision)
        flops = sum(w.flops for w in works)
        least = least_seconds(works, roof[case.precision], roof["bytes"])
        return {
            "model-steps/s": rate,
            "x eager": rate / self.base,
            "TFLOP/s": rate * flops / 1e12,
            "share of roofline": rate * least,
            "GFLOP a model-step": flops / 1e9,
            "MB a model-step": sum(w.bytes for w in works) / 1e6,
            "warm-up s": warm,
        }

    def encoding(self, case: Case) -> dict[str, object]:
        """All images for all members, as an evaluation asks for them."""
        models = self.population(case)
        index = torch.arange(len(self.dataset))
        encode(models, self.dataset, index[:2048])
        self.wait()
        began = time.perf_counter()
        q = encode(models, self.dataset, index)
        seconds = time.perf_counter() - began
        return {"seconds": seconds, "images/s": q.mean.shape[0] * q.mean.shape[1] / seconds}

    def measure(self, case: Case, roof: dict[str, float]) -> dict[str, object]:
        gpu = self.device.type == "cuda"
        if gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated() if gpu else 0
        row = self.encoding(case) if case.how == "encode" else self.training(case, roof)
        peak = torch.cuda.max_memory_allocated() if gpu else 0
        return {"what": case.name, "members": case.members, **row, "GB": (peak - held) / 2**30}


def line(row: dict[str, object]) -> str:
    if "error" in row:
        return f"{row['what']:44s} FAILED {row['error']}"
    if "seconds" in row:
        return (
            f"{row['what']:44s} {row['seconds']:.1f} s for all images, "
            f"{row['images/s']:,.0f} images/s, {row['GB']:.1f} GB"
        )
    return (
        f"{row['what']:44s} {row['model-steps/s']:13,.0f} {row['x eager']:8.1f} "
        f"{row['TFLOP/s']:8.1f} {100 * row['share of roofline']:9.1f} "
        f"{row['GB']:6.1f} {row['warm-up s']:9.1f}"
    )


HEAD = (
    f"{'what, members':44s} {'model-steps/s':>13s} {'x eager':>8s} {'TFLOP/s':>8s} "
    f"{'% of roof':>9s} {'GB':>6s} {'warm-up s':>9s}"
)


def tiny(device: torch.device) -> FactorDataset:
    stored = torch.arange(64 * 512).remainder(251).reshape(64, 512).to(torch.uint8)
    space = FactorSpace(("row",), (64,), ("nominal",))
    return FactorDataset("bits", space, Bits(stored, (1, 64, 64))).to(device)


def prime(case: Case, batch: int) -> None:
    """In a worker: take a step, which leaves what was compiled in the caches on disk."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # of many processes; no part of a cache's key
    device = torch.device("cuda")
    # The number of images is part of what is compiled for some objectives.
    stored = torch.zeros(SPACE.size, 512, dtype=torch.uint8, device=device)
    dataset = FactorDataset("dsprites", SPACE, Bits(stored, (1, 64, 64)))
    Bench(device, dataset, batch, 0.0).population(case).advance(0, 1)
    torch.cuda.synchronize()


def prime_all(wanted: list[Case], batch: int, workers: int, seconds: float) -> None:
    """Compile for many rows at once; what does not get done is compiled when its row comes."""
    began, done = time.perf_counter(), 0
    context = multiprocessing.get_context("spawn")
    # A worker holds one population after the other and must give its memory back.
    pool = ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1)
    jobs = [pool.submit(prime, c, batch) for c in wanted if c.how in ("kernels", "windows")]
    for job in jobs:
        with contextlib.suppress(Exception):
            job.result(timeout=max(0.1, began + seconds - time.perf_counter()))
            done += 1
    children = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for child in children:  # none may share the card with what is measured
        child.terminate()
    print(f"{done} of {len(jobs)} compiled in {time.perf_counter() - began:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="of measuring a row")
    parser.add_argument("--limit", type=float, default=520.0, help="seconds for all of it")
    parser.add_argument("--prime", type=int, default=12, help="processes that compile beforehand")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="rows with all these words, such as 'bf16 64'")
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)  # on a CPU
    options = parser.parse_args()
    began = time.perf_counter()
    if not options.tiny and not torch.cuda.is_available():
        sys.exit("This benchmark needs a CUDA device.")
    if options.tiny:
        device, wanted = torch.device("cpu"), cases((1, 2), ("bf16", "float32"))
        bench, sizes = Bench(device, tiny(device), 4, 0.01), (64, 1)
    else:
        device, wanted = torch.device("cuda"), cases()
        dataset = DSprites().load().to(device)
        bench, sizes = Bench(device, dataset, 64, options.seconds), (8192, 2048)
    words = options.only.split()
    # The first row is what the others are compared with.
    wanted = [c for c in wanted if c == wanted[0] or all(w in c.name.split() for w in words)]
    name = "CPU" if options.tiny else torch.cuda.get_device_name()
    facts: dict[str, object] = {"device": name, "torch": torch.__version__, "batch": bench.batch}
    print(f"{name}, torch {torch.__version__}, batch {bench.batch}, images {bench.dataset.shape}")
    roof = bench.roofline(*sizes)
    facts["roofline"] = roof
    print(", ".join(f"{p} {roof[p] / 1e12:.0f} TFLOP/s" for p in PRECISIONS), end=", ")
    print(f"copies {roof['bytes'] / 1e12:.2f} TB/s", flush=True)
    if options.prime and not options.tiny:
        share = 0.4 * options.limit
        workers = min(options.prime, max(1, (os.cpu_count() or 2) - 2))
        prime_all(wanted, bench.batch, workers, share)
    rows: list[dict[str, object]] = []
    facts["rows"] = rows
    print(HEAD)
    slowest = 0.0
    for case in wanted:
        # A row that would not end in time is not begun.
        if time.perf_counter() - began + slowest > options.limit:
            print(f"{case.name}: out of time")
            continue
        start = time.perf_counter()
        try:
            row = bench.measure(case, roof)
        except Exception as error:
            row = {"what": case.name, "error": f"{type(error).__name__}: {error}"[:300]}
            row["trace"] = traceback.format_exc(limit=-4)
        slowest = max(slowest, time.perf_counter() - start)
        rows.append(row)
        print(line(row), flush=True)
        if options.json:
            options.json.write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
