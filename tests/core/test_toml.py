"""TOML files: what is written is read, and what people wrote in them stays."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unknot.core import dotted
from unknot.core.toml import edit_toml, to_toml

keys = st.text(st.characters(codec="utf-8", exclude_characters="."), min_size=1, max_size=4)
values = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
tables = st.dictionaries(keys, values, max_size=4)


@given(tables)
def test_what_is_written_is_read(table):
    assert tomllib.loads(to_toml(table)) == table


@given(tables, tables)
def test_an_edited_text_says_what_the_table_says(before, after):
    assert tomllib.loads(edit_toml(to_toml(before), after)) == after


@pytest.mark.parametrize(("old", "new"), [("1", 1.0), ("1", True), ("true", 1), ('"1"', 1)])
def test_a_value_of_another_type_is_another_value(old, new):
    (value,) = tomllib.loads(edit_toml(f"a = {old}\n", {"a": new})).values()
    assert (value, type(value)) == (new, type(new))


@given(tables)
def test_leaves_put_together_again_are_the_table(table):
    leaves = dict(dotted.leaves(table))
    rebuilt = {}
    for path, value in leaves.items():
        if path.split(".")[0] not in dotted.NAMED:
            dotted.put(rebuilt, path, value)
            assert dotted.get(rebuilt, path) == dotted.get(table, path) == value
