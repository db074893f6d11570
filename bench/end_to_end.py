"""One study from command to page: model-steps a second, and a bar of where the time went.

    PYTHONPATH=src python bench/end_to_end.py [--models 64] [--members 64] [--steps 100000]
        [--device auto] [--json docs/benchmarks/end_to_end.json]

Models differ in beta and seed and train in one population, or in several one after the other. On a
GPU, populations are scored while others train: the time of both counts as training, and what is
left of it as scores. Scores are all of `study2019`, with DCI and efficiency, and the page is that
of `unknot report`. The study has a fresh process with one worker, and so has the page; seconds are
by the clock, from the start of the first process to the end of the last. The rate of training is
that of the first population, which nothing is scored beside. `--small` is a study of minutes on a
CPU, with one thread. On a machine without a network: ``bench/bare.sh``.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

SMALL = {
    "models": 4,
    "members": 4,
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
        members = {options.members}
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


class Clock:
    """Seconds of phases, from what a study says of its populations."""

    def __init__(self, began: float, clock: Callable[[], float] = time.time) -> None:
        self.clock, self.now = clock, began
        self.spent = dict.fromkeys(PHASES, 0.0)
        self.first = dict[str, tuple[int, float]]()
        """Of each population the first steps that it had done, and when."""
        self.alone: float | None = None
        """Steps a second of the first population."""
        self.training = ""
        """The population that trains."""

    def until(self, phase: str) -> None:
        """All seconds since the last call are of a phase."""
        now = self.clock()
        self.spent[phase] += now - self.now
        self.now = now

    def progress(self, key: str, phase: str, done: int, steps: int) -> None:
        """A population has done some steps, or has some scores."""
        if phase == "train":
            self.until("train" if self.training or key in self.first else "start")
            self.training = key if done < steps else ""
            began, when = self.first.setdefault(key, (done, self.now))
            if len(self.first) == 1 and done > began:
                self.alone = (done - began) / (self.now - when)
            return
        self.until("train" if self.training else "score")
        if key == self.training:
            self.training = ""

    def found(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "phases": self.spent,
            "steps/s of a model": self.alone,
            "populations": len(self.first),
        }


def study(options: argparse.Namespace) -> None:
    """Run it here and print the seconds of its phases, the first from the start of the process."""
    from unknot.studies.execute import driver
    from unknot.studies.execute.events import Done, Failed, Progress
    from unknot.studies.execute.machine import machine
    from unknot.studies.file.study_file import StudyFile

    clock = Clock(options.began)
    parsed = StudyFile.parse(study_text(options))

    def watch(event: object) -> None:
        if isinstance(event, Failed):
            sys.exit(event.error)
        if isinstance(event, Progress):
            clock.progress(event.key, event.phase, event.done, options.steps)
        elif isinstance(event, Done):
            clock.progress(event.key, "score", 0, options.steps)

    driver.run(
        options.folder / "study",
        parsed,
        device=options.device,
        workers=1,
        machine=partial(machine, threads=1) if options.device == "cpu" else machine,
        on_start=lambda *_: clock.until("plan"),
        watch=watch,
    )
    clock.until("records")
    print(json.dumps(clock.found()))


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Both processes, one after the other."""
    import torch
    from gpu import versions

    began = time.time()
    words = [sys.executable, __file__, "--child", "--began", str(began), "--folder"]
    flags = ("models", "members", "steps", "batch", "data", "net", "precision", "device")
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
    alone = found.pop("steps/s of a model")
    rate = alone * min(options.members, options.models) if alone else None
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
    count = found["populations"]
    several = f" in {count} populations" if count > 1 else ""
    yield (
        f"{found['models']} models{several} × {found['steps']:,} steps on {found['device']}, "
        f"{found['date']}, torch {found['torch']}: {found['model-steps/s']:,.0f} model-steps/s "
        f"from command to page{alone}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--members", type=int, default=64, help="of a population")
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
