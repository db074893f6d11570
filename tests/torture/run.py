"""The long torture: trials at random for some minutes, then one table: tried, held, lost.

OMP_NUM_THREADS=1 python tests/torture/run.py --minutes 60 --seed 1
"""

import argparse
import random
import resource
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from torture.kinds import kinds
from torture.tally import Tally
from torture.world import World

MEMORY = 12 << 30
"""Bytes that a process may address: what takes more fails, and not the whole machine."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    tally, spent = Tally(), defaultdict(float)
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        all_kinds = kinds(world, random.Random(options.seed))
        try:
            while (start := time.monotonic()) < until:
                kind = min(all_kinds, key=lambda kind: spent[kind.name] / kind.share)
                tally.add(kind.name, kind.trial, world, *next(kind.cases))
                spent[kind.name] += time.monotonic() - start
        finally:  # also after Ctrl-C
            print(tally)
    return 1 if tally.lost else 0


if __name__ == "__main__":
    sys.exit(main())
