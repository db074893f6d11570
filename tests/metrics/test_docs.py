"""The page about scores says what the code does; its tables are made by docs/metrics.py."""

import re
from functools import cache
from pathlib import Path

import pytest
import scripts

from metrics.representations import SCORES
from unknot.core import registry

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
REMAKE = "run: python docs/metrics.py"
CLASSIC = ["beta_vae", "dci", "explicitness", "factor_vae", "irs", "mig", "modularity", "sap"]
LONG = ("beta_vae", "dci", "efficiency")


@cache
def script():
    return scripts.script("docs/metrics.py")


def told(name):
    text = PAGE.read_text(encoding="utf-8")
    return re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", text, re.DOTALL)[1]


@pytest.mark.parametrize("name", ["metrics", "meanings", "protocols", "settings"])
def test_the_tables_of_words_are_current(name):
    assert told(name) == script().TABLES[name](), REMAKE


def rows(name):
    """Columns by score; the first two lines are the heading."""
    lines = [line.strip("| ").split(" | ") for line in told(name).splitlines()]
    assert lines[0][1:] == list(script().HEADINGS.values())
    return {columns[0]: columns[1:] for columns in lines[2:]}


def test_every_score_is_shown_on_every_representation():
    assert list(rows("representations")) == SCORES
    assert list(rows("representations study2019")) == list(script().CLASSIC) == CLASSIC


@pytest.mark.parametrize(
    ("score", "protocol"),
    [
        pytest.param(name, protocol, marks=[pytest.mark.slow] if name in LONG else [])
        for protocol, names in (("unknot", SCORES), ("study2019", CLASSIC))
        for name in names
    ],
)
def test_the_table_of_representations_is_current(score, protocol):
    """To the last printed digit, give or take one: learners differ between their versions."""
    table = "representations" + ("" if protocol == "unknot" else f" {protocol}")
    now = script().row(score, protocol).strip("| ").split(" | ")[1:]
    for name, new, old in zip(script().HEADINGS, now, rows(table)[score], strict=True):
        if "error" in (new, old):
            assert new == old, (name, REMAKE)
        else:
            assert float(new) == pytest.approx(float(old), abs=0.0101), (name, REMAKE)


def test_the_page_tells_what_every_score_is_for_or_warns_of_it():
    """Each name stands somewhere outside the tables that list all of them."""
    text = re.sub(r"<!-- [\w ]+ -->\n.*?<!-- end -->", "", PAGE.read_text(), flags=re.DOTALL)
    told_of = set(re.findall(r"`(?:metrics\.)?(\w+)", text))
    missing = set(registry.names("metrics")) - told_of
    assert not missing, sorted(missing)
