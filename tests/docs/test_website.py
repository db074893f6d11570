"""Pages of the site: the navigation leads to each, and pictures have a text."""

import html
import re
from pathlib import Path

import pytest
from scripts import script

import unknot

ROOT = Path(__file__).parents[2]
website = script("tools/website.py")


def nav() -> list[str]:
    """Pages in the navigation, in order."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return re.findall(r"^ +- [^:\n]+: (\S+)$", text, re.MULTILINE)


def test_the_navigation_has_every_page_once():
    docs = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}
    assert len(docs) > 15
    assert sorted(nav()) == sorted(
        docs
        | {*website.COPIED.values(), "api.md", "gallery.md"}
        | {f"notebooks/{file.stem}.md" for file in website.notebooks.SCRIPTS}
    )


def test_pictures_have_a_text():
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]
    texts = [
        alt
        for page in pages
        for alt in re.findall(r"!\[([^\]]*)\]\(", page.read_text(encoding="utf-8"))
    ]
    assert len(texts) >= 7
    assert all(len(text.split()) >= 4 for text in texts)


@pytest.mark.parametrize(
    ("source", "link", "expected"),
    [
        ("docs/python.md", "(../examples)", "(notebooks.md)"),
        ("docs/data.md", "(../README.md#your-own-images)", "(overview.md#your-own-images)"),
        ("README.md", "(docs/data.md#labels)", "(data.md#labels)"),
        ("docs/results/own_data.md", "(../../CHANGELOG.md)", "(../changelog.md)"),
        ("docs/results/README.md", "(../metrics.md)", "(../metrics.md)"),
        (
            "docs/index.md",
            "(https://example.org/docs/data.md)",
            "(https://example.org/docs/data.md)",
        ),
    ],
)
def test_links_lead_to_the_same_place_in_the_site(source, link, expected):
    assert (
        website.LINK.sub(lambda m: website.moved(m, source=source), f"[x]{link}")
        == f"[x]{expected}"
    )


def test_the_page_of_the_api_has_every_public_name():
    named = re.findall(r"^::: ([\w.]+)$", website.api(), re.MULTILINE)
    assert {f"{home}.{name}" for name, home in unknot._HOMES.items()} < {*named}


def test_formulas_become_mathml_and_unknown_commands_are_noticed():
    drawn = website.MATHS.sub(website.mathml, r'a <span class="arithmatex">\(x^2\)</span> b')
    assert re.search(r'^a <math[^>]*display="inline"[^>]*>.*<msup>.*</math> b$', drawn)
    drawn = website.MATHS.sub(website.mathml, r'$<span class="arithmatex">\(x\)</span>$')
    assert 'display="block"' in drawn
    assert "$" not in drawn
    with pytest.raises(SystemExit, match="cannot express"):
        website.MATHS.sub(website.mathml, r'<div class="arithmatex">\[\unheardof x\]</div>')


def test_every_formula_can_be_drawn():
    files = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *website.notebooks.LESSONS]
    drawn = 0
    for file in files:
        text = re.sub(r"(?m)^# ?", "", file.read_text(encoding="utf-8"))
        text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        shown = re.findall(r"\$\$(.+?)\$\$", text, re.DOTALL)
        shown += re.findall(r"(?<![\\$\w])\$(?![\s$])([^$\n]*[^$\n\s])\$(?![$\d])", text)
        for tex in shown:
            formula = rf'<span class="arithmatex">\({html.escape(tex)}\)</span>'
            assert "<math" in website.MATHS.sub(website.mathml, formula), (file.name, tex)
            drawn += 1
    assert drawn > 200


def test_dead_links_and_foreign_files_are_noticed(tmp_path):
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html#y">b</a> <a href="#x">x</a>')
    (tmp_path / "b.html").write_text('<img src="https://example.org/c.png"><a href="c.html">c</a>')
    assert [*website.link_faults(tmp_path)] == [
        "a.html: b.html#y has no such place",
        "b.html fetches https://example.org/c.png",
        "b.html: c.html leads nowhere",
    ]
