"""CPU training against a plain PyTorch loop of the same net, as ratios measured in one run.

    python bench/cpu.py [--rounds 5] [--json FILE]

Each contestant has a process of its own, since unknot tells the C library to keep freed memory.
They take turns, so that whatever else the machine does falls on all of them; each ratio is between
medians over the rounds.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import torch
import torch.nn.functional as F

from unknot.core.optim import Adam
from unknot.data.dsprites import DSprites
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
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
    optimizer = torch.optim.Adam(
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
            optimizer.zero_grad()
            loss(x).backward()
            optimizer.step()

    return steps


def population(backend, dataset, batch: int, *, precision: str, members: int = 1) -> Steps:
    context = Context(dataset, Conv64(), batch, runtime("cpu", precision))
    each = [Member(seed, BetaVAE(beta=4.0), Adam(lr=1e-4)) for seed in range(members)]
    models, done = backend.fresh(context, each), [0]

    def steps(n: int) -> None:
        models.advance(done[0], n)
        done[0] += n

    return steps


CONTESTANTS: dict[str, tuple[int, Callable[..., Steps]]] = {
    "plain PyTorch": (1, plain),
    "plain, compiled": (1, partial(plain, compiled=True)),
    "plain, channels last, compiled": (1, partial(plain, compiled=True, channels_last=True)),
    "unknot float32": (1, partial(population, Looped, precision="float32")),
    "unknot bf16": (1, partial(population, Looped, precision="bf16")),
    "unknot float32, 4 looped": (4, partial(population, Looped, precision="float32", members=4)),
    "unknot float32, 4 stacked": (4, partial(population, Stacked, precision="float32", members=4)),
}


def serve(name: str, batch: int, pipe: Connection) -> None:
    """One contestant in a process of its own, timed when it is asked."""
    members, make = CONTESTANTS[name]
    steps = make(DSprites().load(), batch)
    steps(3)
    n = max(1, 640 // batch // members)
    while pipe.recv():
        began = time.perf_counter()
        steps(n)
        pipe.send((time.perf_counter() - began) / n / members)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    DSprites().load()
    print(f"{platform.machine()}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    heads = ("batch", "what", "ms per model-step", "x plain")
    print("{:>5s}  {:34s} {:>17s} {:>8s}".format(*heads))
    rows = []
    for batch, names in ((64, [*CONTESTANTS]), (256, [*CONTESTANTS][:5])):
        times = compete(batch, names, options.rounds)
        base = statistics.median(times["plain PyTorch"])
        for name, taken in times.items():
            row = (batch, name, 1e3 * statistics.median(taken), base / statistics.median(taken))
            print("{:5d}  {:34s} {:17.1f} {:8.2f}".format(*row), flush=True)
            rows.append(dict(zip(heads, row, strict=True)))
    if options.json:
        options.json.write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1))


def compete(batch: int, names: list[str], rounds: int) -> dict[str, list[float]]:
    """Seconds per model-step of each contestant in each round."""
    spawn = get_context("spawn")
    pipes = {}
    for name in names:
        pipes[name], theirs = spawn.Pipe()
        spawn.Process(target=serve, args=(name, batch, theirs), daemon=True).start()
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds + 1):
        for name, pipe in pipes.items():
            pipe.send(True)
            taken = pipe.recv()
            if turn:  # the first round waits for the slowest start
                times[name].append(taken)
    for pipe in pipes.values():
        pipe.send(False)
    return times


if __name__ == "__main__":
    main()
