"""A beta-VAE beside PCA on data of one's own: ``docs/results/own_data.csv`` and ``own_data.md``.

    python docs/own_data.py --olivetti olivetti.npz --coil20 coil20.npz [--folder runs/own_data]
    python docs/own_data.py --page

The first writes faces and photographs as folders of PNG files, and scikit-learn's digits as a CSV
table; then it runs the commands of the page and compares the error of held-out reconstructions with
that of PCA with as many components. The second writes the page from the stored numbers.

olivetti.npz has ``images`` (400, 64, 64) and ``subject``, coil20.npz ``images`` (1440, 128, 128),
``object`` and ``view``; both are uint8. Neither may be passed on with this package.
"""

import argparse
import csv
import datetime
import os
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import unknot

RESULTS = Path(__file__).parent / "results"
TABLE, PAGE = RESULTS / "own_data.csv", RESULTS / "own_data.md"
COMMON = "--objective beta_vae --set split=rows --lr 1e-3 --seeds 0..2"
TRAIN = {
    "faces": f"--data faces/ {COMMON} --steps 1500 --batch 32 --set objective.beta=0.1",
    "things": f"--data things/ --labels things.csv --kind view=cyclic --set data.size=64 {COMMON} "
    "--steps 1500 --batch 32 --set objective.beta=0.5",
    "digits": f"--data digits.csv --labels digit {COMMON} --steps 3000 --set objective.beta=0.1",
}
"""Options of `unknot train` for each dataset."""
TITLES = {
    "faces": "Olivetti faces, a folder of 400 PNG files",
    "things": "COIL-20, a folder of 1,440 PNG files with labels",
    "digits": "scikit-learn's digits, a CSV table of 1,797 rows and 64 columns",
}
PAGE_TEXT = """\
# Your own data, beside PCA

<!-- Made by docs/own_data.py from docs/results/own_data.csv; do not edit. -->

A β-VAE on a folder of faces, on a folder of photographs with labels and on a table, each by two
commands. The error is that of reconstructions from posterior means on rows that training never saw,
summed over pixels or columns and averaged over rows. PCA has as many components as the model has
latents, fitted to the same training rows.

{commands}
{table}
{conditions}
What these numbers do not say: rows are held out at random, so that the test part shows people and
things that training saw in other pictures. β and the steps were chosen in four trial runs on the
same split; β is below 1 because PCA pays nothing for what its code holds. On the faces the
training error is less than half of the test error: 320 pictures are few, and 2,500 steps gave the
same test error.
Low error is not disentanglement.
"""


def main() -> None:
    """Train, compare, store the numbers and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--olivetti", type=Path)
    parser.add_argument("--coil20", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("runs/own_data"))
    parser.add_argument("--only", choices=[*TRAIN], help="Train on one; the others stay.")
    parser.add_argument("--page", action="store_true", help="Write the page alone.")
    options = parser.parse_args()
    if not options.page:
        options.folder.mkdir(parents=True, exist_ok=True)
        write_data(options.folder, options.olivetti, options.coil20)
        rows = []
        for name in TRAIN:
            again = options.only in (None, name)
            rows += compare(name, options.folder) if again else stored(name)
        with TABLE.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    PAGE.write_text(page(), encoding="utf-8")


def stored(name: str) -> list[dict[str, object]]:
    """The rows of one data set as they were written before."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return [dict(row) for row in csv.DictReader(file) if row["data"] == name]


