"""The examples run as they are, with few steps."""

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))


def test_there_are_examples_and_they_are_short():
    assert len(EXAMPLES) >= 6
    for file in EXAMPLES:
        assert len(file.read_text().splitlines()) < 60, file.name


@pytest.mark.filterwarnings("ignore")  # where it is installed, Lightning warns of what it sees
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_runs(file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPS", "10")
    runpy.run_path(str(file), run_name="__main__")
    assert capsys.readouterr().out.strip()
