"""What the bookkeeping of a large study costs: to plan it, to ask how far it is, to read it.

Every run has a setting of its own, and is made up: nothing is trained. Times are CPU seconds of one
thread, so that whatever else the machine does does not count; each is the least of some rounds. A
command is timed whole, as its user sees it, and next to it an import of torch, which most of them
need before they can say a word.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file

from unknot.analysis import Results
from unknot.report.study.figures.training import bands
from unknot.studies.execute import driver
from unknot.studies.execute.machine import machine
from unknot.studies.execute.task import Outcome
from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import members_for, plan, shards
from unknot.studies.study import Study

TERMS = ("loss", "recon", "kl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--scores", type=int, default=5, help="of each run")
    parser.add_argument("--logged", type=int, default=100, help="log steps of each run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        file, folder = Path(name) / "large.toml", Path(name) / "large"
        betas = ", ".join(f"{1 + i / options.runs:.6f}" for i in range(options.runs))
        file.write_text(f'name = "large"\n[[grid]]\nobjective.beta = [{betas}]\n')
        text = file.read_text()
        made_up(folder, text, options.scores, options.logged)
        study = Study.open(folder)
        rows = study.table()
        configurations = Results(rows).configurations
        command = [sys.executable, "-m", "unknot", "study"]
        found = {
            "plan": least(options.rounds, lambda: shards(plan(StudyFile.parse(text)), members=16)),
            "status": least(options.rounds, study.status),
            "table": least(options.rounds, study.table),
            "configurations of the table": least(
                options.rounds, lambda: Results(rows).configurations
            ),
            "curves of all configurations": least(
                options.rounds, lambda: bands(study, configurations)
            ),
            "`python -c 'import torch'`": whole(
                options.rounds, [sys.executable, "-c", "import torch"]
            ),
            "`unknot study plan --no-estimate`": whole(
                options.rounds, [*command, "plan", str(file), "--no-estimate"]
            ),
            "`unknot study status`": whole(options.rounds, [*command, "status", str(folder)]),
            "`unknot study table`": whole(options.rounds, [*command, "table", str(folder)]),
        }
    print(f"{options.runs:,} runs of as many settings, {options.scores} scores each")
    for what, seconds in found.items():
        print(f"| {what} | {seconds:.2f} |")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


def made_up(folder: Path, text: str, scores: int, logged: int) -> None:
    """A finished study of which nothing was trained."""
    asked, here = plan(StudyFile.parse(text)), machine(1, device="cpu", workers=1)
    size = members_for(len(asked.runs), here.workers, gpu=False)
    values = torch.rand(logged, size, dtype=torch.float64)
    with driver.driver(folder) as opened:
        driver.save_plan(opened, asked, here)
        for n, shard in enumerate(shards(asked, members=size)):
            last = dict.fromkeys(TERMS, 1.0 + n)
            outcome = Outcome(
                shard.key, 1, 1.0, "cpu", {},
                [{"id": run.id, "status": "done", "diverged_at": None, "last": last}
                 for run in shard.runs],
                [{"id": run.id, "metric": f"score{i}", "protocol": {"name": "unknot"},
                  "unknot": "1", "values": {f"score{i}": 0.1 * i}, "remarks": []}
                 for run in shard.runs for i in range(scores)],
            )  # fmt: skip
            opened.finish(shard.key, asdict(outcome))
            own = folder / "populations" / shard.key
            own.mkdir(parents=True)
            members = [{"id": run.id, "diverged_at": None} for run in shard.runs]
            record = {"format": 2, "status": "done", "curves": TERMS, "members": members}
            (own / "status.json").write_text(json.dumps(record))
            save_file({}, own / "weights.safetensors")
            shown = values[:, : len(shard.runs)].contiguous()
            curves = {"curves": torch.arange(logged)} | {
                f"curves.{t}": shown.clone() for t in TERMS
            }
            save_file(curves, own / "curves.safetensors")


def least(rounds: int, work: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


def whole(rounds: int, words: list[str]) -> float:
    """CPU seconds of a command."""
    spent = []
    for _ in range(rounds):
        before = os.times()
        subprocess.run(
            words, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        after = os.times()
        spent.append(after.children_user + after.children_system
                     - before.children_user - before.children_system)  # fmt: skip
    return min(spent)


if __name__ == "__main__":
    main()
