"""Make the sheet of the gallery, ``docs/pictures/gallery.png``: each objective trained, then drawn.

    python tools/gallery_sheet.py train --out FOLDER [--device cuda] [--steps 5000] [--net conv64]
    python tools/gallery_sheet.py draw FOLDER

``train`` starts a process for each objective, several at a time, and needs neither a network nor a
package that draws: it leaves decoded images and their conditions, one file of each. What is in the
folder already is not trained again: other settings need another folder. ``draw`` writes
the sheet, and ``gallery.json`` beside it, from which the page of the gallery takes its text.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

FIRST = ("tripod", "hessian_penalty", "iwae", "orojar", "ima")
"""Objectives whose steps take longest, to begin with."""
CONDITIONS = ("data", "net", "steps", "batch", "lr")


def train_one(name: str, options: argparse.Namespace) -> None:
    """Train an objective and keep what its first latents draw."""
    from unknot.runs import verbs
    from unknot.studies.gallery import specs

    torch.set_num_threads(options.threads)
    settings = {"steps": options.steps, "batch": options.batch, "lr": options.lr, "seed": 0}
    spec = specs([name], data=options.data, net=options.net, **settings)[name]
    run = verbs.train(spec, device=options.device)
    strips, used = decoded_strips(run)
    file = options.out / f"{name}.npz"
    np.savez_compressed(file, strips=strips, used=used, diverged=str(run.diverged.get(0)))


def decoded_strips(run: Any) -> tuple[np.ndarray, np.ndarray]:
    """Traversals as `unknot gallery` draws them, and which latents are used.

    As `report.model.traversals.sweep`, which needs packages that draw.
    """
    from unknot.report.model.latents import measure_latents

    latents = measure_latents(run)[0]
    sizes = torch.tensor(run.dataset.space.sizes)
    middle = run.dataset.space.index(sizes // 2).reshape(1)
    code = run.encode(run.dataset.batch(middle))
    strips = []
    for z in latents.order[:5]:
        moved = code.repeat(9, 1)
        places = torch.linspace(-2, 2, 9, dtype=torch.float64)
        moved[:, z] = (latents.mean[z] + places * latents.sd[z]).to(moved)
        images = run.dataset.unit(run.decode(moved)).double().cpu()
        strips.append((images.nan_to_num(0.0).clamp(0, 1) * 255).round().byte())
    return torch.stack(strips).expand(-1, -1, 3, -1, -1).movedim(-3, -1).numpy(), latents.used


def train(options: argparse.Namespace) -> None:
    """Train all of them side by side; what is not there when time is up is named."""
    from unknot.core import registry

    began = time.monotonic()
    registry.get("datasets", options.data)().load()  # made once, before all need it
    names = options.names or registry.names("objectives")
    names = sorted(names, key=lambda name: name not in FIRST)
    options.out.mkdir(parents=True, exist_ok=True)
    folder = options.out / "parts"
    folder.mkdir(exist_ok=True)
    _keep_conditions(options, folder / "settings.json")
    with ThreadPoolExecutor(options.workers) as pool:
        new = [n for n in names if not (folder / f"{n}.npz").exists()]
        jobs = {n: pool.submit(_process, n, folder, options, began) for n in new}
        failed = {n: why for n, job in jobs.items() if (why := job.result())}
    there = [n for n in sorted(names) if (folder / f"{n}.npz").exists()]
    drawn = {n: np.load(folder / f"{n}.npz") for n in there}
    arrays = {f"{n}/{key}": drawn[n][key] for n in there for key in ("strips", "used")}
    np.savez_compressed(options.out / "gallery.npz", **arrays)
    diverged = [n for n in there if str(drawn[n]["diverged"]) != "None"]
    facts = {
        "names": there,
        **{key: getattr(options, key) for key in CONDITIONS},
        "seed": 0,
        "precision": "float32",
        "machine": machine(options),
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "diverged": diverged,
    }
    (options.out / "gallery.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(f"{len(there)} objectives in {time.monotonic() - began:.0f} s")
    for n, why in failed.items():
        print(f"{n}: {why}")
    raise SystemExit(bool(failed))


def _keep_conditions(options: argparse.Namespace, file: Path) -> None:
    """Write down how objectives are trained, or compare it with what is there."""
    conditions = {key: getattr(options, key) for key in CONDITIONS}
    if file.exists() and json.loads(file.read_text()) != conditions:
        raise SystemExit(f"{options.out} was made with other settings; choose another folder.")
    file.write_text(json.dumps(conditions))


def machine(options: argparse.Namespace) -> str:
    """What they were trained on."""
    if options.device.startswith("cuda"):
        return f"one {torch.cuda.get_device_name()}"
    return f"{os.cpu_count()} CPU cores ({platform.machine()})"


def _process(name: str, folder: Path, options: argparse.Namespace, began: float) -> str:
    """Train one in a process of its own; returns what went wrong, or nothing."""
    threads = min(8, options.workers) if name in FIRST[:1] else 1
    words = [sys.executable, __file__, "one", name, "--out", str(folder), "--threads", str(threads)]
    for key in (*CONDITIONS, "device"):
        words += [f"--{key}", str(getattr(options, key))]
    left = options.seconds - (time.monotonic() - began)
    if left <= 0:
        return "no time left"
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=left)
    except subprocess.TimeoutExpired:
        return "no time left"
    if done.returncode == 0:
        print(f"{name} {time.monotonic() - began:.0f} s", flush=True)
        return ""
    return done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"


def draw(folder: Path) -> None:
    """Write the sheet and its conditions."""
    from gallery_page import PICTURES, SHRUNK
    from PIL import Image

    from unknot.report.gallery import contact_sheet
    from unknot.report.model.latents import Latents

    facts = json.loads((folder / "gallery.json").read_text(encoding="utf-8"))
    with np.load(folder / "gallery.npz") as arrays:
        strips = {name: arrays[f"{name}/strips"] for name in facts["names"]}
        used = {name: arrays[f"{name}/used"] for name in facts["names"]}
    nothing = np.zeros(0)
    latents = {  # of which the sheet says how many are used
        name: Latents(np.where(active, np.inf, 0.0), nothing, nothing, nothing[None])
        for name, active in used.items()
    }
    sheet = Image.fromarray(contact_sheet(strips, latents))
    size = (sheet.width // SHRUNK, sheet.height // SHRUNK)
    small = sheet.resize(size, Image.Resampling.LANCZOS).quantize(256, Image.Quantize.MAXCOVERAGE)
    small.save(PICTURES / "gallery.png", optimize=True)
    (PICTURES / "gallery.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Train or draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("train", "one"):
        words = verbs.add_parser(verb)
        words.add_argument("names", nargs="*" if verb == "train" else 1)
        words.add_argument("--out", type=Path, required=True)
        words.add_argument("--device", default="cpu")
        words.add_argument("--data", default="soft_squares")
        words.add_argument("--net", default="mlp")
        words.add_argument("--steps", type=int, default=1_500)
        words.add_argument("--batch", type=int, default=32)
        words.add_argument("--lr", type=float, default=2e-3)
        words.add_argument("--threads", type=int, default=1)
        words.add_argument("--workers", type=int, default=os.cpu_count())
        words.add_argument("--seconds", type=float, default=7_200, help="when to stop")
    verbs.add_parser("draw").add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.verb == "draw":
        draw(options.folder)
    elif options.verb == "one":
        train_one(options.names[0], options)
    else:
        train(options)


if __name__ == "__main__":
    main()
