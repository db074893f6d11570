import numpy as np
import pytest

from unknot.analysis.plain_table import columns, numbers, numeric, split_table
from unknot.core import registry
from unknot.core.errors import ConfigError, DataError, ShapeError

COLUMNS = {"objective": ["a", "b"], "mig": [0.1, None], "seed": [0, 1]}


class LikeAFrame:
    """What a data frame of any library has."""

    columns = ("objective", "mig", "seed")

    def __getitem__(self, name):
        return np.array(COLUMNS[name])


def test_columns_records_and_frames_are_the_same_table():
    records = [{"objective": "a", "mig": 0.1, "seed": 0}, {"objective": "b", "seed": 1}]
    assert columns(COLUMNS) == columns(records) == columns(LikeAFrame()) == COLUMNS


def test_numbers_and_what_is_none():
    table = columns({"x": [1, np.float32(0.5), None, np.nan, np.inf], "s": ["a"] * 5})
    np.testing.assert_array_equal(numbers(table, "x"), [1, 0.5, np.nan, np.nan, np.nan])
    assert numeric(table) == ["x"]
    assert numeric({"flag": [True, False], "none": [None, None]}) == []


def test_bad_tables():
    with pytest.raises(ShapeError, match=r"equal lengths; got \{'a': 1, 'b': 2\}"):
        columns({"a": [1], "b": [1, 2]})
    for nothing in ({}, [], {"a": []}):
        with pytest.raises(DataError, match="no rows"):
            columns(nothing)
    with pytest.raises(ConfigError, match="no column 'migg'; did you mean 'mig'"):
        numbers(columns(COLUMNS), "migg")
    with pytest.raises(DataError, match="Expected numbers in the column 'objective'; got 'a'"):
        numbers(columns(COLUMNS), "objective")


def test_a_table_is_split_by_what_a_column_holds():
    parts = split_table({"data": ["a", "b", "a"], "mig": [1, 2, 3]}, "data")
    assert parts == {
        "a": {"data": ["a", "a"], "mig": [1, 3]},
        "b": {"data": ["b"], "mig": [2]},
    }
    with pytest.raises(ConfigError, match="no column 'dataset'"):
        split_table({"data": ["a"]}, "dataset")


def test_cells_without_a_value_are_one_part():
    beta = [float("nan"), 1.0, None, np.float32("nan")]
    parts = split_table({"beta": beta, "mig": [1, 2, 3, 4]}, "beta")
    assert {key: part["mig"] for key, part in parts.items()} == {None: [1, 3, 4], 1.0: [2]}


def test_statistics_of_models_are_no_scores_of_one():
    assert not {"agreements", "plain_table", "seeds", "variances"} & set(registry.names("metrics"))
