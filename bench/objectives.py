"""What a training step of each objective costs on the CPU, as a multiple of the beta-VAE's.

All objectives train in one process, one after the other for a few steps at a time. Times are CPU
seconds of one thread, so that whatever else the machine does does not count. A step of an objective
that takes pairs or triplets has two or three times as many images.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch

from unknot.core import registry
from unknot.core.optim import Adam
from unknot.data.dsprites import DSprites
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.nets.conv64 import Conv64

BASE = "beta_vae"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="objectives [all]")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=5, help="of each objective in a round")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    context = Context(DSprites().load(), Conv64(), options.batch, runtime("cpu", "float32"))
    names = dict.fromkeys([BASE, *(options.names or registry.names("objectives"))])
    populations = {
        name: Looped.fresh(context, [Member(0, registry.get("objectives", name)(), Adam())])
        for name in names
    }
    spent: dict[str, list[float]] = {name: [] for name in names}
    for start in range(0, (options.rounds + 1) * options.steps, options.steps):
        for name, population in populations.items():
            began = time.process_time()
            population.advance(start, options.steps)
            spent[name].append((time.process_time() - began) / options.steps)
    # The first round warms up; a ratio within a round sees the same machine on both sides.
    rows = []
    for name, seconds in spent.items():
        ratios = [own / base for own, base in zip(seconds[1:], spent[BASE][1:], strict=True)]
        milliseconds = 1e3 * statistics.median(seconds[1:])
        rows.append((name, round(milliseconds, 1), round(statistics.median(ratios), 3)))
    conditions = (
        f"dSprites, conv64, batch {options.batch}, torch {torch.__version__} on one thread of a "
        f"CPU, medians of {options.rounds} rounds of {options.steps} steps, all objectives in turn "
        "in one process"
    )
    print(conditions)
    print(f"{'objective':22s} {'ms a step':>10s} {'x ' + BASE:>12s}")
    for name, ms, ratio in sorted(rows, key=lambda row: row[2]):
        print(f"{name:22s} {ms:10.1f} {ratio:12.2f}")
    if options.json:
        lines = [json.dumps({"name": n, "ms": ms, "ratio": ratio}) for n, ms, ratio in rows]
        text = ",\n  ".join(lines)
        options.json.write_text(
            f'{{"conditions": {json.dumps(conditions)}, "objectives": [\n  {text}\n]}}\n'
        )


if __name__ == "__main__":
    main()
