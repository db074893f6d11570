"""The published runs of the 2019 study as tables, and the means that were printed of them."""

from functools import cache
from pathlib import Path

import pytest
from analysis.tables import summaries
from metrics import study2019

from unknot.analysis import published, split_table

FILES = {"dsprites": "dsprites_full", "smallnorb": "smallnorb", "cars3d": "cars3d"}
SEVEN = published.SEVEN


@cache
def table(data):
    path = study2019.FOLDER / f"{FILES[data]}.csv"
    if not path.exists():
        pytest.skip("no published scores beside the checkout")
    return published.read(path)


@cache
def cell_means(data):
    """Of all runs, those that diverged among them, as the published means are."""
    all_runs = {n: held for n, held in table(data).items() if n not in ("status", "diverged")}
    found = summaries(all_runs, [*SEVEN, "recon"], draws=2)
    return {(s.objective, s.score, s.swept_value): s for s in found}


def whole_study():
    """All six datasets, of which three need not be there."""
    if not study2019.FOLDER.exists():
        pytest.skip("no published scores beside the checkout")
    everything = published.read(study2019.FOLDER)
    if len(known := set(everything["data"])) < 6:
        pytest.skip(f"pooled over six datasets; here are {len(known)}")
    return everything


def objective(name, data="dsprites"):
    return split_table(table(data), "objective")[name]


def known_means():
    path = Path(__file__).parent / "published_means.txt"
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    return [(data, name, score, means) for data, name, score, *means in lines]