def write_data(folder: Path, olivetti: Path, coil20: Path) -> None:
    """What a student has: pictures in folders, labels and numbers in CSV files."""
    (folder / "faces").mkdir(exist_ok=True)
    (folder / "things").mkdir(exist_ok=True)
    with np.load(olivetti) as faces:
        for row, (image, subject) in enumerate(zip(faces["images"], faces["subject"], strict=True)):
            Image.fromarray(image).save(folder / "faces" / f"subject{subject:02}_{row % 10}.png")
    lines = ["file,object,view"]
    keys = ("images", "object", "view")
    with np.load(coil20) as things:
        for image, number, view in zip(*(things[k] for k in keys), strict=True):
            name = f"obj{number + 1}__{view}.png"
            Image.fromarray(image).save(folder / "things" / name)
            lines.append(f"{name},thing {number + 1},{view}")
    (folder / "things.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    digits = load_digits()
    columns = [*(f"pixel_{place}" for place in range(64)), "digit"]
    table = np.column_stack([digits.data, digits.target]).astype(int)
    np.savetxt(
        folder / "digits.csv", table, "%d", delimiter=",", header=",".join(columns), comments=""
    )


def compare(name: str, folder: Path) -> list[dict[str, object]]:
    """Errors on held-out rows of each model and of PCA."""
    for command in commands(name):
        words = [sys.executable, "-m", *shlex.split(command)]
        subprocess.run(words, cwd=folder, check=True)  # noqa: S603 (our own commands)
    previous = Path.cwd()
    os.chdir(folder)  # paths of a run are those of its command
    try:
        run = unknot.load(f"runs/{name}")
        errors = {
            part: [record.values["recon.mse"] for record in run.score("recon", part=part)]
            for part in ("train", "test")
        }
        x = {part: _rows(run, part) for part in ("train", "test")}
    finally:
        os.chdir(previous)
    latents = run.spec.net.settings.latents
    pca = PCA(latents, svd_solver="full").fit(x["train"])
    lost = x["test"] - pca.inverse_transform(pca.transform(x["test"]))
    return [
        {
            "data": name,
            "seed": seed,
            "steps": run.spec.steps,
            "latents": latents,
            "train_rows": len(x["train"]),
            "test_rows": len(x["test"]),
            "train": f"{errors['train'][member]:.4f}",
            "test": f"{errors['test'][member]:.4f}",
            "pca": f"{np.square(lost).sum(1).mean():.4f}",
            "precision": run.spec.precision,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__.partition("+")[0],
            "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        }
        for member, seed in enumerate(run.spec.seed_list)
    ]


def _rows(run: "unknot.Run", part: str) -> np.ndarray:
    images: np.ndarray = run.dataset.batch(run.rows(part)).flatten(1).double().numpy()
    return images


def commands(name: str) -> list[str]:
    """What a student types."""
    return [
        f"unknot train {TRAIN[name]} --out runs/{name}",
        f"unknot evaluate runs/{name} --metrics recon --part test",
    ]


def page() -> str:
    """The page as it should be."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    heads = ("data", "steps", "training rows", "test rows", "latents")
    heads += ("β-VAE, test", "β-VAE, training", "PCA, test")
    blocks, lines = [], [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, title in TITLES.items():
        some = [row for row in rows if row["data"] == name]
        blocks.append(f"{title}:\n\n```sh\n" + "\n".join(commands(name)) + "\n```\n")
        first = some[0]
        facts = (first["steps"], first["train_rows"], first["test_rows"], first["latents"])
        errors = [_mean_and_range(some, part) for part in ("test", "train")]
        cells = (name, *(f"{int(fact):,}" for fact in facts), *errors, f"{float(first['pca']):.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    first = rows[0]
    dates = " and ".join(dict.fromkeys(row["date"] for row in rows))
    conditions = (
        f"Means over seeds {', '.join(dict.fromkeys(row['seed'] for row in rows))}, with the range "
        f"in brackets; {first['precision']} on {first['threads']} CPU thread,\nPyTorch "
        f"{first['torch']}, {dates}, on two shared cores. Images are in [0, 1], "
        "and\ncolumns of the table have mean 0 and variance 1 over the training rows.\n"
    )
    return PAGE_TEXT.format(
        commands="\n".join(blocks), table="\n".join(lines) + "\n", conditions=conditions
    )


def _mean_and_range(rows: list[dict[str, str]], part: str) -> str:
    values = [float(row[part]) for row in rows]
    return f"{statistics.mean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


if __name__ == "__main__":
    main()
