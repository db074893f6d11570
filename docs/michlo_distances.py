"""Tables 3.1, 4.1, 4.2 and 6.1 of Michlo 2022: ``docs/results/michlo_distances.csv`` and its page.

```
python docs/michlo_distances.py measure --workers 11    # nine minutes
python docs/michlo_distances.py                         # the page again
```

A measurement is in 95 parts, one for each dataset, loss and seed. Each is stored in the folder
``--parts`` when it is done and not made again; numbers do not depend on the number of workers.
``PYTHONPATH=src`` replaces an installation; besides torch, numpy and scipy only jaxtyping and
platformdirs are needed.
"""

import argparse
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import torch

from unknot import data
from unknot.core.csv_files import csv_text, read_csv
from unknot.core.dataset import FactorDataset
from unknot.core.files import write_whole
from unknot.metrics.parts.distance_sources import Source
from unknot.metrics.parts.distances import correlations, importance

PAGE = Path(__file__).parent / "results" / "michlo_distances.md"
RUNS = PAGE.with_suffix(".csv")
SEEDS = range(5)
TABLES = ("3.1", "4.1", "4.2", "6.1")
TRAVERSALS, PAIRS = 512, 50_000
LOSSES = {"gaussian": "MSE", "gaussian_blur": "MSE, Gaussian blur", "box": "MSE, box"}


class Row(NamedTuple):
    """A value of a table, printed and measured."""

    table: str
    data: str
    factor: str
    loss: str
    quantity: str
    published: float
    digits: int
    ours: float = 0.0
    sd: float = 0.0
    """Over seeds: another choice of traversals and pairs."""

    @property
    def agrees(self) -> bool:
        """Whether the printed value is as near as rounding and two such choices allow."""
        error = 2 * self.sd * (1 + 1 / len(SEEDS)) ** 0.5
        return abs(self.published - self.ours) <= error + 0.5 * 10**-self.digits


TABLE_3_1 = {
    ("dsprites", "random"): (0.0754, 0.0289),
    ("dsprites", "pos_y"): (0.0584, 0.0378),
    ("dsprites", "pos_x"): (0.0559, 0.0363),
    ("dsprites", "scale"): (0.0250, 0.0148),
    ("dsprites", "shape"): (0.0214, 0.0095),
    ("dsprites", "orientation"): (0.0172, 0.0106),
    ("xysquares 8", "random"): (0.0308, 0.0022),
    ("xysquares 8", "all x, y"): (0.0104, 0.0000),
}
"""Mean and standard deviation of the squared error."""
TABLE_4_1 = {
    "random": (0.43, 0.38, 0.29, 0.36),
    "shape": (0.66, 0.72, 0.66, 0.87),
    "scale": (0.93, 0.95, 0.84, 0.96),
    "orientation": (0.13, 0.17, 0.15, 0.21),
    "pos_x": (0.66, 0.75, 0.63, 0.83),
    "pos_y": (0.65, 0.75, 0.63, 0.83),
}
"""dSprites: linear and rank correlation under the squared error, then under the box loss."""
TABLE_4_2 = {
    1: (1.00, 1.00, 0.98, 0.99),
    2: (0.94, 0.99, 0.99, 0.99),
    3: (0.86, 0.95, 0.99, 0.99),
    4: (0.75, 0.85, 0.99, 0.99),
    5: (0.72, 0.85, 0.99, 0.99),
    6: (0.67, 0.85, 0.98, 0.98),
    7: (0.60, 0.85, 0.97, 0.98),
    8: (0.52, 0.58, 0.96, 0.97),
}
"""XYSquares by spacing, all factors: the same four."""
TABLE_6_1 = {
    "gaussian": (0.52, 0.58, 0.55, 0.36),
    "gaussian_blur": (0.84, 0.88, 0.73, 0.61),
    "box": (0.96, 0.97, 0.95, 0.94),
}
"""XYSquares with spacing 8: linear and rank along factors, then of random pairs."""


def printed() -> Iterator[Row]:
    """Every value of the four tables that data without files can test."""
    for (name, factor), values in TABLE_3_1.items():
        for quantity, value in zip(("mean", "deviation"), values, strict=True):
            yield Row("3.1", name, factor, "gaussian", quantity, value, 4)
    pairs = [(loss, quantity) for loss in ("gaussian", "box") for quantity in ("linear", "rank")]
    for factor, values in TABLE_4_1.items():
        for (loss, quantity), value in zip(pairs, values, strict=True):
            yield Row("4.1", "dsprites", factor, loss, quantity, value, 2)
    for spacing, values in TABLE_4_2.items():
        for (loss, quantity), value in zip(pairs, values, strict=True):
            yield Row("4.2", f"xysquares {spacing}", "all x, y", loss, quantity, value, 2)
    places = [(f, quantity) for f in ("all x, y", "random") for quantity in ("linear", "rank")]
    for loss, values in TABLE_6_1.items():
        for (factor, quantity), value in zip(places, values, strict=True):
            yield Row("6.1", "xysquares 8", factor, loss, quantity, value, 2)


class Part(NamedTuple):
    """What is measured at once."""

    data: str
    loss: str
    seed: int

    def file(self, folder: Path) -> Path:
        """Where its values are stored."""
        return folder / f"{self.data.replace(' ', '-')}_{self.loss}_{self.seed}.csv"


PARTS = [
    Part(*place, seed)
    for place in dict.fromkeys((row.data, row.loss) for row in printed())
    for seed in SEEDS
]


def load(name: str) -> FactorDataset:
    """A dataset by its name and, for XYSquares, its spacing."""
    if name == "dsprites":
        return data.DSprites().load()
    return data.XYSquares(spacing=int(name.split()[1])).load()


