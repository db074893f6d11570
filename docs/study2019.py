"""Write ``docs/results/study2019.*`` from a study of ours and the published runs.

```
python docs/study2019.py studies/hartmann2021_contrasts dsprites_full.csv
```

Of several studies before the last argument, each run is taken from the first that has finished it.

The page's own words stay; what stands between ``<!-- name -->`` and ``<!-- end -->`` is replaced.
"""

import math
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev, variance
from typing import Any

from places import filled

from unknot.analysis import Results, published
from unknot.analysis.comparison import Comparison, Difference, compare
from unknot.analysis.replication import Replication, replicate
from unknot.core.csv_files import csv_text, read_csv
from unknot.report.study.figures import published as figure
from unknot.report.style import png
from unknot.studies.study import Study

RESULTS = Path(__file__).parent / "results"
PAGE, RUNS, RESAMPLES, FIGURE = (
    RESULTS / name
    for name in ("study2019.md", "study2019.csv", "study2019_resamples.csv", "study2019.png")
)
SCORES = {
    "recon": "reconstruction",
    "kl": "KL",
    "beta_vae": "BetaVAE",
    "factor_vae": "FactorVAE",
    "mig": "MIG",
    "sap": "SAP",
    "dci.disentanglement": "DCI-D",
    "dci.completeness": "DCI-C",
    "dci.informativeness": "DCI-I",
    "modularity": "modularity",
    "explicitness": "explicitness",
}
NO_SPREAD = 0.003
"""Published runs of a score that vary less than this are all alike."""
KEPT = ("id", "seed", "status", "data", "objective", "precision", "steps", "seconds")
CONTRASTS = (
    ("mig", "beta_vae beta 16", "beta_vae beta 1"),
    ("mig", "factor_vae gamma 50", "beta_vae beta 1"),
    ("mig", "beta_tcvae beta 6", "beta_vae beta 6"),
    ("mig", "annealed_vae c 5", "annealed_vae c 100"),
    ("mig", "dip_vae_i lambda_od 2", "dip_vae_i lambda_od 50"),
    ("dci.disentanglement", "beta_tcvae beta 6", "beta_vae beta 6"),
    ("factor_vae", "beta_tcvae beta 4", "beta_vae beta 1"),
)
"""Score, the setting that has more of it, and the one that has less; see hartmann2021_contrasts."""


def draw_variance() -> dict[str, float]:
    """Of each score, over the draws of rows that one model is scored by; the mean over models."""
    rows = read_csv(RESAMPLES)
    models = list(dict.fromkeys(row["id"] for row in rows))
    return {
        score: sum(variance(float(r[score]) for r in rows if r["id"] == m) for m in models)
        / len(models)
        for score in SCORES
        if score in rows[0]
    }


def z(one: Difference, drawn: dict[str, float]) -> float:
    """The difference in standard errors of both means, those of the draws of rows included.

    All runs of a study are scored by one draw, whose error seeds do not show.
    """
    return one.difference / math.hypot(one.error, (2 * drawn.get(one.ours.score, 0.0)) ** 0.5)


def cells(found: Comparison, drawn: dict[str, float]) -> Iterator[str]:
    """Our mean, the published one, and z; a table for every four scores."""
    names = list(SCORES)
    labels = dict.fromkeys(d.ours.label for d in found.differences)
    by = {(d.ours.label, d.ours.score): d for d in found.differences}
    for start in range(0, len(names), 4):
        part = names[start : start + 4]
        yield f"| configuration | runs | {' | '.join(SCORES[name] for name in part)} |"
        yield "|---" * (len(part) + 2) + "|"
        for label in labels:
            own = [by[label, name] for name in part]
            yield f"| {label} | {own[0].ours.n} | {' | '.join(_cell(d, drawn) for d in own)} |"
        yield ""


def _cell(one: Difference, drawn: dict[str, float]) -> str:
    digits = 1 if one.ours.score == "recon" else 2 if one.ours.score == "kl" else 3
    far = z(one, drawn)
    both = f"{one.ours.mean:.{digits}f} / {one.published.mean:.{digits}f}"
    text = f"{both} ({far:+.1f})".replace("-", "−")
    return f"**{text}**" if abs(far) > 3 else text


def verdict(found: Comparison, drawn: dict[str, float]) -> Iterator[str]:
    """How many values agree."""
    far = [abs(z(d, drawn)) for d in found.differences]
    seeds = [abs(d.z) for d in found.differences]
    yield textwrap.fill(
        f"Of {len(far)} values, {sum(f <= 1 for f in far)} lie within one standard error of the "
        f"published mean, {sum(f <= 2 for f in far)} within two and {sum(f <= 3 for f in far)} "
        "within three. (For a normal distribution one expects 68, 95 and 99.7 %.) With errors from "
        f"the spread over seeds alone, {sum(s <= 3 for s in seeds)} lie within three.",
        120,
    )


def controls(found: Replication) -> Iterator[str]:
    """What agrees, beside the same count for runs that replicate and for runs that do not."""
    yield "| agrees | ours | published seeds, 5 to 95 % | wrong settings |"
    yield "|---|---|---|---|"
    for count in found.counts:
        same = "" if count.same is None else f"{count.same[1]:.0f} to {count.same[2]:.0f}"
        yield f"| {count.name} | {count.ours} of {count.total} | {same} | {count.wrong} |"


