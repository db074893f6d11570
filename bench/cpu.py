"""CPU training against a plain PyTorch loop of the same net, as ratios measured in one run.

    python bench/cpu.py [--rounds 5] [--json FILE]

The contestants take turns, so that whatever else the machine does falls on all of them; each
ratio is between medians over the rounds.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
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
from unknot.objectives.beta_vae import BetaVAE

Steps = Callable[[int], None]


def plain(dataset, batch: int, *, compiled: bool = False, channels_last: bool = False) -> Steps:
    """What anyone would write first: eager, NCHW, PyTorch's Adam as it comes."""
    net = Conv64()
    encoder, decoder = net.encoder(dataset.shape), net.decoder(dataset.shape)
    if channels_last:
        encoder.to(memory_format=torch.channels_last)
        decoder.to(memory_format=torch.channels_last)
    optimiser = torch.optim.Adam(
        [*encoder.parameters(), *decoder.parameters()], lr=1e-4, fused=channels_last or None
    )

    def loss_of(x: torch.Tensor) -> torch.Tensor:
        mean, logvar = encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        recon = F.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum") / batch
        kl = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum() / batch
        return recon + 4 * kl

    loss = torch.compile(loss_of) if compiled else loss_of

    def steps(n: int) -> None:
        for _ in range(n):
            x = dataset.batch(torch.randint(0, len(dataset), (batch,)))
            if channels_last:
                x = x.to(memory_format=torch.channels_last)
            optimiser.zero_grad()
            loss(x).backward()
            optimiser.step()

    return steps


def population(backend, dataset, batch: int, precision: str, members: int = 1) -> Steps:
    setting = Setting(dataset, Conv64(), batch, runtime("cpu", precision))
    each = [Member(seed, BetaVAE(beta=4.0), Adam(lr=1e-4)) for seed in range(members)]
    models, done = backend.fresh(setting, each), [0]

    def steps(n: int) -> None:
        models.advance(done[0], n)
        done[0] += n

    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    dataset = DSprites().load()
    print(f"{platform.machine()}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    heads = ("batch", "what", "ms per model-step", "x plain")
    print("{:>5s}  {:34s} {:>17s} {:>8s}".format(*heads))
    rows = []
    for batch in (64, 256):
        contestants: dict[str, tuple[int, Steps]] = {
            "plain PyTorch": (1, plain(dataset, batch)),
            "plain, compiled": (1, plain(dataset, batch, compiled=True)),
            "plain, channels last + compiled": (
                1,
                plain(dataset, batch, compiled=True, channels_last=True),
            ),
            "unknot float32": (1, population(Looped, dataset, batch, "float32")),
            "unknot bf16": (1, population(Looped, dataset, batch, "bf16")),
        }
        if batch == 64:
            contestants |= {
                "unknot float32, 4 members looped": (
                    4,
                    population(Looped, dataset, batch, "float32", 4),
                ),
                "unknot float32, 4 members stacked": (
                    4,
                    population(Stacked, dataset, batch, "float32", 4),
                ),
            }
        times: dict[str, list[float]] = {name: [] for name in contestants}
        for _, steps in contestants.values():
            steps(2)
        for _ in range(options.rounds):
            for name, (members, steps) in contestants.items():
                n = max(1, 640 // batch // members)
                began = time.perf_counter()
                steps(n)
                times[name].append((time.perf_counter() - began) / n / members)
        base = statistics.median(times["plain PyTorch"])
        for name, taken in times.items():
            row = (batch, name, 1e3 * statistics.median(taken), base / statistics.median(taken))
            print("{:5d}  {:34s} {:17.1f} {:8.2f}".format(*row), flush=True)
            rows.append(dict(zip(heads, row, strict=True)))
    if options.json:
        options.json.write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
