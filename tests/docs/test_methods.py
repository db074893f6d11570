"""The table of methods: objectives exist, what checks them are tests, and costs were measured."""

import importlib
import sys
from pathlib import Path

import pytest

from unknot.core import registry

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))  # not first: its names are those of folders of tests
methods = importlib.import_module("methods")


@pytest.mark.parametrize("name", methods.METHODS)
def test_what_is_said_to_check_a_formula_is_a_test(name):
    text = (ROOT / "tests" / "objectives" / f"test_{name}.py").read_text()
    for test in methods.METHODS[name].tests:
        assert f"def {test}(" in text


def test_costs_are_of_objectives_and_relative_to_the_beta_vae():
    costs = methods.costs()
    assert costs["beta_vae"] == 1
    assert {*costs} <= {*registry.names("objectives")}
    assert len(costs) > 30
    assert "CPU" in methods.conditions()


def test_the_table_has_a_row_for_each():
    rows = [line for line in methods.table() if line.startswith("| [")]
    assert len(rows) == len(methods.METHODS)
    assert all(line.count("|") == 6 for line in rows)
