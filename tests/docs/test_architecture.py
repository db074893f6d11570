"""The page of the architecture names files and layers that exist."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FILES = {str(path.relative_to(ROOT / "src" / "unknot")) for path in (ROOT / "src").rglob("*.*")}


def test_files_that_it_names_exist():
    named = re.findall(r"`([\w./]+\.(?:py|mplstyle))`", PAGE)
    assert len(named) > 30
    missing = [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in FILES)]
    assert missing == []


def test_layers_are_those_that_are_checked():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (
        contract["layers"]
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    drawn = PAGE.split("```")[1].strip().splitlines()
    names = [re.split(r"\s{2,}", line)[0].replace("unknot.", "") for line in drawn]
    assert names == [layer.replace("unknot.", "") for layer in layers]
