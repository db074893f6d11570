"""Populations in processes of their own on one GPU: model-steps per second of all together.

PYTHONPATH=src python bench/side_by_side.py 3 [--members 10] [--net locatello] [--seconds 6]

Run it with and without NVIDIA's Multi-Process Service, which lets processes share the card at the
same time (``nvidia-cuda-mps-control -d``).
"""

import argparse
import multiprocessing
import time
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

import torch
from populations import Bench, Case

from unknot.data.dsprites import DSprites

OBJECTIVES = ("beta_vae", "annealed_vae", "beta_tcvae", "dip_vae_i", "dip_vae_ii")
TOGETHER = 50
"""Steps between two looks at the clock."""


def train(case: Case, seconds: float, ready: Barrier, found: Queue) -> None:
    """In a process: compile, wait for the others, and count."""
    device = torch.device("cuda")
    models = Bench(device, DSprites().load().to(device), 64, 0.0, {}).population(case)
    models.advance(0, 3)
    torch.cuda.synchronize()
    ready.wait()
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        models.advance(steps, TOGETHER)
        torch.cuda.synchronize()
        steps += TOGETHER
    found.put((case.name, steps * case.members / (time.perf_counter() - began)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("processes", type=int)
    parser.add_argument("--members", type=int, default=10, help="of each population")
    parser.add_argument("--net", default="locatello")
    parser.add_argument("--seconds", type=float, default=6.0, help="of measuring")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ready, found = context.Barrier(options.processes), context.Queue()
    for i in range(options.processes):
        objective = OBJECTIVES[i % len(OBJECTIVES)]
        case = Case("kernels", options.members, "bf16", objective, options.net)
        context.Process(target=train, args=(case, options.seconds, ready, found)).start()
    each = [found.get() for _ in range(options.processes)]
    for name, rate in sorted(each):
        print(f"{name:44s} {rate:10,.0f} model-steps/s")
    print(f"{'all':44s} {sum(rate for _, rate in each):10,.0f} model-steps/s")


if __name__ == "__main__":
    main()
