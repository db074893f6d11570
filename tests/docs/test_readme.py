"""The README on a package index: its links lead to the repository."""

import importlib.util
import re
import tomllib
from pathlib import Path

from unknot import metrics
from unknot.core import registry

TOP = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("readme", TOP / "tools" / "readme.py")
readme = importlib.util.module_from_spec(spec)
spec.loader.exec_module(readme)


def test_relative_links_become_absolute_and_others_stay():
    text = "![a](docs/a.png) [b](docs/b.md#c) [d](https://e.org/f) [g](#h)"
    assert readme.absolute_links(text, "") == text
    assert readme.absolute_links(text, "https://e.org/unknot") == (
        "![a](https://e.org/unknot/raw/main/docs/a.png) "
        "[b](https://e.org/unknot/blob/main/docs/b.md#c) [d](https://e.org/f) [g](#h)"
    )


def test_every_link_of_the_readme_leads_to_a_file():
    text = (TOP / "README.md").read_text(encoding="utf-8")
    links = [link["path"] for link in readme.LINK.finditer(text)]
    assert len(links) > 10
    assert [link for link in links if not (TOP / link.partition("#")[0]).exists()] == []
    absolute = readme.absolute_links(text, "https://e.org/unknot")
    assert not readme.LINK.search(absolute)
    assert len(re.findall(r"\]\(https://e\.org/unknot/(?:raw|blob)/main/", absolute)) == len(links)


def test_the_build_has_the_hook_and_one_place_for_the_address():
    build = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    assert "readme" in build["project"]["dynamic"]
    hook = build["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    assert (TOP / hook["path"]).samefile(readme.__file__)
    assert re.fullmatch(r"(https://\S+)?", hook["address"])


def test_the_readme_counts_what_is_there():
    text = (TOP / "README.md").read_text(encoding="utf-8")
    names = registry.names("metrics")
    protocols = {protocol for name in names for protocol in getattr(metrics, name).protocols}
    assert f"trains {len(registry.names('objectives'))} objectives" in text
    assert f"computes {len(names)} metrics" in text
    assert f"| metrics | {len(names)}, " in text
    assert f"| metric protocols | {len(protocols)}, " in text
