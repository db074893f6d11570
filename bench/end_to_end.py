"""One study from command to page: model-steps a second, and a bar of where the time went.

    PYTHONPATH=src python bench/end_to_end.py [--models 64] [--steps 100000] [--device auto]
        [--json docs/benchmarks/end_to_end.json]

Models differ in beta and seed and train in one population, or in several one after the other. Their
scores are all of `study2019`, with DCI and efficiency, and the page is that of `unknot report`. The
study has a fresh process with one worker, and so has the page; seconds are by the clock, from the
start of the first process to the end of the last. `--small` is a study of minutes on a CPU, with
one thread. On a machine without a network: ``bench/bare.sh``.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

SMALL = {
    "models": 4,
    "steps": 500,
    "data": "bars",
    "net": "mlp",
    "device": "cpu",
    "precision": "float32",
}
PHASES = {
    "plan": "imports and plan",
    "start": "worker, images, compilation, first steps",
    "train": "training",
    "score": "scores",
    "records": "records",
    "page": "page",
}
BAR = 40
"""Characters of a bar over all of the time."""


def study_text(options: argparse.Namespace) -> str:
    """Half of the models with each beta."""
    import load

    from unknot.metrics import protocols_for
    from unknot.metrics.parts.evaluation import code_metrics

    names = [name for name in code_metrics() if "study2019" in protocols_for(name)]
    data = f'{{name = "{options.data}"}}'
    if options.data == "bars":  # of few values, so that scores that learn them take seconds
        load.write_images(options.folder / "bars.npz")
        data = f'{{name = "arrays", path = "{options.folder / "bars.npz"}"}}'
    return f"""
        name = "end to end"
        seeds = "0..{options.models // 2 - 1}"
        metrics = {json.dumps(names)}
        protocol = "study2019"
        [train]
        data = {data}
        net = {{name = "{options.net}"}}
        steps = {options.steps}
        batch = {options.batch}
        precision = "{options.precision}"
        [[grid]]
        objective = {{name = "beta_vae", beta = [1, 4]}}
    """


def study(options: argparse.Namespace) -> None:
    """Run it here and print the seconds of its phases, the first from the start of the process."""
    now = options.began
    spent = dict.fromkeys(PHASES, 0.0)
    first = dict[str, int]()
    steps = 0

    def until(phase: str) -> None:
        nonlocal now
        spent[phase] += time.time() - now
        now = time.time()

    from unknot.studies.execute import driver
    from unknot.studies.execute.events import Done, Failed, Progress
    from unknot.studies.execute.machine import machine
    from unknot.studies.file.study_file import StudyFile

    def watch(event: object) -> None:
        nonlocal steps
        if isinstance(event, Failed):
            sys.exit(event.error)
        if isinstance(event, Progress) and event.phase == "train":
            until("train" if event.key in first else "start")
            first.setdefault(event.key, event.done)
            if event.done == options.steps:
                steps += options.steps - first[event.key]
        elif isinstance(event, Progress | Done):
            until("score")

    driver.run(
        options.folder / "study",
        StudyFile.parse(study_text(options)),
        device=options.device,
        workers=1,
        machine=partial(machine, threads=1) if options.device == "cpu" else machine,
        on_start=lambda *_: until("plan"),
        watch=watch,
    )
    until("records")
    populations = len(first)
    print(json.dumps({"phases": spent, "timed steps": steps, "populations": populations}))


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Both processes, one after the other."""
    import torch
    from gpu import versions

    began = time.time()
    words = [sys.executable, __file__, "--child", "--began", str(began), "--folder"]
    flags = ("models", "steps", "batch", "data", "net", "precision", "device")
    words += [str(options.folder), *(f"--{name}={getattr(options, name)}" for name in flags)]
    answer = run(words)
    found: dict[str, Any] = json.loads(answer.splitlines()[-1])
    page = time.time()
    command = [sys.executable, "-m", "unknot", "report", str(options.folder / "study")]
    run([*command, "--out", str(options.folder / "page"), "--device", options.device])
    end = time.time()
    found["phases"]["page"] = end - page
    gpu = options.device != "cpu" and torch.cuda.is_available()
    total, all_steps = end - began, options.models * options.steps
    training = found["phases"]["train"]
    timed = found.pop("timed steps") * options.models / found["populations"]
    rate = timed / training if training else None
    return {
        **versions(),
        "device": torch.cuda.get_device_name() if gpu else platform.machine(),
        "load": os.getloadavg()[0],
        **{name: getattr(options, name) for name in flags if name != "device"},
        **found,
        "seconds": total,
        "model-steps/s": all_steps / total,
        "model-steps/s of training": rate,
        "share of the rate of training": all_steps / total / rate if rate else None,
    }


def run(words: list[str]) -> str:
    """What a program prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """A table with a bar for each phase."""
    yield "| what | seconds | % | |"
    yield "|---|---|---|---|"
    total = found["seconds"]
    for name, words in PHASES.items():
        share = found["phases"][name] / total
        bar = "█" * round(BAR * share)
        yield f"| {words} | {found['phases'][name]:.1f} | {100 * share:.0f} | {bar} |"
    rate = found["model-steps/s of training"]
    yield f"| **all** | {total:.1f} | 100 | |"
    yield ""
    alone = ""
    if rate:
        share = found["share of the rate of training"]
        alone = f", {share:.2f} of the {rate:,.0f} of training alone"
    yield (
        f"{found['models']} models × {found['steps']:,} steps on {found['device']}, "
        f"{found['date']}, torch {found['torch']}: {found['model-steps/s']:,.0f} model-steps/s "
        f"from command to page{alone}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--data", default="dsprites")
    parser.add_argument("--net", default="conv64")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--small", action="store_true", help="a few models on a CPU")
    parser.add_argument("--folder", type=Path, help="kept; it must not hold a study yet")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        study(options)
        return
    if options.small:
        vars(options).update(SMALL)
    with tempfile.TemporaryDirectory() as scratch:
        options.folder = options.folder or Path(scratch)
        found = measured(options)
    print("\n".join(lines(found)))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
