"""Measure the KL decomposition of a FactorVAE beside the estimates that objectives train on.

    unknot train objective=factor_vae gamma=2 critic_width=300 critic_layers=4 critic_lr=0.001 \
        net.name=mlp latents=6 steps=3000 batch=64 lr=1e-3 data=dsprites --out runs/factor
    python docs/kl_decomposition.py runs/factor      # some minutes

Writes ``docs/results/kl_decomposition.csv`` and fills in the table of the page of that name.
"""

import sys
from pathlib import Path

import torch
from places import filled

import unknot
from unknot.core.csv_files import csv_text, read_csv
from unknot.core.files import write_whole
from unknot.core.posterior import Posterior
from unknot.core.text import decimals
from unknot.objectives.beta_tcvae import log_weights, split_kl

PAGE = Path(__file__).parent / "results" / "kl_decomposition.md"
FILE = PAGE.with_suffix(".csv")
PARTS = ("information", "total_correlation", "dimension_wise")
BATCHES, SIZES, ESTIMATORS = 200, (64, 1024), ("mws", "mss", "mixture", "none")
NAMES = {
    "exact": "all posteriors (`kl_decomposition`, protocol `paper`)",
    "mws": "weighted sampling, as published (`mws`)",
    "mss": "stratified sampling (`mss`)",
    "mixture": "the batch as a mixture (`mixture`)",
    "none": "no weights (`none`)",
    "critic": "the critic of the run",
}


def batch_estimates(
    q: Posterior, estimator: str, size: int, n_data: int
) -> dict[str, tuple[float, float]]:
    """Mean over batches of each part, and the standard deviation from batch to batch."""
    generator = torch.Generator().manual_seed(0)
    values = []
    for _ in range(BATCHES):
        rows = torch.randint(len(q.mean), (size,), generator=generator)
        batch = Posterior(q.mean[rows], q.logvar[rows])
        z = batch.sample(torch.randn(batch.mean.shape, generator=generator, dtype=q.mean.dtype))
        values.append(torch.stack(split_kl(z, batch, log_weights(estimator, z, n_data))))
    means, spreads = torch.stack(values).mean(0), torch.stack(values).std(0)
    return {p: (float(m), float(s)) for p, m, s in zip(PARTS, means, spreads, strict=True)}


def critic_estimate(run: unknot.Run, q: Posterior) -> tuple[float, float]:
    """Total correlation as the critic has it, and its deviation from batch to batch."""
    critic = run.training.population.models[0].modules["critic"]
    generator = torch.Generator().manual_seed(1)
    z = q.sample(torch.randn(q.mean.shape, generator=generator, dtype=q.mean.dtype)).float()
    with torch.no_grad():
        logits = critic(z[: len(z) // 64 * 64])
    odds = (logits[:, 0] - logits[:, 1]).view(-1, 64).mean(1)
    return float(odds.mean()), float(odds.std())


def measure(folder: Path) -> list[dict[str, object]]:
    """A row for each way to estimate the three parts."""
    run = unknot.load(folder)
    (record,) = run.score("kl_decomposition", protocol="paper")
    values = {part: record.values[f"kl_decomposition.{part}"] for part in (*PARTS, "error", "kl")}
    rows: list[dict[str, object]] = [{"estimator": "exact", "batch": "", **values}]
    n_data = len(run.dataset)
    draws = torch.randperm(n_data, generator=torch.Generator().manual_seed(2))[:20_000]
    q = run.posteriors(draws)
    q = Posterior(*(part.reshape(len(draws), -1).double().cpu() for part in (q.mean, q.logvar)))
    for size in SIZES:
        for estimator in ESTIMATORS:
            means = batch_estimates(q, estimator, size, n_data)
            row = {part: mean for part, (mean, _) in means.items()}
            rows.append(
                {"estimator": estimator, "batch": size, **row, "kl": sum(row.values()),
                 "error": means["total_correlation"][1]}
            )  # fmt: skip
    critic, spread = critic_estimate(run, q)
    rows.append({"estimator": "critic", "batch": 64, "total_correlation": critic, "error": spread})
    return rows


def table(rows: list[dict[str, str]]) -> str:
    """As Markdown: nats, and the spread of the total correlation."""
    head = ["estimate", "batch", "information", "total correlation", "±", "dimension-wise", "sum"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        cells = (row.get(key) or "" for key in (*PARTS[:2], "error", PARTS[2], "kl"))
        texts = [decimals(float(cell), 2) if cell else "–" for cell in cells]
        lines.append([NAMES[row["estimator"]], row["batch"] or "all", *texts])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def made(text: str) -> str:
    """The page with its table."""
    return filled(text, {"table": table(read_csv(FILE))})


if __name__ == "__main__":
    if sys.argv[1:]:
        write_whole(FILE, csv_text(measure(Path(sys.argv[1]))).encode())
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
