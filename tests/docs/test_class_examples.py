"""Every class that is offered shows in its docstring how it is used."""

import ast
import re

import pytest

import unknot
from unknot.core import registry

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
