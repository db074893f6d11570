"""How costs grow: exponents by hand, and a page that says what is stored."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from unknot.report import style

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.syspath_prepend(ROOT / "bench")
    return importlib.import_module("growth_plot")


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_an_exponent_is_that_of_the_large_end(script, power):
    exponent = script.exponent_of()
    plain = [(size, 3 * size**power) for size in (1, 2, 4, 8, 16, 32, 64)]
    assert exponent(plain) == power
    # What every size pays hides nothing where sizes are large.
    paid = [(size, 50 + cost**3) for size, cost in plain]
    assert exponent(paid) == pytest.approx(3 * power, abs=0.3)
    assert exponent(plain[:2]) is None
    # Steps of ten: three points, not the two within a factor of 16.
    assert exponent([(10**n, 10.0 ** (power * n)) for n in range(5)]) == power


def test_the_page_has_what_is_stored_and_names_what_grows_faster(script):
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert script.made(page) == page, "run `python docs/growth_plot.py`"
    found = script.stored()
    faster = [
        what
        for lines in script.families(found).values()
        for what, _, exponent in lines
        if exponent is not None and exponent > script.LINEAR
    ]
    section = page.partition("## Growth")[2].partition("\n## ")[0]
    words = section.partition("<!-- end -->")[2]
    unnamed = [what for what in faster if f"`{what}`" not in words]
    assert not unnamed, "say on the page why these must, or mend them"


def test_the_plot_has_a_panel_for_each_kind_of_size(script):
    found = script.stored()
    figure = script.draw(found)
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]
    kinds = {row["family"] for row in found["rows"]}
    assert {found["labels"][kind] for kind in kinds} == {*titles}
    assert style.png(figure)[:4] == b"\x89PNG"


@pytest.mark.slow
def test_a_small_study_and_population_are_measured(tmp_path):
    file = tmp_path / "growth.json"
    command = [sys.executable, ROOT / "bench" / "growth.py", "--rounds", "1", "--json", file]
    subprocess.run([*command, "--only", "members", "--most", "2"], check=True)
    subprocess.run([*command, "--only", "sides", "--most", "32"], check=True)
    rows = json.loads(file.read_text())["rows"]
    assert {(row["family"], row["size"]) for row in rows} == {
        ("members", 1), ("members", 2), ("sides", 32**2),
    }  # fmt: skip
    assert all(row["seconds"] > 0 for row in rows)
