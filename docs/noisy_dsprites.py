"""Noisy-dSprites with beta = 16: ``docs/results/noisy_dsprites.csv`` and its page.

```
unknot study run docs/results/noisy_dsprites.toml --device cuda
python docs/noisy_dsprites.py studies/noisy_dsprites
```

Without a study the page is filled in from the file that is there. The page's own words stay; what
stands between ``<!-- runs -->`` and ``<!-- end -->`` is replaced.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import torch
from places import filled

from unknot import data, metrics
from unknot.core import noise
from unknot.core.csv_files import csv_text, read_csv
from unknot.core.files import write_whole
from unknot.studies.study import Study

PAGE = Path(__file__).parent / "results" / "noisy_dsprites.md"
RUNS = PAGE.with_suffix(".csv")
SCORES = {
    "recon": "reconstruction",
    "kl": "KL",
    "beta_vae": "BetaVAE",
    "beta_vae.draws": "mean of ten samples",
    "factor_vae": "FactorVAE",
    "factor_vae.active": "latents in use",
    "mig": "MIG",
    "sap": "SAP",
    "modularity": "modularity",
}
KEPT = ("id", "seed", "precision", "steps", *SCORES)
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


def lines() -> Iterator[str]:
    """A row for each run."""
    rows = read_csv(RUNS)
    yield f"| seed | {' | '.join(SCORES.values())} |"
    yield "|---" * (len(SCORES) + 1) + "|"
    digits = {"recon": 1, "kl": 2, "factor_vae.active": 0}
    for row in rows:
        numbers = [f"{float(row[score]):.{digits.get(score, 3)}f}" for score in SCORES]
        yield f"| {row['seed']} | {' | '.join(numbers)} |"


def made(page: str) -> str:
    """The page with its table."""
    return filled(page, {"runs": "\n".join(lines())})


def main(study: str | None = None) -> None:
    """Keep what the page needs of a study, and fill in the page."""
    if study:
        runs = [run for run in Study.open(Path(study)).table() if run["status"] == "done"]
        for run, score in zip(runs, drawn(Path(study), runs), strict=True):
            run["beta_vae.draws"] = score
        write_whole(RUNS, csv_text(runs, KEPT))
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
