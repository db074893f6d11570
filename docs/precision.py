"""Two precisions side by side: ``docs/results/precision.csv`` and its table in the benchmarks.

```
unknot study run docs/results/precision.toml --device cuda
unknot study table studies/precision --csv runs.csv
python docs/precision.py runs.csv
```

Without a table the page is filled in from the file that is there. The page's own words stay; what
stands between ``<!-- precision -->`` and ``<!-- end -->`` is replaced.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev, variance

from places import filled

from unknot.core.csv_files import csv_text, read_csv
from unknot.core.files import write_whole

PAGE = Path(__file__).parent / "benchmarks.md"
RUNS = PAGE.parent / "results" / "precision.csv"
SCORES = {
    "recon": "reconstruction",
    "kl": "KL divergence",
    "beta_vae": "BetaVAE",
    "factor_vae": "FactorVAE",
    "mig": "MIG",
    "sap": "SAP",
    "modularity": "modularity",
    "explicitness": "explicitness",
    "irs": "IRS",
    "mutual_info_score": "mutual information",
    "gaussian_tc": "Gaussian TC",
    "wasserstein_tc": "Wasserstein TC",
}
STRENGTH = "objective.lambda_od"
KEPT = ("id", "seed", "precision", "objective", STRENGTH, "steps", *SCORES)


def runs() -> list[dict[str, str]]:
    """Lines of the file."""
    return read_csv(RUNS)


def pairs(rows: Sequence[dict[str, str]], score: str) -> dict[tuple[str, int], tuple[float, float]]:
    """A score in bf16 and in float32, by strength and seed.

    Example:
        >>> one = {"seed": "3", STRENGTH: "5.0", "mig": "0.25", "precision": "bf16"}
        >>> pairs([one, {**one, "mig": "0.5", "precision": "float32"}], "mig")
        {('5.0', 3): (0.25, 0.5)}
    """
    of = {(r["precision"], r[STRENGTH], int(r["seed"])): float(r[score]) for r in rows}
    return {(s, seed): (of["bf16", s, seed], of["float32", s, seed])
            for precision, s, seed in of if precision == "bf16"}  # fmt: skip


def lines(rows: Sequence[dict[str, str]]) -> Iterator[str]:
    """Means, their difference with its error, and how far seeds of one setting lie apart."""
    yield "| | bf16 | float32 | difference | its error | spread of seeds |"
    yield "|---" * 6 + "|"
    for score, name in SCORES.items():
        both = pairs(rows, score)
        low, full = zip(*both.values(), strict=True)
        apart = [a - b for a, b in both.values()]
        seeds: dict[str, list[float]] = {}
        for (strength, _), (_, exact) in both.items():
            seeds.setdefault(strength, []).append(exact)
        spread = mean(variance(own) for own in seeds.values()) ** 0.5
        error = stdev(apart) / len(apart) ** 0.5
        digits = 2 if score in ("recon", "kl") else 4
        numbers = [f"{v:.{digits}f}" for v in (mean(low), mean(full))]
        numbers += [f"{mean(apart):+.{digits}f}".replace("-", "−")]
        numbers += [f"{v:.{digits}f}" for v in (error, spread)]
        yield f"| {name} | {' | '.join(numbers)} |"


def made(page: str) -> str:
    """The page with its table."""
    return filled(page, {"precision": "\n".join(lines(runs()))})


def main(table: str | None = None) -> None:
    """Keep what the page needs of a study's table, and fill in the page."""
    if table:
        rows = read_csv(Path(table))
        write_whole(RUNS, csv_text(rows, KEPT))
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
