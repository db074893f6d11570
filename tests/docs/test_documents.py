"""The page of tables and figures: none is missing, and what it names is there."""

import re
from pathlib import Path

import pytest
import typer

from unknot.cli.main import app
from unknot.core import registry

PAGE = (Path(__file__).parents[2] / "docs" / "documents.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
FIGURES = {
    "Hartmann 2021": {str(n) for n in range(1, 12)},
    "Kumar et al. 2018": {str(n) for n in range(1, 7)},
    "Michlo 2022": {
        f"{chapter}.{n}"
        for chapter, last in {2: 7, 3: 13, 4: 4, 5: 7, 6: 4, 7: 6}.items()
        for n in range(1, last + 1)
    },
    "Mushom 2020": {
        f"{chapter}.{n}"
        for chapter, last in {2: 4, 3: 4, 4: 2, 5: 19}.items()
        for n in range(1, last + 1)
    },
    "Moğultay Özcan 2024": {"1.1", "2.1", "2.2", "3.1", "6.1", "6.2"}
    | {f"4.{n}" for n in range(1, 6)}
    | {f"5.{n}" for n in range(1, 7)}
    | {f"7.{n}" for n in range(1, 8)},
}
TABLES = {
    "Hartmann 2021": {"1"},
    "Kumar et al. 2018": {"1", "2"},
    "Michlo 2022": {"3.1", "4.1", "4.2", "5.1", "5.2", "6.1", *(f"A.{n}" for n in range(1, 8))},
    "Mushom 2020": {"4.1", *(f"5.{n}" for n in range(1, 7))},
    "Moğultay Özcan 2024": {"3.1", "5.1", "5.2", "6.1", "6.2", *(f"7.{n}" for n in range(1, 5))},
}


def rows(section):
    lines = [line for line in SECTIONS[section].splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines[1:]]


def numbers(section, kind):
    """Numbers of the first cells: "figures 4.1, 4.2" and "figures 5.4 to 5.6"."""
    found = set()
    for first, *_ in rows(section):
        if not first.startswith(kind):
            continue
        for start, end in re.findall(
            r"([\dA]\S*?\d*)(?: to ([\dA]\S*))?(?=,|$| to)", first.split(" ", 1)[1]
        ):
            chapter, dot, low = start.rpartition(".")
            high = end.rpartition(".")[2] or low
            found |= {f"{chapter}{dot}{n}" for n in range(int(low), int(high) + 1)}
    return found


@pytest.mark.parametrize("section", FIGURES)
def test_every_table_and_figure_has_a_row(section):
    assert numbers(section, "figure") == FIGURES[section]
    assert numbers(section, "table") == TABLES[section]
    assert all(len(cells) == 3 and all(cells) for cells in rows(section))


def test_presets_and_verbs_that_it_names_are_there():
    presets = {
        p.stem for p in (Path(registry.__file__).parents[1] / "studies/file/presets").glob("*.toml")
    }
    named = re.findall(r"`((?:hartmann|kumar|michlo|mushom|ozcan)20\d\d\w*)", PAGE)
    assert named
    assert {*named} <= presets
    command = typer.main.get_command(app)
    for line in re.findall(r"`unknot ((?:study |data )?[\w-]+)", PAGE):
        place = command
        for word in line.split():
            assert word in place.commands, line
            place = place.commands[word]
    for name in re.findall(r"metrics\.(\w+)\(", PAGE):
        assert name in registry.names("metrics")
