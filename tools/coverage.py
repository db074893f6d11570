"""Simulate how often the interval of a mean over seeds holds the true mean.

    python tools/coverage.py

Scores over seeds are drawn from three shapes: normal; skewed, a lognormal; and bimodal, where most
seeds miss what some get. The differences of pairs are normal, and share as much as they differ by.
It prints the tables of docs/reports.md and the numbers of `COVERAGE` in `unknot.analysis.intervals`
and `unknot.analysis.effects`.
"""

from collections.abc import Callable

import numpy as np

from unknot.analysis import effects
from unknot.analysis.intervals import COVERAGE, mean_interval

SAMPLES = 20_000
LEVEL = 0.95
SHARE, LOW, HIGH, SPREAD = 0.8, 0.1, 0.6, 0.02
"""Of bimodal scores: the share of low ones, the two levels, and the spread of each."""


def bimodal(generator: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Scores of which one in five is high."""
    level = np.where(generator.random(size) < SHARE, LOW, HIGH)
    return level + SPREAD * generator.normal(size=size)


SHAPES: dict[str, tuple[float, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]]] = {
    "normal": (0.0, lambda generator, size: generator.normal(size=size)),
    "skewed": (np.e**0.5, lambda generator, size: generator.lognormal(size=size)),
    "bimodal": (SHARE * LOW + (1 - SHARE) * HIGH, bimodal),
}
"""The true mean, and how to draw samples."""


def coverage(shape: str, n: int, samples: int = SAMPLES) -> float:
    """The share of samples of n seeds whose interval holds the true mean."""
    truth, draw = SHAPES[shape]
    values = draw(np.random.default_rng(n), (samples, n))
    ends = (mean_interval(sample, LEVEL) for sample in values)
    return float(np.mean([low < truth < high for low, high in ends]))


def pair_coverage(shared: str, configurations: int, seeds: int, samples: int = SAMPLES) -> float:
    """The share of grids of pairs whose interval holds the true effect, which is 0."""
    rows = np.repeat(np.arange(configurations), seeds)
    columns = np.tile(np.arange(seeds), configurations)
    generator = np.random.default_rng(100 * configurations + seeds)
    hits = 0
    for _ in range(samples):
        values = generator.normal(size=len(rows))
        if shared in ("the configuration", "both"):
            values += generator.normal(size=configurations)[rows]
        if shared in ("the seed", "both"):
            values += generator.normal(size=seeds)[columns]
        low, high, _ = effects.clustered_interval(values, rows, columns, LEVEL)
        hits += low < 0 < high
    return hits / samples


def main() -> None:
    """Print the tables."""
    counts = list(COVERAGE["normal"])
    print("| scores over seeds |", " | ".join(f"{n} seeds" for n in counts), "|")
    print("|---|", "---|" * len(counts), sep="")
    for shape in SHAPES:
        print(f"| {shape} |", " | ".join(f"{coverage(shape, n):.1%}" for n in counts), "|")
    sizes = list(effects.COVERAGE["both"])
    print("\n| pairs share |", " | ".join(f"{c} × {s}" for c, s in sizes), "|")
    print("|---|", "---|" * len(sizes), sep="")
    for shared in effects.COVERAGE:
        shares = (pair_coverage(shared, *size) for size in sizes)
        print(f"| {shared} |", " | ".join(f"{share:.1%}" for share in shares), "|")


if __name__ == "__main__":
    main()
