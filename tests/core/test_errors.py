"""The exception tree as its docstring draws it."""

import inspect

import pytest

from unknot.core import errors

PARENTS = {
    "UnknotError": "Exception",
    "ConfigError": "UnknotError",
    "DataError": "UnknotError",
    "DownloadError": "DataError",
    "ShapeError": "UnknotError",
    "StoreError": "UnknotError",
    "DamageError": "StoreError",
    "WriteError": "StoreError",
}


def test_the_tree():
    members = inspect.getmembers(errors, inspect.isclass)
    kinds = {name: kind for name, kind in members if kind.__module__ == errors.__name__}
    assert {name: kind.__base__.__name__ for name, kind in kinds.items()} == PARENTS
    assert all(name in errors.__doc__ for name in PARENTS)


@pytest.mark.parametrize("name", PARENTS)
def test_usage_leaves_with_2_and_a_failure_with_1(name):
    assert getattr(errors, name).exit_code == (1 if name in ("DownloadError", "WriteError") else 2)
