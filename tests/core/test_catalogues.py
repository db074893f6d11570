"""A catalogue folder holds catalogue entries and nothing else; helpers live in its ``parts``."""

from pathlib import Path

import pytest

import unknot
from unknot.core import registry


@pytest.mark.parametrize("room", registry.PACKAGES)
def test_every_file_of_a_catalogue_is_an_entry(room):
    folder = Path(unknot.__file__).parent / registry.PACKAGES[room].partition(".")[2]
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    folders = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
    assert files <= {*registry.names(room)}, f"move helpers of {room} to {folder / 'parts'}"
    assert folders <= {"parts"}