def measured(name: str, loss: str, seed: int) -> dict[tuple[str, str], float]:
    """All quantities of a dataset under a loss, by factor and name."""
    dataset = load(name)
    images, space = Source.from_images(dataset.batch, loss), dataset.space
    options = {"traversals": TRAVERSALS, "pairs": PAIRS, "loss": images.distance, "seed": seed}
    spreads = importance(images.rows, space, **options)
    agreements = correlations(images.rows, space, convention="batches of 32", **options)
    values = {}
    for factor, spread in spreads.items():
        values |= {(factor, "mean"): spread.mean, (factor, "deviation"): spread.deviation}
        values |= {(factor, q): getattr(agreements[factor], q) for q in ("linear", "rank")}
    for quantity in ("mean", "deviation", "linear", "rank"):
        along = [values[factor, quantity] for factor in space.names]
        values["all x, y", quantity] = mean(along)
    return values


def store(part: Part, folder: Path) -> None:
    """Measure a part and write it, on one thread: sums in another order are other numbers."""
    torch.set_num_threads(1)
    lines = [
        {"factor": factor, "quantity": quantity, "value": value}
        for (factor, quantity), value in measured(*part).items()
    ]
    write_whole(part.file(folder), csv_text(lines))


def measure(parts: list[Part], folder: Path, workers: int) -> None:
    """Store every part that is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [part for part in parts if not part.file(folder).exists()]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        futures = [pool.submit(store, part, folder) for part in missing]
        for done, future in enumerate(as_completed(futures), len(parts) - len(missing) + 1):
            future.result()
            print(f"{done} of {len(parts)} parts", flush=True)  # noqa: T201


def joined(folder: Path) -> Iterator[Row]:
    """Every printed value beside the mean of its parts."""
    stored = {
        part: {
            (line["factor"], line["quantity"]): float(line["value"])
            for line in read_csv(part.file(folder))
        }
        for part in PARTS
    }
    for row in printed():
        values = [
            stored[Part(row.data, row.loss, seed)][row.factor, row.quantity] for seed in SEEDS
        ]
        yield row._replace(ours=mean(values), sd=stdev(values))


def rows() -> list[Row]:
    """Those of the file."""
    kinds = Row.__annotations__
    return [Row(**{k: kinds[k](v) for k, v in line.items()}) for line in read_csv(RUNS)]


def table(number: str) -> Iterator[str]:
    """A table, ours beside theirs; what does not agree is marked."""
    chosen = [row for row in rows() if row.table == number]
    names = list(dict.fromkeys((row.loss, row.quantity) for row in chosen))
    heads = [
        quantity if number == "3.1" else f"{LOSSES[loss]}: {quantity}" for loss, quantity in names
    ]
    yield f"| | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    for place in dict.fromkeys((row.data, row.factor) for row in chosen):
        cells = []
        for name in names:
            row = next(
                r for r in chosen if ((r.data, r.factor), (r.loss, r.quantity)) == (place, name)
            )
            mark = "" if row.agrees else " **≠**"
            cells.append(f"{row.ours:.{row.digits}f} ({row.published:.{row.digits}f}){mark}")
        yield f"| {place[0]}, {place[1]} | {' | '.join(cells)} |"


def verdict() -> str:
    """How many values agree, and which do not."""
    every = rows()
    others = [row for row in every if not row.agrees]
    lines = [
        f"- table {row.table}, {row.data}, {row.factor}, {LOSSES[row.loss]}, {row.quantity}: "
        f"{row.ours:.{row.digits + 1}f} ± {row.sd:.{row.digits + 1}f}, printed {row.published}"
        for row in others
    ]
    return "\n".join((f"{len(every) - len(others)} of {len(every)} printed values agree.", *lines))


def made() -> str:
    """The page."""
    tables = {f"table_{n.replace('.', '_')}": "\n".join(table(n)) for n in TABLES}
    return WORDS.format(verdict=verdict(), **tables)


def main() -> None:
    """Measure if asked to, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", nargs="?", choices=["measure"], help="before the page is written")
    parser.add_argument("--workers", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--parts", type=Path, default=Path("runs/michlo_distances"))
    options = parser.parse_args()
    if options.action:
        measure(PARTS, options.parts, options.workers)
        write_whole(RUNS, csv_text([row._asdict() for row in joined(options.parts)], Row._fields))
    PAGE.write_text(made(), encoding="utf-8")


WORDS = """\
# Distances between images: four tables of Michlo 2022

Do image distances along the factors of dSprites and XYSquares come out as in the dissertation? No
model is trained. Each cell has our value and, in parentheses, the printed one.

{verdict}

A value agrees if the printed one is within rounding and two standard errors of ours. The error is
that of another choice of traversals and pairs: ours are means over five choices, the printed ones
are one choice. About one value in twenty may fail this rule by chance.

Conditions: squared error of images in [0, 1]; 512 traversals per factor and 50,000 random pairs,
sampled within batches of 32 for correlations, as the author's code does, so that one pair in 32 is
the same image twice; float32 images, CPU (11 of 16 cores for nine minutes, beside a training),
torch 2.11.0, 2026-11-19. Tables 3.1 and 4.1 also have Cars3D, 3D Shapes and
smallNORB, whose files were not at hand; table 6.1 also has learnt kernels, which take a GPU.

## Table 3.1: mean and standard deviation of distances

{table_3_1}

## Table 4.1: correlations of factor distance and image distance, dSprites

{table_4_1}

## Table 4.2: the same for XYSquares, by spacing

{table_4_2}

## Table 6.1: the same for XYSquares with spacing 8, by loss

Rows are pairs along a factor and random pairs.

{table_6_1}

[All values](michlo_distances.csv) · `python docs/michlo_distances.py measure` measures them again;
`--workers 16` in parallel.
"""

if __name__ == "__main__":
    main()
