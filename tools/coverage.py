"""Simulate how often the interval of a mean over seeds holds the true mean.

    python tools/coverage.py

Scores over seeds are drawn from three shapes: normal; skewed, a lognormal; and bimodal, where most
seeds miss what some get. It prints the table of docs/reports.md and the numbers of `COVERAGE` in
`unknot.analysis.intervals`.
"""

from collections.abc import Callable

import numpy as np

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


def main() -> None:
    """Print the table."""
    counts = list(COVERAGE["normal"])
    print("| scores over seeds |", " | ".join(f"{n} seeds" for n in counts), "|")
    print("|---|", "---|" * len(counts), sep="")
    for shape in SHAPES:
        print(f"| {shape} |", " | ".join(f"{coverage(shape, n):.1%}" for n in counts), "|")


if __name__ == "__main__":
    main()
