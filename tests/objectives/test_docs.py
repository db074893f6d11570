"""The page of objectives says what the docstrings say."""

import importlib.util
from pathlib import Path

from unknot.core import registry

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_current():
    spec = importlib.util.spec_from_file_location("docs_objectives", DOCS / "objectives.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    told = (DOCS / "objectives.md").read_text(encoding="utf-8")
    assert told == script.page(), "run: python docs/objectives.py"
    for name in registry.names("objectives"):
        section = told.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert "$$" in section
        assert all(f"`{key}`" in section for key in registry.settings("objectives", name))
