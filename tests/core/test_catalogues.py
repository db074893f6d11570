"""A catalogue folder holds catalogue entries and nothing else; helpers live in its ``parts``."""

from pathlib import Path

import pytest

import unknot
from unknot.core import registry
from unknot.report.study import figures


@pytest.mark.parametrize("room", registry.PACKAGES)
def test_every_file_of_a_catalogue_is_an_entry(room):
    folder = Path(unknot.__file__).parent / registry.PACKAGES[room].partition(".")[2]
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    folders = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
    assert files <= {*registry.names(room)}, f"move helpers of {room} to {folder / 'parts'}"
    assert folders <= {"parts"}


def test_every_file_of_the_figures_is_one():
    """A figure of a study's page is found by its file, which says when it applies and draws it."""
    folder = Path(figures.__file__).parent
    assert not [path for path in folder.iterdir() if (path / "__init__.py").exists()]
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert files == {module.__name__.rpartition(".")[2] for module in figures.FILES}
    for module in figures.FILES:
        assert callable(module.draw), module
        assert callable(getattr(module, "applies", None) or module.over_datasets), module
