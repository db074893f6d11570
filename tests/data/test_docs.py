"""The page of the datasets says what their files say."""

from pathlib import Path

from scripts import script

from unknot.core import registry

DOCS = Path(__file__).parents[2] / "docs"


def test_the_comparison_with_pca_is_that_of_its_table():
    page = script("docs/own_data.py")
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "run: docs/own_data.py --page"


def test_the_page_is_current():
    told = (DOCS / "data.md").read_text(encoding="utf-8")
    assert told == script("docs/data.py").page(), "run: python docs/data.py"
    for name in registry.names("datasets"):
        if hasattr(registry.get("datasets", name), "published"):
            section = told.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
            assert all(f"`{key}`" in section for key in registry.settings("datasets", name))
