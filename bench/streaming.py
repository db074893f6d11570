"""Training on images that stay in the host's memory, beside the same images in GPU memory.

    PYTHONPATH=src python bench/streaming.py [--images 100000] [--members 64] [--json FILE]

For one and for three channels: two populations of the same members, one on images that lie in the
memory of the GPU, one on the same images streamed to it batch by batch. They take turns of some
seconds in one process. A ratio within a round is streamed by resident; `same bits` says whether
losses and weights agree to the last bit after as many steps. Each member draws its own batch.

`GB/s` are bytes of images as they are stored, which is what crosses to the GPU.
"""

import argparse
import json
import statistics
import time
import warnings
from dataclasses import replace
from pathlib import Path

import torch

from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.core.optim import Adam
from unknot.data.parts.images import Bytes, Streamed
from unknot.engine.context import Context
from unknot.engine.device import Runtime, runtime
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.nets.conv64 import Conv64
from unknot.objectives.beta_vae import BetaVAE

CHECKED = 20
"""Steps after which losses and weights are compared."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--precision", default="bf16", choices=("float32", "tf32", "bf16"))
    parser.add_argument("--seconds", type=float, default=4.0, help="of training in a turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--channels", type=int, nargs="*", default=[1, 3])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    where = runtime(options.device, options.precision)
    gpu = where.device.type == "cuda"
    rows = []
    facts = {
        "device": torch.cuda.get_device_name() if gpu else "CPU",
        "torch": torch.__version__,
        "images": options.images,
        "members": options.members,
        "batch": options.batch,
        "precision": options.precision,
        "net": "conv64",
        "objective": "beta_vae",
        "rows": rows,
    }
    for channels in options.channels:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            row = compare(channels, options, where)
        row["warnings"] = sorted({str(w.message) for w in said})
        rows.append(row)
        if gpu:
            torch.cuda.empty_cache()
    text = json.dumps(facts, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text)


def compare(channels: int, options: argparse.Namespace, where: Runtime) -> dict[str, object]:
    """One row: both populations, in turns."""
    host = dataset(options.images, channels)
    ways = {
        "resident": host.to(where.device),
        "streamed": replace(host, images=Streamed(host.images, where.device)),
    }
    began, warm, populations = time.perf_counter(), {}, {}
    for name, data in ways.items():
        context = Context(data, Conv64(), options.batch, where)
        each = [Member(seed, BetaVAE(beta=4.0), Adam(lr=1e-4)) for seed in range(options.members)]
        populations[name] = Stacked.fresh(context, each)
        populations[name].advance(0, 3)
        wait(where)
        warm[name] = round(time.perf_counter() - began, 1)
        began = time.perf_counter()
    results = [population.advance(3, CHECKED) for population in populations.values()]
    states = [population.state() for population in populations.values()]
    same = all(
        torch.equal(value, other[name])
        for ours, other in (results, states)
        for name, value in ours.items()
    )
    done = CHECKED + 3
    steps = {name: pace(ours, done, options.seconds, where) for name, ours in populations.items()}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, population in populations.items():
            rates[name].append(steps[name] / timed(population, done, steps[name], where))
    ratios = [b / a for a, b in zip(rates["resident"], rates["streamed"], strict=True)]
    median = {name: statistics.median(values) for name, values in rates.items()}
    size = options.members * options.batch * channels * 64 * 64
    return {
        "channels": channels,
        "GB of images": options.images * channels * 64 * 64 / 1e9,
        **{f"{name}, model-steps/s": median[name] * options.members for name in ways},
        "streamed by resident": statistics.median(ratios),
        "ratios": [round(ratio, 4) for ratio in ratios],
        "streamed, GB/s": size * median["streamed"] / 1e9,
        "same bits": same,
        "steps compared": done,
        "warm-up, s": warm,
    }


def dataset(count: int, channels: int) -> FactorDataset:
    """Random bytes: what images show does not matter to speed."""
    generator, shape = torch.Generator().manual_seed(0), (count, channels, 64, 64)
    stored = torch.randint(256, shape, dtype=torch.uint8, generator=generator)
    return FactorDataset("bytes", FactorSpace(("row",), (count,), ("nominal",)), Bytes(stored))


def pace(population: Stacked, start: int, seconds: float, where: Runtime) -> int:
    """Steps that take about so many seconds."""
    timed(population, start, 5, where)
    return max(5, int(seconds * 5 / timed(population, start, 5, where)))


def timed(population: Stacked, start: int, steps: int, where: Runtime) -> float:
    wait(where)
    began = time.perf_counter()
    for first in range(start, start + steps, population.pace):
        population.advance(first, min(population.pace, start + steps - first))
    wait(where)
    return time.perf_counter() - began


def wait(where: Runtime) -> None:
    if where.device.type == "cuda":
        torch.cuda.synchronize(where.device)


if __name__ == "__main__":
    main()
