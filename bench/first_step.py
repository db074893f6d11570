"""Seconds from a fresh process to the first step of a population, with compiled files and without.

    PYTHONPATH=src python bench/first_step.py [--members 64] [--precision bf16] [--json FILE]

Two processes train one step each, one after the other: the first finds an empty cache folder, the
second what the first has left there. Images are random bits, so that no dataset is read. A process
before them, which is not measured, leaves byte code of all modules that they import, as installers
do: a machine without it compiles some thousand modules at each start.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def child(options: argparse.Namespace) -> None:
    """One process: what each part took, as JSON."""
    began = time.perf_counter()
    import torch
    from populations import bits

    from unknot.core import registry
    from unknot.core.optim import Adam
    from unknot.engine.context import Context
    from unknot.engine.device import runtime
    from unknot.engine.population import Member, populate

    parts = {"imports": time.perf_counter() - began}
    where = runtime(options.device, options.precision)
    data = bits(512, 1).to(where.device)
    objective = registry.get("objectives", options.objective)()
    net = registry.get("nets", options.net)()
    members = [Member(s, objective, Adam(lr=1e-4)) for s in range(options.members)]
    parts["images on the device"] = time.perf_counter() - began
    population = populate(Context(data, net, options.batch, where), members)
    parts["population"] = time.perf_counter() - began
    population.advance(0, 1)
    if where.device.type == "cuda":
        torch.cuda.synchronize()
    parts["first step"] = time.perf_counter() - began
    print(json.dumps(parts))


def measured(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Both processes."""
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        inherited = {k: v for k, v in os.environ.items() if not k.endswith("_CACHE_DIR")}
        inherited.pop("PYTHONDONTWRITEBYTECODE", None)
        inherited["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
        words = [
            f"--{name}={value}" for name, value in vars(options).items() if name not in ("json",)
        ]
        for name in ("byte code", "cold", "warm"):
            command = [sys.executable, __file__, "--child", *words]
            cache = f"{folder}/{'other' if name == 'byte code' else 'measured'}"
            environment = {**inherited, "UNKNOT_CACHE": cache}
            began = time.perf_counter()
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(done.stderr[-2000:])
            parts = json.loads(done.stdout.splitlines()[-1])
            rows[name] = {**parts, "whole process": time.perf_counter() - began}
    del rows["byte code"]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--objective", default="beta_vae")
    parser.add_argument("--net", default="conv64")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    del options.child
    rows = measured(options)
    text = json.dumps(rows, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text)


if __name__ == "__main__":
    main()
