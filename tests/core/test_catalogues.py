"""A catalogue folder holds catalogue entries and nothing else; helpers live in its ``parts``."""

import ast
import re
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


ROOMS = ("objectives", "nets", "samplers", "datasets")
GIVEN = {"memory", "modules"}
"""What stands for objects of the user's; nobody makes one."""


@pytest.mark.parametrize(
    ("room", "name"),
    [(room, name) for room in ROOMS for name in registry.names(room) if name not in GIVEN],
)
def test_every_class_shows_how_it_is_used(room, name):
    """Its example is a call, and makes such an object, or reads a dataset with its settings."""
    kind = registry.get(room, name)
    examples = re.findall(r"^    Example: `(.*)`$", kind.__doc__, re.MULTILINE)
    assert len(examples) == 1, "add a line to its docstring: Example: `unknot.train(...)`"
    call = ast.parse(examples[0], mode="eval").body
    assert ast.unparse(call.func) in ("unknot.train", "unknot.dataset")
    ours = [
        inner
        for inner in ast.walk(call)
        if isinstance(inner, ast.Call) and ast.unparse(inner.func).endswith(f".{kind.__name__}")
    ]
    if not ours:  # of the user's own files
        settings = {keyword.arg for keyword in call.keywords} - {"signals"}
        assert settings <= {*registry.settings(room, name)}
        return
    modules = {module: getattr(unknot, module) for module in ("schedules", "data", *ROOMS[:3])}
    assert type(eval(ast.unparse(ours[0]), modules)) is kind


def test_every_file_of_the_figures_is_one():
    """A figure of a study's page is found by its file, which says when it applies and draws it."""
    folder = Path(figures.__file__).parent
    assert not [path for path in folder.iterdir() if (path / "__init__.py").exists()]
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert files == {module.__name__.rpartition(".")[2] for module in figures.FILES}
    for module in figures.FILES:
        assert callable(module.draw), module
        assert callable(getattr(module, "applies", None) or module.over_datasets), module
