"""The page of objectives says what the docstrings say."""

from pathlib import Path

from scripts import script

from unknot.core import registry

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_current():
    told = (DOCS / "objectives.md").read_text(encoding="utf-8")
    assert told == script("docs/objectives.py").page(), "run: python docs/objectives.py"
    for name in registry.names("objectives"):
        section = told.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert "$$" in section
        assert all(f"`{key}`" in section for key in registry.settings("objectives", name))
