"""A study of 10,000 tiny runs: planned, run, resumed, reported, opened in a browser.

    python bench/load.py [--runs 10000] [--folder FOLDER] [--json FILE]

Each run is one step of a linear net on 40 images, and its scores are drawn; all else is what a
study does: the plan, the folders, the records and the page. Each stage has a process of its own,
for its time and its peak of memory. The last needs playwright and chromium, or is left out.
"""

import argparse
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

SEEDS = 50
OBJECTIVES = {
    "beta_vae": "beta",
    "beta_tcvae": "beta",
    "dip_vae_i": "lambda_od",
    "dip_vae_ii": "lambda_od",
}
SCORES = ("mig", "sap", "modularity")


def study_text(images: Path, runs: int) -> str:
    """Objectives with as many strengths as give so many runs; fewer seeds where they are few."""
    seeds = max(1, min(SEEDS, runs // len(OBJECTIVES)))
    values = [round(1 + 0.25 * i, 2) for i in range(max(runs // seeds // len(OBJECTIVES), 1))]
    grids = [
        f"[[grid]]\nobjective.name = '{name}'\nobjective.{setting} = {values}\n"
        for name, setting in OBJECTIVES.items()
    ]
    return f"""
        name = "load"
        seeds = "0..{seeds - 1}"
        metrics = {json.dumps(SCORES)}
        [train]
        data = {{name = "arrays", path = "{images}"}}
        net = {{name = "linear", latents = 3}}
        steps = 1
        batch = 8
        {"".join(grids)}
    """


def write_images(path: Path) -> None:
    """Bars at 5 x 8 places."""
    factors = np.indices((5, 8)).reshape(2, -1).T
    images = np.zeros((40, 8, 8), np.uint8)
    for image, (row, column) in zip(images, factors, strict=True):
        image[row : row + 3, column] = 200
    np.savez(path, images=images, factors=factors)


def perform(tasks: Iterable) -> Iterator:
    """A pool without processes that trains and draws scores."""
    import unknot
    from unknot.runs import records
    from unknot.studies.execute.events import Done
    from unknot.studies.execute.run_task import run_population_task

    rng = np.random.default_rng(0)
    for task in tasks:
        outcome = run_population_task(replace(task, metrics=[]))
        drawn = [
            records.Record(
                member["id"], member["seed"], name, {"name": "unknot", "version": 1},
                {name: float(rng.random())}, 1.0, [], unknot.__version__,
            )
            for member in task.members for name in SCORES
        ]  # fmt: skip
        records.append(Path(task.folder), drawn)
        yield Done(task.key, replace(outcome, scores=[asdict(record) for record in drawn]))


def plan(folder: Path) -> str:
    from unknot.studies.file.study_file import StudyFile
    from unknot.studies.plan import plan as make

    made = make(StudyFile.parse((folder / "load.toml").read_text()))
    return f"{len(made.runs):,} runs"


def run(folder: Path) -> str:
    from unknot.studies.execute import driver
    from unknot.studies.file.study_file import StudyFile

    study = StudyFile.parse((folder / "load.toml").read_text())
    done = driver.run(folder / "study", study, device="cpu", workers=2, pool=perform)
    return f"{done.status()['populations']['all']:,} populations"


def resume(folder: Path) -> str:
    from unknot.studies.execute import driver

    done = driver.run(folder / "study", device="cpu", workers=2, pool=perform)
    return f"{done.status()['runs']['done']:,} done"


def check(folder: Path) -> str:
    from unknot.studies.repair import find_faults

    return f"{len(find_faults(folder / 'study'))} faults"


def report(folder: Path) -> str:
    from typer.testing import CliRunner

    from unknot.cli.main import app

    shutil.rmtree(folder / "page", ignore_errors=True)
    words = ["report", str(folder / "study"), "--out", str(folder / "page"), "--device", "cpu"]
    answer = CliRunner().invoke(app, words, catch_exceptions=False)
    if answer.exit_code:
        raise RuntimeError(answer.output)
    sizes = [path.stat().st_size for path in (folder / "page").rglob("*") if path.is_file()]
    page = (folder / "page" / "index.html").stat().st_size
    return f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB, the page {page / 1e6:.2f} MB"


def browse(folder: Path) -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = browser.new_page()
        texts = []
        for name in ("index.html", "specs.html"):
            start = time.perf_counter()
            tab.goto((folder / "page" / name).as_uri(), wait_until="load", timeout=120_000)
            seconds = time.perf_counter() - start
            elements = tab.evaluate("document.getElementsByTagName('*').length")
            height = tab.evaluate("document.body.scrollHeight")
            texts.append(f"{name} {seconds:.1f} s, {elements:,} elements, {height:,} pixels high")
        browser.close()
    return "; ".join(texts)


STAGES = (plan, run, resume, check, report, browse)


def measure(stage, folder: Path, answers) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    what = stage(folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    answers.put((time.perf_counter() - wall, time.process_time() - cpu, peak, what))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="Kept, and continued if it is there.")
    parser.add_argument("--stages", default=",".join(stage.__name__ for stage in STAGES))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    write_images(folder / "bars.npz")
    (folder / "load.toml").write_text(study_text(folder / "bars.npz", options.runs))
    rows = []
    print(f"{'stage':10}{'wall s':>10}{'CPU s':>10}{'peak MB':>10}")
    for stage in STAGES:
        if stage.__name__ not in options.stages.split(","):
            continue
        context = get_context("spawn")
        answers = context.SimpleQueue()
        process = context.Process(target=measure, args=(stage, folder, answers))
        process.start()
        process.join()
        if process.exitcode:
            continue
        wall, cpu, peak, what = answers.get()
        rows.append({"stage": stage.__name__, "wall": wall, "cpu": cpu, "peak": peak, "what": what})
        print(f"{stage.__name__:10}{wall:10.1f}{cpu:10.1f}{peak:10.0f}  {what}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    if options.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
