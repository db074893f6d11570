"""Model-steps per second on a GPU: stacked populations against a plain eager loop, in one run.

PYTHONPATH=src python bench/gpu.py [--seconds 3] [--json FILE]
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F

from unknot.core.objective import Adam
from unknot.data.dsprites import DSprites
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member, Setting
from unknot.engine.stacked import Stacked
from unknot.nets.conv64 import Conv64
from unknot.nets.locatello import Locatello
from unknot.objectives.beta_vae import BetaVAE

GFLOP = 5.4  # one conv64 step of 64 images, forward and backward
BATCH = 64


def plain(dataset, precision: str) -> Callable[[int], None]:
    """What anyone would write first: one model, eager, PyTorch's Adam, data on the card."""
    net = Conv64()
    encoder, decoder = net.encoder(dataset.shape).cuda(), net.decoder(dataset.shape).cuda()
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-4)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "float32"

    def steps(n: int) -> None:
        for _ in range(n):
            x = dataset.batch(torch.randint(0, len(dataset), (BATCH,), device="cuda"))
            optimiser.zero_grad()
            with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
                mean, logvar = encoder(x).float().chunk(2, 1)
                z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
                y = decoder(z).float()
            recon = F.binary_cross_entropy_with_logits(y, x, reduction="sum") / BATCH
            kl = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum() / BATCH
            (recon + 4 * kl).backward()
            optimiser.step()

    return steps


def population(backend, dataset, net, precision: str, members: int) -> Callable[[int], None]:
    setting = Setting(dataset, net, BATCH, runtime("cuda", precision))
    each = [Member(seed, BetaVAE(beta=4.0), Adam(lr=1e-4)) for seed in range(members)]
    models = backend.fresh(setting, each)
    done = [0]

    def steps(n: int) -> None:
        models.advance(done[0], n)
        done[0] += n

    return steps


def measure(steps: Callable[[int], None], seconds: float) -> tuple[float, float]:
    """Steps per second after warming up, and the seconds that took."""
    began = time.perf_counter()
    steps(3)
    torch.cuda.synchronize()
    warm = time.perf_counter() - began
    began = time.perf_counter()
    steps(5)
    torch.cuda.synchronize()
    n = max(5, int(seconds * 5 / (time.perf_counter() - began)))
    began = time.perf_counter()
    steps(n)
    torch.cuda.synchronize()
    return n / (time.perf_counter() - began), warm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="rows whose name holds this word, such as bf16")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("This benchmark needs a CUDA device.")
    dataset = DSprites().load().to(torch.device("cuda"))
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, batch {BATCH}, 64x64x1")
    precisions = ("float32", "tf32", "bf16")
    cases: list[tuple[str, int, Callable[[], Callable[[int], None]]]] = [
        *((f"plain eager {p}", 1, partial(plain, dataset, p)) for p in precisions),
        *(
            (f"stacked conv64 {p}", m, partial(population, Stacked, dataset, Conv64(), p, m))
            for p in precisions
            for m in (1, 8, 64)
        ),
        ("looped conv64 tf32", 1, partial(population, Looped, dataset, Conv64(), "tf32", 1)),
        (
            "stacked locatello bf16",
            64,
            partial(population, Stacked, dataset, Locatello(), "bf16", 64),
        ),
    ]
    rows, base = [], 0.0
    heads = ("what", "members", "model-steps/s", "x eager", "TFLOP/s", "GB", "warm-up s")
    print("{:26s} {:>7s} {:>13s} {:>8s} {:>8s} {:>6s} {:>9s}".format(*heads))
    for name, members, make in cases:
        # The first row is what the others are compared with.
        if base and options.only not in name:
            continue
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated()
        rate, warm = measure(make(), options.seconds)
        rate *= members
        base = base or rate
        memory = (torch.cuda.max_memory_allocated() - held) / 2**30
        row = (name, members, rate, rate / base, rate * GFLOP / 1e3, memory, warm)
        print("{:26s} {:7d} {:13,.0f} {:8.1f} {:8.1f} {:6.1f} {:9.1f}".format(*row), flush=True)
        rows.append(dict(zip(heads, row, strict=True)))
    if options.json:
        facts = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}
        options.json.write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
