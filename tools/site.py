"""Build the documentation site: ``make docs``, or ``python tools/site.py``.

Pages are the Markdown files of the repository. Staged in ``build/pages`` they get links that hold in
the site, pictures of the gallery, executed notebooks and the pages that are generated. Zensical builds
``build/site`` from them. Formulas then become MathML, which browsers draw by themselves, and every
link inside the site is checked.
"""

import argparse
import html
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import api
import notebooks
from latex2mathml.converter import convert
from PIL import Image

from unknot.core import registry

ROOT = Path(__file__).parents[1]
PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
COPIED = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CITATION.cff": "CITATION.cff",
}
"""Files outside ``docs`` that become pages or downloads."""
ELSEWHERE = {"README.md": "index.md", "examples": "tutorials/index.md"}
"""What links to these means in the site."""
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#|data:)([^)\s#]*)(#[^)\s]*)?(\))")
SHEET = {"across": 5, "apart": 22, "head": 58, "margin": 12}
MATHS = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<tex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


def stage(*, run: bool) -> None:
    """Write all pages; ``run`` executes notebooks whose outputs are not there."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for source, target in COPIED.items():
        shutil.copy(ROOT / source, PAGES / target)
    for page in PAGES.rglob("*.md"):
        source = _source(page)
        text = LINK.sub(lambda link, at=source: _link(link, at), page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")
    strips = gallery_strips(ROOT / "docs" / "pictures" / "gallery.png", PAGES / "pictures")
    objectives = PAGES / "objectives.md"
    objectives.write_text(
        with_pictures(objectives.read_text(encoding="utf-8"), strips), encoding="utf-8"
    )
    (PAGES / "api.md").write_text(api.page(), encoding="utf-8")
    notebooks.write_pages(PAGES / "tutorials", run=run)


def _source(page: Path) -> str:
    """Where a staged page lies in the repository."""
    inside = page.relative_to(PAGES).as_posix()
    outside = {target: source for source, target in COPIED.items()}
    return outside.get(inside, f"docs/{inside}")


def _link(link: re.Match[str], source: str) -> str:
    """A link of a page, led to where its target is in the site."""
    path = os.path.normpath(Path(source).parent / link[2])
    target = COPIED.get(path) or ELSEWHERE.get(path) or path.removeprefix("docs/")
    here = COPIED.get(source) or source.removeprefix("docs/")
    anchor = "" if path in ELSEWHERE else link[3] or ""
    return f"{link[1]}{os.path.relpath(target, Path(here).parent)}{anchor}{link[4]}"


def gallery_strips(sheet: Path, folder: Path) -> dict[str, str]:
    """Cut the picture of ``unknot gallery`` into one picture for each objective, by name."""
    names = registry.names("objectives")
    with Image.open(sheet) as picture:
        page = picture.convert("RGB")
    across, apart, head, margin = SHEET.values()
    down = -(-len(names) // across)
    width = (page.width - 2 * margin - (across - 1) * apart) // across
    height = (page.height - 2 * margin - (down - 1) * apart) // down - head
    files = {}
    for i, name in enumerate(names):
        left = margin + (i % across) * (width + apart)
        top = margin + (i // across) * (height + head + apart) + head
        data = io.BytesIO()
        page.crop((left, top, left + width, top + height)).save(data, "png")
        (folder / f"objective_{name}.png").write_bytes(data.getvalue())
        files[name] = f"pictures/objective_{name}.png"
    return files


def with_pictures(text: str, pictures: dict[str, str]) -> str:
    """The page of objectives with a picture below the first line of each."""
    for name, path in pictures.items():
        alt = f"Traversals of five latents of {name} after 2,000 steps on dSprites, one row each"
        text, found = re.subn(
            rf"(^## {name}\n\n.*?\n)(?=\n)",
            lambda m, alt=alt, path=path: f"{m[1]}\n![{alt}]({path}){{ .strip }}\n",
            text,
            count=1,
            flags=re.MULTILINE | re.DOTALL,
        )
        if not found:
            raise SystemExit(f"docs/objectives.md has no section {name}.")
    return text


def build() -> None:
    """Build the site strictly, draw its formulas and check its links."""
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    subprocess.run(command, cwd=ROOT, check=True)
    for page in SITE.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(MATHS.sub(_mathml, text), encoding="utf-8")
    if faults := [*link_faults(SITE), *nav_faults()]:
        raise SystemExit("\n".join(faults))


def _mathml(formula: re.Match[str]) -> str:
    display = "block" if formula["tag"] == "div" else "inline"
    tex = html.unescape(formula["tex"]).strip()
    # The converter knows these by other names.
    for ours, theirs in {r"\tfrac": r"\frac", r"\dfrac": r"\frac", r"\textstyle": ""}.items():
        tex = tex.replace(ours, theirs)
    drawn = convert(tex, display=display)
    if r"\\" in drawn or re.search(r"<m\w+>\\[a-zA-Z]", drawn):
        raise SystemExit(f"MathML cannot express: {tex}")
    return drawn


class _Links(HTMLParser):
    """Addresses that a page names, and the ids that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids |= {value for key in ("id", "name") if (value := found.get(key))}
        for key in ("href", "src"):
            if not (address := found.get(key)):
                continue
            self.links.append(address)
            if re.match(r"(https?:)?//", address) and (
                tag != "a" and found.get("rel") != "canonical"
            ):
                self.fetched.append(address)


def link_faults(site: Path) -> Iterator[str]:
    """Links that lead nowhere, and what a page would fetch from elsewhere."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path.resolve()] = parser = _Links()
        parser.feed(path.read_text(encoding="utf-8"))
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        if here.name == "404.html":
            continue
        yield from (f"{here} fetches {address}" for address in page.fetched)
        for address in page.links:
            if re.match(r"[a-z]+:|//", address):
                continue
            file, _, anchor = unquote(address).partition("#")
            target = (path.parent / file).resolve() if file else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{here}: {address} leads nowhere"
            elif anchor and target in pages and anchor not in pages[target].ids:
                yield f"{here}: {address} has no such place"


def nav_faults() -> Iterator[str]:
    """Pages that no entry of the navigation leads to."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"(\S+\.md)$", text, re.MULTILINE))
    for page in sorted(PAGES.rglob("*.md")):
        name = page.relative_to(PAGES).as_posix()
        if name not in named:
            yield f"{name} is not in the nav of mkdocs.yml"


def main() -> None:
    """Build the site."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--no-run", action="store_true", help="show notebooks without outputs that are not there"
    )
    stage(run=not parser.parse_args().no_run)
    build()


if __name__ == "__main__":
    main()
