"""Labels as people have them become tables of factors: kinds, levels, gaps and names."""

import math

import numpy as np
import pytest
import torch

from unknot.core.errors import ConfigError, DataError
from unknot.core.factor_table import FactorTable, as_table, fill_grid
from unknot.core.factors import FactorSpace
from unknot.core.labels import clean_names, replace_kinds, tabulate


@pytest.mark.parametrize(
    ("name", "column", "kind", "levels"),
    [
        ("person", ["b", "a", "b"], "nominal", ("a", "b")),
        ("smiles", [True, False, True], "nominal", ("False", "True")),
        ("age", [30, 20, 30], "ordered", (20, 30)),
        ("age", np.array([30.0, 20.0, np.nan]), "ordered", (20, 30)),
        ("age", torch.tensor([3, 1, 1]), "ordered", (1, 3)),
        ("person_id", [4, 2, 4], "nominal", (2, 4)),
        ("class", [4, 2, 4], "nominal", (2, 4)),
        ("objectClass", [4, 2, 4], "nominal", (2, 4)),
        ("grid", [4, 2, 4], "ordered", (2, 4)),
        ("width", [0.5, 1.5, 0.5], "ordered", (0.5, 1.5)),
        ("mixed", ["x", 3, "x"], "nominal", ("3", "x")),
    ],
)
def test_kinds_are_inferred(name, column, kind, levels):
    table = tabulate({name: column})
    assert (table.kinds, table.levels) == ((kind,), (levels,))


def test_many_fractions_are_continuous_and_keep_their_numbers():
    numbers = np.linspace(0, 1, 21) ** 2
    assert tabulate({"x": numbers[:20]}).kinds == ("ordered",)
    table = tabulate({"x": [*numbers, None]})
    assert table.kinds == ("continuous",)
    assert table.numbers(0)[:-1].tolist() == numbers.tolist()
    assert math.isnan(table.numbers(0)[-1])


@pytest.mark.parametrize("gap", [None, float("nan"), "", " NA ", "nan", np.ma.masked, np.nan])
def test_what_is_missing_is_no_level(gap):
    table = tabulate({"a": ["x", gap, "y"], "b": [1, 2, 3]})
    assert table.values.tolist() == [[0, 0], [-1, 1], [1, 2]]
    assert table.has_gaps.tolist() == [False, True, False]


def test_kinds_can_be_set():
    table = tabulate({"angle": [0, 90, 180]}, {"angle": "cyclic"})
    assert table.kinds == ("cyclic",)
    assert replace_kinds(table, ["angle=nominal"]).kinds == ("nominal",)


@pytest.mark.parametrize(
    ("columns", "kinds", "error", "message"),
    [
        ({"a": [1, 2]}, {"b": "cyclic"}, ConfigError, "no label 'b'"),
        ({"a": [1, 2]}, {"a": "round"}, ConfigError, "no kind 'round'"),
        ({"a": ["x", "y"]}, {"a": "continuous"}, ConfigError, "cannot be continuous"),
        ({"a": [None, None]}, {}, DataError, "missing in all 2 rows"),
        ({"a": [1], "b": [1, 2]}, {}, DataError, "columns of lengths"),
        ({"a": [1, math.inf]}, {}, DataError, "infinite"),
        ({"a": [1, [2]]}, {}, DataError, "text or real numbers"),
        ({}, {}, DataError, "no columns"),
        ({"a": range(100_001)}, {}, DataError, "100,001 different values"),
    ],
)
def test_what_cannot_be_a_label_is_refused_in_one_line(columns, kinds, error, message):
    with pytest.raises(error, match=message) as caught:
        tabulate(columns, kinds)
    assert "\n" not in str(caught.value)


def test_headers_become_names():
    names, changes = clean_names(["a\nb", "a b", "", "x" * 99, "fine"])
    assert names == ("a b", "a b 2", "column 3", "x" * 60, "fine")
    assert "'fine'" not in changes
    assert changes.count("is called") == 4


def test_only_labels_that_name_each_point_once_are_a_grid():
    space = FactorSpace(("a", "b"), (2, 3), ("ordered", "nominal"))
    order = torch.tensor([3, 0, 5, 1, 2, 4])
    filled, rows = fill_grid(as_table(space, order))
    assert filled == space
    assert order[rows].tolist() == [0, 1, 2, 3, 4, 5]
    assert fill_grid(as_table(space, order[:5])) is None
    assert fill_grid(as_table(space, torch.cat([order[:5], order[:1]]))) is None
    table = as_table(space, order)
    gap = table.values.clone()
    gap[0, 0] = -1
    assert fill_grid(FactorTable(table.names, table.kinds, table.levels, gap)) is None


def test_a_table_refuses_what_needs_a_grid():
    table = tabulate({"a": [1, 1, 2]})
    with pytest.raises(ConfigError, match="do not fill such a grid"):
        table.require_grid("Distances")
    with pytest.raises(DataError, match=r"0 \.\. 2"):
        table.factors(torch.tensor([3]))