def equivalence(found: Replication) -> Iterator[str]:
    """Each score over all configurations, and what could have been seen."""
    yield "| score | difference | 90 % interval | verdict | visible |"
    yield "|---|---|---|---|---|"
    for one in found.pooled:
        low, high = one.interval
        numbers = f"| {one.difference:+.2f} | {low:+.2f} to {high:+.2f} |".replace("-", "−")
        yield f"| {SCORES[one.score]} {numbers} {one.verdict} | {one.visible:.2f} |"


def strict(found: Comparison) -> Iterator[str]:
    """What differs if the samples of rows are taken to be without error."""
    differ = [SCORES[one.score] for one in replicate(found, draws=0).pooled if one.differs]
    below = [d.difference < 0 for d in found.differences if d.ours.score not in ("recon", "kl")]
    yield textwrap.fill(
        "If the samples of rows had no error of their own, these would differ: "
        f"{', '.join(differ) or 'none'}. Of {len(below)} single scores, {sum(below)} lie below the "
        "published mean.",
        120,
    )


def contrasts(found: Comparison) -> Iterator[str]:
    """Whether our means show what three published runs a side nearly always show."""
    by = {(d.ours.label, d.ours.score): d for d in found.differences}
    yield "| metric | higher | lower | ours | published | |"
    yield "|---|---|---|---|---|---|"
    for score, more, less in CONTRASTS:
        pair = by.get((more, score)), by.get((less, score))
        if None in pair:
            yield f"| {SCORES[score]} | {more} | {less} | | | not trained yet |"
            continue
        high, low = (d for d in pair if d is not None)
        holds = "holds" if high.ours.mean > low.ours.mean else "**does not hold**"
        yield (
            f"| {SCORES[score]} | {more} | {less} | {high.ours.mean:.3f} > {low.ours.mean:.3f} "
            f"| {high.published.mean:.3f} > {low.published.mean:.3f} | {holds} |"
        )


def order(found: Comparison) -> Iterator[str]:
    """Objectives by the mean of seven scores over all strengths."""
    of: dict[str, list[Difference]] = {}
    for one in found.differences:
        if one.ours.score in published.SEVEN:
            of.setdefault(one.ours.objective, []).append(one)
    means = {
        name: (mean(d.ours.mean for d in own), mean(d.published.mean for d in own))
        for name, own in of.items()
    }
    yield "| objective | ours | published |"
    yield "|---|---|---|"
    for name, (ours, theirs) in sorted(means.items(), key=lambda item: -item[1][1]):
        yield f"| `{name}` | {ours:.3f} | {theirs:.3f} |"


def by_seed(rows: list[dict[str, Any]], found: Comparison) -> Iterator[str]:
    """How far a seed's runs are off in units of the published spread, the mean over settings."""
    published_of = {(d.ours.label, d.ours.score): d.published.values for d in found.differences}
    seeds = sorted({row["seed"] for row in rows})
    yield f"| metric | {' | '.join(f'seed {seed}' for seed in seeds)} |"
    yield "|---" * (len(seeds) + 1) + "|"
    for score, words in SCORES.items():
        off: dict[int, list[float]] = {seed: [] for seed in seeds}
        for cell in Results(rows).configurations:
            theirs = published_of[cell.label, score]
            if stdev(theirs) < NO_SPREAD:
                continue
            for seed, value in zip(cell.runs["seed"], cell.runs[score], strict=True):
                off[seed].append((value - mean(theirs)) / stdev(theirs))
        means = [f"{round(mean(off[seed]), 1) + 0.0:+.1f}".replace("-", "−") for seed in seeds]
        yield f"| {words} | {' | '.join(means)} |"


def runs() -> list[dict[str, Any]]:
    """Ours, as the file beside the page has them."""
    rows = read_csv(RUNS)
    return [{k: value(v) for k, v in row.items() if v} for row in rows]


def value(text: str) -> float | str:
    """What a cell of the file says.

    Example:
        >>> value("16"), value("0.5"), value("bernoulli"), value("True")
        (16, 0.5, 'bernoulli', True)
    """
    if text in ("True", "False"):
        return text == "True"
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def beside(file: str | Path) -> Comparison:
    """Our runs beside the published ones."""
    tables = runs(), published.read(file)
    # Of each cell the mean and its error, no intervals.
    return compare(*(Results(table, list(SCORES), draws=2).summaries() for table in tables))


def made(page: str, found: Comparison) -> str:
    """The page with its tables."""
    drawn = draw_variance()
    replication = replicate(found, row_variance=drawn)
    parts = {
        "controls": controls(replication),
        "equivalence": equivalence(replication),
        "strict": strict(found),
        "verdict": verdict(found, drawn),
        "contrasts": contrasts(found),
        "order": order(found),
        "cells": cells(found, drawn),
        "seeds": by_seed(runs(), found),
    }
    return filled(page, {name: "\n".join(lines).rstrip() for name, lines in parts.items()})


def main(*studies: str, file: str) -> None:
    """Read them, write runs and figure, and fill in the page."""
    rows: dict[str, dict[str, Any]] = {}
    for study in studies:
        for row in Study.open(study).table():
            if row["status"] in ("done", "diverged"):
                rows.setdefault(row["id"], row)
    names = (name for row in rows.values() for name in row if name.startswith("objective."))
    kept = [*KEPT, *dict.fromkeys(names), *SCORES]
    RUNS.write_text(
        csv_text([{k: row.get(k) for k in kept} for row in rows.values()]), encoding="utf-8"
    )
    found = beside(file)
    title = "Ours beside the published runs: dSprites"
    FIGURE.write_bytes(png(figure.draw(found, title=title).figure))
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:-1], file=sys.argv[-1])
