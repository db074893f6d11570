"""The page about scores says what the code does."""

from pathlib import Path

from unknot.core import registry
from unknot.metrics import protocols

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def scores() -> str:
    lines = [
        f"| `{name}` | {registry.summary('metrics', name)} |" for name in registry.names("metrics")
    ]
    return "\n".join(["| name | what it is |", "|---|---|", *lines])


def test_the_tables_are_current():
    """Made by the two functions; where this fails, put their new output in."""
    text = PAGE.read_text(encoding="utf-8")
    assert scores() in text
    assert protocols.table().strip() in text
