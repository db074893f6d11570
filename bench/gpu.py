"""Populations on a GPU in one run: model-steps per second, beside plain PyTorch and the roofline.

PYTHONPATH=src python bench/gpu.py [--limit 520] [--seconds 2] [--only WORDS]
    [--json docs/benchmarks/gpu.json]

``python docs/benchmarks.py`` makes the table of the documentation of the JSON file.

A row is a process of its own. A dozen of them compile and warm up at the same time; then one after
the other is measured while the rest wait, and the next dozen come. What matters most comes first,
and no dozen is begun that would not end within the limit.

The share of the roofline is the least time of a step on this card (``bench/roofline.py``) by the
time measured.
"""

import argparse
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import roofline
import torch
from populations import Bench, Case, Row, bits, cases
from roofline import PRECISIONS

from unknot.data.dsprites import DSprites

SLOW = 4.0
"""Seconds that a row takes beside measuring, at most."""


@dataclass(frozen=True)
class Options:
    """How rows are measured."""

    tiny: bool
    """Next to nothing on a CPU, to see that all of it runs."""
    seconds: float
    before: str
    after: str
    roof: dict[str, float]

    def bench(self) -> Bench:
        if not self.tiny:
            device = torch.device("cuda")
            return Bench(device, DSprites().load().to(device), 64, self.seconds, self.roof)
        return Bench(torch.device("cpu"), bits(64, 1), 4, self.seconds, self.roof)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """With what else uses the card paused."""
        if self.before:
            subprocess.run(self.before, shell=True, check=True)
        try:
            yield
        finally:
            if self.after:
                subprocess.run(self.after, shell=True, check=True)


def in_process(case: Case, options: Options, pipe: Connection) -> None:
    """Warm up, say so, wait for one's turn, measure. What fails is a row, too."""
    began = time.perf_counter()
    gpu = not options.tiny
    try:
        bench = options.bench()
        held = torch.cuda.memory_allocated() if gpu else 0
        call = bench.warm(case)
        pipe.send(time.perf_counter() - began)
        pipe.recv()
        row = call()
        peak = torch.cuda.max_memory_allocated() if gpu else 0
        pipe.send({**row, "GB": (peak - held) / 2**30})
    except Exception as error:
        what = f"{type(error).__name__}: {error}"[:300]
        pipe.send({"error": what, "trace": traceback.format_exc(limit=-4)})


@dataclass
class Turn:
    """A row on its way: its process and the line to it."""

    case: Case
    process: BaseProcess
    pipe: Connection

    def answer(self, until: float) -> float | Row:
        """Seconds of the warm-up, or the row."""
        if not self.pipe.poll(max(0.0, until - time.perf_counter())):
            return {"error": "not ready in time"}
        try:
            found: float | Row = self.pipe.recv()
        except EOFError:
            self.process.join()
            return {"error": f"its process ended with {self.process.exitcode}"}
        return found


def together(wanted: list[Case], options: Options, until: float) -> Iterator[Row]:
    """Rows that warm up at the same time and are measured one by one."""
    context = multiprocessing.get_context("spawn")
    turns = []
    for case in wanted:
        ours, theirs = context.Pipe()
        process = context.Process(target=in_process, args=(case, options, theirs))
        process.start()
        theirs.close()
        turns.append(Turn(case, process, ours))
    warm = [turn.answer(until - len(turns) * (options.seconds + SLOW)) for turn in turns]
    for turn, found in zip(turns, warm, strict=True):
        if isinstance(found, dict):  # nothing may share the card with what is measured
            turn.process.terminate()
            turn.process.join()
    with options.alone():
        for turn, found in zip(turns, warm, strict=True):
            row = found
            if not isinstance(row, dict):
                turn.pipe.send("your turn")
                row = turn.answer(time.perf_counter() + 120)
            assert isinstance(row, dict)
            seconds = {} if isinstance(found, dict) else {"warm-up s": found}
            yield {"what": turn.case.name, **asdict(turn.case), **row, **seconds}
    for turn in turns:
        turn.process.join()


def line(row: Row) -> str:
    if "error" in row:
        return f"{row['what']:44s} FAILED {row['error']}"
    if "seconds" in row:
        return (
            f"{row['what']:44s} {row['seconds']:.1f} s for all images, "
            f"{row['images/s']:,.0f} images/s, {row['GB']:.1f} GB"
        )
    start = f"{row['what']:44s} {row['model-steps/s']:13,.0f} {row['images/s']:12,.0f}"
    counted = f"{'':8s} {'':9s}"
    if "TFLOP/s" in row:
        counted = f"{row['TFLOP/s']:8.1f} {100 * row['share of roofline']:9.1f}"
    return f"{start} {counted} {row['GB']:6.1f} {row['warm-up s']:9.1f}"


HEAD = (
    f"{'what, members':44s} {'model-steps/s':>13s} {'images/s':>12s} {'TFLOP/s':>8s} "
    f"{'% of roof':>9s} {'GB':>6s} {'warm-up s':>9s}"
)


def versions() -> dict[str, object]:
    """The day, and the programs that a rate depends on."""
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "triton": version("triton") if find_spec("triton") else None,
        "cores": os.cpu_count(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="of measuring a row")
    parser.add_argument("--limit", type=float, default=520.0, help="seconds for all of it")
    parser.add_argument("--together", type=int, default=12, help="rows that warm up at a time")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="rows with all words of a list: 'bf16 64,plain'")
    parser.add_argument("--before", default="", help="command before rows are measured, in a shell")
    parser.add_argument("--after", default="", help="and after them: pause what shares the card")
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)  # on a CPU
    options = parser.parse_args()
    began = time.perf_counter()
    if not options.tiny and not torch.cuda.is_available():
        sys.exit("This benchmark needs a CUDA device.")
    wanted = cases((1, 2), ("bf16", "float32")) if options.tiny else cases()
    lists = [words.split() for words in options.only.split(",")]
    asked = [c for c in wanted if any(set(words) <= set(c.name.split()) for words in lists)]
    # The first row is what the others are compared with.
    wanted = [c for c in wanted if c == wanted[0] or c in asked]
    how = Options(options.tiny, options.seconds, options.before, options.after, {})
    bench = how.bench()
    name = "CPU" if how.tiny else torch.cuda.get_device_name()
    facts: dict[str, object] = {**versions(), "device": name, "batch": bench.batch}
    facts["command"] = " ".join(["bench/gpu.py", *sys.argv[1:]])
    print(f"{name}, torch {torch.__version__}, batch {bench.batch}, images {bench.dataset.shape}")
    with how.alone():
        how.roof.update(roofline.measured(bench.device, *((64, 1) if how.tiny else ())))
    facts["roofline"] = how.roof
    print(", ".join(f"{p} {how.roof[p] / 1e12:.0f} TFLOP/s" for p in PRECISIONS), end=", ")
    print(f"copies {how.roof['bytes'] / 1e12:.2f} TB/s\n{HEAD}", flush=True)
    # Of many processes, none compiles with more than a thread.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    rows: list[Row] = []
    facts["rows"] = rows
    took = 0.0
    for i in range(0, len(wanted), options.together):
        some, start = wanted[i : i + options.together], time.perf_counter()
        if start - began + took > options.limit:
            print("\n".join(f"{case.name}: out of time" for case in some))
            continue
        for row in together(some, how, began + options.limit):
            rows.append(row)
            print(line(row), flush=True)
            if options.json:
                options.json.write_text(json.dumps(facts, indent=1))
        took = time.perf_counter() - start


if __name__ == "__main__":
    main()
