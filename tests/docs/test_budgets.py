"""What the pages say of studies on GPUs is what the rates of today give."""

import importlib
from pathlib import Path

import pytest

from unknot.studies.budget import PRECISIONS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("budgets")


@pytest.mark.parametrize("name", ["studies", "benchmarks"])
def test_pages_have_the_tables_of_the_rates(script, name):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert script.made(name, page) == page, "run `python docs/budgets.py`"


def test_what_gpus_do_is_all_of_their_time(script):
    rows = [line.strip("| ").split(" | ") for line in script.gpu_lines()][2:-1]
    assert [row[0] for row in rows] == [str(n) for n in script.GPUS for _ in PRECISIONS]
    for row in rows:
        assert sum(float(cell.removesuffix(" %")) for cell in row[3:]) == pytest.approx(
            100, abs=0.2
        )
