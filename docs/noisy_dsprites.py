"""Noisy-dSprites with beta = 16: ``docs/results/noisy_dsprites.csv`` and its page.

```
unknot study run docs/results/noisy_dsprites.toml --device cuda
unknot study run docs/results/noisy_dsprites_float32.toml --device cuda
python docs/noisy_dsprites.py studies/noisy_dsprites studies/noisy_dsprites_float32
python docs/noisy_dsprites.py
```

Without studies the page is filled in from the files that are there. The page's own words stay; what
stands between two marks is replaced.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev, variance

import torch
from places import filled

from unknot import data, metrics
from unknot.analysis.replication import Pooled
from unknot.core import noise
from unknot.core.csv_files import csv_text, read_csv
from unknot.core.files import write_whole
from unknot.studies.study import Study

PAGE = Path(__file__).parent / "results" / "noisy_dsprites.md"
RUNS = PAGE.with_suffix(".csv")
PUBLISHED = PAGE.with_name("noisy_dsprites_published.csv")
LOSSES = {"recon": "reconstruction", "kl": "KL"}
SCORES = {
    "beta_vae": "BetaVAE",
    "factor_vae": "FactorVAE",
    "mig": "MIG",
    "sap": "SAP",
    "modularity": "modularity",
}
ALONE = {"beta_vae.draws": "mean of ten samples", "factor_vae.active": "latents in use"}
"""Columns of the table of single runs that have no published mean."""
KEPT = ("id", "seed", "precision", "steps", *LOSSES, *SCORES, *ALONE)
DIGITS = {"recon": 1, "kl": 2, "factor_vae.active": 0}
ROWS, DRAWS = 40_000, 10


def drawn(study: Path, runs: list[dict[str, str]]) -> Iterator[float]:
    """BetaVAE's score of each run, averaged over several samples of points.

    Pairs come from the codes of some rows of the dataset, so that images are encoded once.
    """
    import unknot

    dataset = data.NoisyDSprites().load()
    rows = noise.integers(0, "docs/noisy_dsprites", 0, ROWS, high=len(dataset))
    factors = dataset.space.factors(rows).numpy()
    models = [unknot.load(study).load(run["id"], device="cpu") for run in runs]
    batches = [[model.encode(dataset.batch(some)) for model in models] for some in rows.split(500)]
    for codes in zip(*batches, strict=True):
        whole = torch.cat([torch.as_tensor(one) for one in codes])
        scores = (metrics.beta_vae(whole, factors, protocol="study2019", seed=s)
                  for s in range(DRAWS))  # fmt: skip
        yield mean(float(score) for score in scores)


def runs_in(precision: str) -> list[dict[str, str]]:
    """Runs of one precision."""
    return [run for run in read_csv(RUNS) if run["precision"] == precision]


def difference(score: str, ours: Sequence[float], theirs: dict[str, str]) -> Pooled:
    """Our mean less the published one, in published standard deviations of a seed."""
    unit = float(theirs["sd"])
    error = math.sqrt(variance(ours) / len(ours) + unit**2 / int(theirs["n"])) / unit
    return Pooled(score, (mean(ours) - float(theirs["mean"])) / unit, error, unit, 1)


def comparison() -> Iterator[str]:
    """A row for each published value, beside fresh seeds in bf16."""
    runs = runs_in("bf16")
    yield (
        f"| | ours, {len(runs)} seeds | published, 50 seeds | difference | 90 % interval "
        "| verdict | visible |"
    )
    yield "|---" * 7 + "|"
    for theirs in read_csv(PUBLISHED):
        score = theirs["score"]
        digits = DIGITS.get(score, 3)
        values = [float(run[score]) for run in runs]
        one = difference(score, values, theirs)
        means = [
            f"{m:.{digits}f} ± {s:.{digits}f}"
            for m, s in (
                (mean(values), stdev(values)),
                (float(theirs["mean"]), float(theirs["sd"])),
            )
        ]
        low, high = one.interval
        numbers = f"{one.difference:+.2f} | {low:+.2f} to {high:+.2f}".replace("-", "−")
        yield (
            f"| {(LOSSES | SCORES)[score]} | {' | '.join(means)} | {numbers} | {one.verdict} "
            f"| {one.visible:.2f} |"
        )


def lines() -> Iterator[str]:
    """A row for each run in float32."""
    names = LOSSES | SCORES | ALONE
    yield f"| seed | {' | '.join(names.values())} |"
    yield "|---" * (len(names) + 1) + "|"
    for row in runs_in("float32"):
        numbers = [f"{float(row[name]):.{DIGITS.get(name, 3)}f}" for name in names]
        yield f"| {row['seed']} | {' | '.join(numbers)} |"


def made(page: str) -> str:
    """The page with its tables."""
    return filled(page, {"comparison": "\n".join(comparison()), "float32": "\n".join(lines())})


def main(*studies: str) -> None:
    """Keep what the page needs of the studies, and fill in the page."""
    kept = []
    for study in map(Path, studies):
        runs = [run for run in Study.open(study).table() if run["status"] == "done"]
        if runs[0]["precision"] == "float32":
            for run, score in zip(runs, drawn(study, runs), strict=True):
                run["beta_vae.draws"] = score
        kept += runs
    if kept:
        write_whole(RUNS, csv_text(kept, KEPT))
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
