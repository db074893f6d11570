"""Tables 3.1, 4.1, 4.2 and 6.1 of Michlo 2022: ``docs/results/michlo_distances.csv`` and its page.

```
python docs/michlo_distances.py measure     # 20 minutes on two cores
python docs/michlo_distances.py
```

Without ``measure`` the page is filled in from the file that is there. The page's own words stay;
what stands between two marks is replaced.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from places import filled

from unknot import data
from unknot.core.csv_files import csv_text, read_csv
from unknot.core.dataset import FactorDataset
from unknot.core.files import write_whole
from unknot.metrics.parts.distance_sources import Source
from unknot.metrics.parts.distances import correlations, importance

PAGE = Path(__file__).parent / "results" / "michlo_distances.md"
RUNS = PAGE.with_suffix(".csv")
SEEDS = range(5)
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


def measure() -> Iterator[Row]:
    """Every value, measured with several choices of traversals and pairs."""
    rows = [*printed()]
    for name, loss in dict.fromkeys((row.data, row.loss) for row in rows):
        seeds = [measured(name, loss, seed) for seed in SEEDS]
        for row in rows:
            if (row.data, row.loss) == (name, loss):
                values = [one[row.factor, row.quantity] for one in seeds]
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


def made(page: str) -> str:
    """The page with its tables."""
    tables = {f"table {n}": "\n".join(table(n)) for n in ("3.1", "4.1", "4.2", "6.1")}
    return filled(page, {"verdict": verdict(), **tables})


def main(*words: str) -> None:
    """Measure if asked to, and fill in the page."""
    if words == ("measure",):
        lines = [row._asdict() for row in measure()]
        write_whole(RUNS, csv_text(lines, Row._fields))
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
