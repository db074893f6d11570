"""Arrays that anyone may have written: what is read, and what gets one line."""

import json
import zipfile

import numpy as np
import pytest

from unknot.core.errors import DataError
from unknot.runs.arrays import read

DRAW = np.random.default_rng(0)
FACTORS = DRAW.integers(0, 4, (60, 2))
CODES = DRAW.normal(size=(3, 60, 5))
OBJECTS = np.array([{"a": 1}], dtype=object)


@pytest.fixture
def file(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "a.npz", **{"codes": CODES[0], "factors": FACTORS} | arrays)
        return tmp_path / "a.npz"

    return write


def refused(path, member=None):
    with pytest.raises(DataError) as caught:
        read(path, member)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_arrays_of_one_model(file):
    found = read(file(other=OBJECTS))
    np.testing.assert_array_equal(found.codes, CODES[0])
    np.testing.assert_array_equal(found.factors, FACTORS)
    assert found.logvars is None
    assert found.test is None


def test_a_member_is_taken_of_all_arrays_of_models(file):
    arrays = {"logvars": 2 * CODES, "codes_test": 3 * CODES, "factors_test": FACTORS + 1}
    found = read(file(codes=CODES, **arrays), 1)
    np.testing.assert_array_equal(found.codes, CODES[1])
    np.testing.assert_array_equal(found.logvars, 2 * CODES[1])
    np.testing.assert_array_equal(found.test[0], 3 * CODES[1])
    np.testing.assert_array_equal(found.test[1], FACTORS + 1)


@pytest.mark.parametrize("name", ["logvars", "codes_test"])
@pytest.mark.parametrize("other", [CODES[:1], CODES[0]])
def test_all_arrays_have_the_same_models(file, name, other):
    path = file(codes=CODES, factors_test=FACTORS, **{name: other})
    said = refused(path, 1)
    assert f"has {name} of shape {other.shape} and codes of shape (3, 60, 5)" in said
    path = file(codes=CODES[0], factors_test=FACTORS, **{name: CODES})
    assert f"has {name} of shape (3, 60, 5)" in refused(path)


@pytest.mark.parametrize("member", [None, 3])
def test_a_member_must_be_there(file, member):
    assert "has the codes of 3 models; choose one with --model" in refused(
        file(codes=CODES), member
    )


def test_codes_of_one_model_have_no_members(file):
    assert "has the codes of one model; leave out --model" in refused(file(codes=CODES[0]), 0)


def test_a_lone_array_is_no_archive(tmp_path):
    np.save(tmp_path / "a.npy", CODES[0])
    said = refused(tmp_path / "a.npy")
    assert said.endswith("holds one array; expected an npz with codes and factors.")


@pytest.mark.parametrize("name", ["codes", "factors", "logvars", "codes_test", "factors_test"])
def test_objects_are_never_opened(file, name):
    said = refused(file(**{name: OBJECTS}))
    assert said.endswith(f"holds something else than a plain array as '{name}'.")


def test_a_text_is_not_called_a_pickle(tmp_path):
    (tmp_path / "text.npz").write_text("codes\n")
    assert "pickle" not in refused(tmp_path / "text.npz")
    assert refused(tmp_path / "none.npz") == f"There is no file {tmp_path / 'none.npz'}."


def test_half_a_test_set(file):
    said = refused(file(factors_test=FACTORS))
    assert "has factors_test but no other half of a test set" in said


def test_archives_of_something_else(file):
    path = file()
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("logvars", "no array")
    assert refused(path).endswith("holds something else than a plain array as 'logvars'.")


def test_the_command_says_it_in_one_line(file, tmp_path, capsys, monkeypatch):
    from unknot.cli.main import main

    def score(*words):
        words = ["unknot", "score", *map(str, words), "--metrics", "sap", "--json"]
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    np.save(tmp_path / "a.npy", CODES[0])
    several = file(codes=CODES, logvars=CODES[:1])
    for words in ((tmp_path / "a.npy",), (several, "--model", 1)):
        code, _, err = score(*words)
        assert (code, err.strip().count("\n")) == (2, 0)
    code, _, err = score(file(factors=FACTORS * 1e30))
    assert (code, err.strip().count("\n")) == (2, 0)
    assert "whole numbers between -2^53 and 2^53" in err
    code, out, _ = score(file(codes=CODES), "--model", 2)
    assert (code, list(json.loads(out)["scores"])) == (0, ["sap"])
