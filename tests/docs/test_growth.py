"""How costs grow: exponents by hand, and a page that says what is stored."""

import importlib
import json
import subprocess
import sys
import time
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


@pytest.mark.slow
def test_processes_get_ready_side_by_side_and_measure_in_turn(script, capfd):
    """As on a GPU: one is ready at once, one never is, and one ends before."""
    script.exponent_of()
    growth = importlib.import_module("growth")
    jobs = [*growth.gpu_jobs(["members", "sides"], 1)]
    assert [(family, size) for family, _, size in jobs] == [("members", 1)]
    works = [(f, growth_work, size) for f, _, size in jobs for growth_work in (waits, sleeps, ends)]
    for growth.COMPILING in (20.0, 180.0):  # the second for a machine that has much else to do
        if rows := [*growth.gpu_rows(works, "cpu", 1)]:
            break
    assert [(row["what"], row["size"], row["seconds"]) for row in rows] == [("waited", 1, 2.0)]
    assert capfd.readouterr().out.count(f"not ready in {growth.COMPILING:.0f} s, or ended") == 2


def waits(clock, size, _):
    clock.wait()
    yield "waited", size, 2.0


def sleeps(clock, size, _):
    time.sleep(600)
    yield "slept", size, 1.0


def ends(clock, size, _):
    raise SystemExit(3)
    yield "ended", size, 1.0
