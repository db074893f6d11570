"""What may come in from outside, and what the terminal shows of it."""

import os
import re
import stat

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.cli import screen
from unknot.core.border import check_fit, check_name, check_value, clean_name, parse_json
from unknot.core.csv_files import csv_text, parse_csv
from unknot.core.errors import ConfigError, UnknotError
from unknot.core.files import atomic_path, open_file, write_whole
from unknot.core.text import plain, shorten
from unknot.core.toml import parse_toml, parse_value

ANY = st.text(max_size=30)


@given(ANY | st.text(min_size=2_000, max_size=4_000))
def test_every_message_is_one_printable_line(text):
    message = str(UnknotError(f"Expected a word; got {text}."))
    assert len(message.splitlines()) == 1
    assert len(message) <= 1_500
    assert not any(ord(character) < 32 or ord(character) == 127 for character in message)


@given(ANY)
def test_the_terminal_gets_every_character_and_no_command(text):
    with screen.stdout.capture() as seen:
        screen.say(text)
    assert seen.get().rstrip("\n").replace("\n", "") == plain(text, keep="\n").rstrip("\n").replace(
        "\n", ""
    )
    assert "\x1b" not in seen.get()


def test_markup_in_names_is_shown():
    with screen.stdout.capture() as seen:
        screen.print_table([{"a[old]": "[/]", "b[red]": ":smile:"}])
    assert [line.split() for line in seen.get().splitlines()] == [
        ["a[old]", "b[red]"],
        ["[/]", ":smile:"],
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 5_000 + "]" * 5_000, "64 deep"),
        ("[" * 70 + "]" * 70, "64 deep"),
        ("9" * 400, "more than 40 digits"),
        ("9" * 5_000, "9999"),
        ("1979-05-27", "1979"),
        ("07:32:00", "time"),
        ("4\nbatch = 2", "Expected one value"),
        ('"' + "x" * 100_001 + '"', "100,001 characters"),
        ('"a\\u0000b"', "NUL"),
        (f"{{ {'k' * 121} = 1 }}", "121 characters"),
        ('{ "a\\nb" = 1 }', "line break"),
    ],
)
def test_a_value_out_of_bounds_is_one_line(text, words):
    with pytest.raises(ConfigError, match=words):
        parse_value(text)
    if "\nbatch" not in text:
        with pytest.raises(ConfigError):
            parse_toml(f"value = {text}", "x.toml")


@pytest.mark.parametrize("text", ["[" * 5_000, "[" * 70 + "]" * 70, "9" * 41, '{"a\\nb": 1}'])
def test_json_out_of_bounds_is_no_json(text):
    with pytest.raises(ValueError, match=r"deep|digits|line|control|Expecting"):
        parse_json(text)


@given(ANY)
def test_a_cleaned_name_is_a_name(text):
    assert check_name(clean_name(text), "A name") == clean_name(text)


def test_only_plain_values_pass():
    assert check_value([1, {"a": None}, 2.5, True, "x"]) == [1, {"a": None}, 2.5, True, "x"]
    with pytest.raises(ConfigError, match=r"a\.b must be a number"):
        check_value({"a": {"b": object()}})
    assert shorten("abc") == "abc"


@given(
    st.lists(st.sampled_from(["=cmd|x", "@sum", "-x", "+1+1", "-0.5", "'=x", "vae"]), min_size=1)
)
def test_no_text_is_a_formula_for_a_spreadsheet_and_all_come_back(texts):
    rows = [{"name": text, "n": -1.5} for text in texts]
    cells = [line.rpartition(",")[0] for line in csv_text(rows).splitlines()[1:]]
    assert all(not cell.startswith(("=", "@", "-x", "+")) for cell in cells)
    assert [row["name"] for row in parse_csv(csv_text(rows))] == texts


def test_two_columns_of_a_name_are_refused():
    with pytest.raises(ValueError, match="columns called 'mig'"):
        parse_csv("id,mig,mig\n1,2,3\n")
    assert parse_csv("id,mig,mig\n1,2,2\n") == [{"id": "1", "mig": "2"}]


def test_headers_are_cleaned_and_it_is_said():
    with pytest.warns(UserWarning, match=r"The column mig\\n\(old\) is read as 'mig \(old\)'"):
        assert parse_csv('"mig\n(old)"\n1\n') == [{"mig (old)": "1"}]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
def test_a_pipe_is_never_replaced_and_never_waited_for(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "a,b\n")
    assert os.read(reader, 99) == b"a,b\n"
    os.close(reader)
    with pytest.raises(UnknotError, match="a pipe or a device"), atomic_path(pipe):
        pass
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(OSError, match="a pipe or a device"):
        open_file(pipe)


def test_rows_that_there_are_not_are_refused():
    from unknot.data.xysquares import XYSquares

    squares = XYSquares(spacing=8).load()
    for rows in ([10**9], [-1], [len(squares)]):
        with pytest.raises(UnknotError, match="rows 0 to"):
            squares.batch(torch.tensor(rows))
    assert squares.batch(torch.tensor([len(squares) - 1])).shape == (1, 3, 64, 64)


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"step": "4"}, "its step is 4"),
        ({"step": True}, "its step is True"),
        ({"step": 4.0}, "its step is 4.0"),
        ({"names": "mig"}, "its names is mig"),
        ({"names": ["mig", 3]}, "its names 1 is 3"),
        ({"members": [{"end": None}, {"end": [1]}]}, "its members 1.end is [1]"),
        ({"values": {"mig": "high"}}, "its values.mig is high"),
        ({"kind": "other"}, "its kind is other"),
        ([], "it is []"),
    ],
)
def test_a_file_of_another_form_is_told_by_the_place_that_differs(value, where):
    form = {
        "step": int,
        "names": [str],
        "members": [{"end": int | None}],
        "values": {str: int | float},
        "kind": ("run", "study"),
    }
    with pytest.raises(ValueError, match=f"^{re.escape(where)}$"):
        check_fit(value, form)


def test_a_file_may_lack_facts_and_have_others():
    check_fit({"step": 4, "other": [object]}, {"step": int, "names": [str]})
