"""CSV tables: what is written is read."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unknot.core.border import clean_name
from unknot.core.csv_files import csv_text, parse_csv, read_csv, read_table
from unknot.core.errors import DataError

cells = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=5)
plain = cells.filter(lambda name: name and clean_name(name) == name)
names = st.lists(plain, min_size=2, max_size=4, unique=True)


@given(st.data())
def test_text_survives(data):
    columns = data.draw(names)
    row = st.fixed_dictionaries(dict.fromkeys(columns, cells))
    rows = data.draw(st.lists(row, max_size=4))
    assert parse_csv(csv_text(rows, columns)) == rows


def test_what_is_missing_or_no_number_is_empty():
    rows = [{"a": None, "b": math.nan, "c": {"kind": "x"}}, {"d": 1e-8, "a": True}]
    assert csv_text(rows) == 'a,b,c,d\n,,"{""kind"": ""x""}",\nTrue,,,1e-08\n'
    assert csv_text([], ["step", "seed"]) == "step,seed\n"


@pytest.mark.parametrize("text", [b"a,b\n1,2,3\n", b"a\n\xff\n", b"a\n" + b"x" * 200_000 + b"\n"])
def test_what_is_no_table_is_one_line(tmp_path, text):
    (tmp_path / "t.csv").write_bytes(text)
    with pytest.raises(DataError, match=r"^Cannot read the table .*t\.csv: .*\.$"):
        read_csv(tmp_path / "t.csv")


def test_a_table_has_numbers_words_and_a_mark_of_excel(tmp_path):
    text = '\ufeffid,n,word\r\n12e4,1,"a\nb"\r\n7,nan\r\n'
    (tmp_path / "t.csv").write_text(text, encoding="utf-8", newline="")
    assert read_table(tmp_path / "t.csv") == {
        "id": ["12e4", "7"],
        "n": [1, None],
        "word": ["a\nb", None],
    }
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="has no rows"):
        read_table(tmp_path / "t.csv")
