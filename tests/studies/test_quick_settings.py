"""Quick settings of a study file, which take the place of those that are there."""

import tomllib

import pytest

from unknot.core.errors import ConfigError
from unknot.studies.file.study_file import read_study
from unknot.studies.plan import plan

FULL = 'name = "a"\nseeds = 9 # nine\n[train]\nsteps = 8\noptim.lr = 1e-3\n'


@pytest.fixture
def written(tmp_path):
    """A function that writes a study file."""

    def write(text):
        (tmp_path / "a.toml").write_text(text)
        return tmp_path / "a.toml"

    return write


def test_quick_settings_take_the_place_of_those_that_are_there(written):
    text = f"{FULL}[[grid]]\nbatch = [1, 2]\n[quick]\nseeds = 1\ntrain.steps = 2\n"
    made = plan(read_study(written(f"{text}[[quick.grid]]\nbatch = 7\n"), quick=True))
    assert [(s.steps, s.optim.lr, s.batch, s.seed_list) for s in made.configurations] == [
        (2, 1e-3, 7, (1,))
    ]


def test_without_quick_the_text_is_as_written(written):
    file = written(f"{FULL}[quick] # last\nseeds = 1\n")
    assert read_study(file).text == FULL
    assert "quick" not in tomllib.loads(read_study(file, seeds="3").text)
    quick = read_study(file, quick=True, seeds="3")
    expected = {"name": "a quick", "seeds": 3, "train": {"steps": 8, "optim": {"lr": 1e-3}}}
    assert quick.table == tomllib.loads(quick.text) == expected
    assert "# nine" in quick.text


def test_quick_may_stand_anywhere(written):
    file = written(f"{FULL}[quick]\nseeds = 1\n[across] # last\nbatch = [3]\n")
    assert read_study(file).text == f"{FULL}[across] # last\nbatch = [3]\n"
    assert read_study(file, quick=True).table["across"] == {"batch": [3]}


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("", "no quick version"),
        ("[quick]\n", "no quick version"),
        ("[quick]\nmetrics = []\n", "sets metrics, which the study does not"),
        ("[quick]\ntrain.stesp = 1\n", "sets train.stesp.*did you mean 'train.steps'"),
        ("[quick]\ntrain.optim.beta1 = 0.5\n", "sets train.optim.beta1"),
    ],
)
def test_quick_settings_that_are_nowhere_in_the_file_are_refused(written, end, said):
    with pytest.raises(ConfigError, match=said):
        read_study(written(FULL + end), quick=True)
