"""How long scene3d takes: casting its buffers, loading them again, and painting a batch.

    python bench/scene3d.py [--rounds 20]

The buffers go to a temporary cache folder, so that none from before is used.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable

import torch

from unknot.data.scene3d import Scene3D

BATCHES = (64, 256)


def seconds(call: Callable[[], object]) -> float:
    """Wall-clock time of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNKNOT_CACHE"] = folder
        print(f"first load   {seconds(Scene3D().load):8.2f} s")
        print(f"next load    {1000 * seconds(Scene3D().load):8.1f} ms")
        data = Scene3D().load()
        for batch in BATCHES:
            index = torch.arange(batch) * (len(data) // batch)
            data.batch(index)
            times = [seconds(lambda index=index: data.batch(index)) for _ in range(rounds)]
            print(f"batch of {batch:<4}{1000 * statistics.median(times):8.1f} ms")


if __name__ == "__main__":
    main()
