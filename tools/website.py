"""Build the documentation site in ``build/site``: ``make docs``; ``make docs-serve`` shows it.

Pages are the Markdown files of the repository, staged in ``build/pages`` with links that hold in
the site, the page of the Python API, the gallery and the notebooks. Formulas become MathML after
the build, which browsers draw by themselves: the site fetches nothing. Every link inside it is
checked.
"""

import argparse
import contextlib
import functools
import html
import http.server
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import gallery_page
import notebooks

ROOT = Path(__file__).parents[1]
PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
COPIED = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Pages outside ``docs``."""
LISTED = {"examples": "notebooks.md", "examples/lessons": "notebooks.md"}
"""Folders, and the page that lists what is in them."""
API = {
    "Train and load": ("train", "load", "resume", "Run", "Study", "study"),
    "Data": ("dataset", "Dataset", "FactorDataset", "FactorSpace"),
    "Scores": ("evaluate", "baselines", "Representation"),
    "Your own loop": ("Model", "total"),
    "Your own objective": (
        *("Objective", "Net", "Step", "Term", "Posterior", "Hyper"),
        *("MultiView", "Adversarial", "Batchwise", "Differencing", "Labelled", "Stateful"),
        *("ExtraState", "Carry"),
        *("Calibrated", "Recoding", "Note"),
    ),
    "Reconstruction through a module": ("features",),
    "Optimisers": ("Adam", "AdamW", "Adagrad", "RMSprop", "SGD"),
    "Errors": ("UnknotError",),
}
"""Public names of the package, in the order of the page."""
MODULES = {"Schedules": "unknot.schedules", "Scikit-learn": "unknot.api.sklearn"}
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#|data:)([^)\s#]*)(#[^)\s]*)?(\))")
MATHS = re.compile(
    r'(?P<lone>\$?)<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<tex>.*?)\\[)\]]</(?P=tag)>'
    r"(?P=lone)",
    re.DOTALL,
)
"""A formula. Dollars are left over where a line of a paragraph has two on each side."""


def stage() -> None:
    """Write all pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(ROOT / "CITATION.cff", PAGES)
    for source, target in COPIED.items():
        shutil.copy(ROOT / source, PAGES / target)
    origins = {target: source for source, target in COPIED.items()}
    for page in PAGES.rglob("*.md"):
        name = page.relative_to(PAGES).as_posix()
        move = functools.partial(moved, source=origins.get(name, f"docs/{name}"))
        page.write_text(LINK.sub(move, page.read_text(encoding="utf-8")), encoding="utf-8")
    (PAGES / "api.md").write_text(api(), encoding="utf-8")
    gallery_page.stage(PAGES)
    if missing := notebooks.stage(PAGES):
        print(f"Shown without outputs (`make notebooks` runs them): {', '.join(missing)}")


def moved(link: re.Match[str], *, source: str) -> str:
    """A link of a file of the repository, led to where its target is in the site."""
    path = os.path.normpath(Path(source).parent / link[2])
    target = COPIED.get(path) or LISTED.get(path) or path.removeprefix("docs/")
    if path in {file.relative_to(ROOT).as_posix() for file in notebooks.SCRIPTS}:
        target = f"{notebooks.FOLDER}/{Path(path).stem}.md"
    here = Path(COPIED.get(source) or source.removeprefix("docs/"))
    return f"{link[1]}{os.path.relpath(target, here.parent)}{link[3] or ''}{link[4]}"


def api() -> str:
    """The page of the Python API: a directive for each public name, which mkdocstrings fills in."""
    import unknot

    homes = unknot._HOMES
    if faults := set(homes) ^ {name for names in API.values() for name in names}:
        raise SystemExit(f"tools/website.py and unknot differ in: {', '.join(sorted(faults))}")
    parts = [
        "# API\n\nEvery public name of `unknot`, from its docstring. Catalogues have pages of "
        "their own: [objectives](objectives.md), [metrics](metrics.md), [datasets](data.md). "
        "[Python](python.md) shows how the names work together.\n"
    ]
    for title, names in API.items():
        parts += [f"## {title}\n", *(f"::: {homes[name]}.{name}\n" for name in names)]
    for title, module in MODULES.items():
        options = "    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n"
        parts.append(f"## {title}\n\n::: {module}\n{options}")
    return "\n".join(parts)


def build() -> None:
    """Build the site strictly, draw its formulas and check its links."""
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    if code := subprocess.run(command, cwd=ROOT).returncode:
        raise SystemExit(code)
    for page in SITE.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(MATHS.sub(mathml, text), encoding="utf-8")
    if faults := [*link_faults(SITE)]:
        raise SystemExit("\n".join(faults))


def mathml(formula: re.Match[str]) -> str:
    """A formula as browsers draw it."""
    from latex2mathml.converter import convert

    tex = html.unescape(formula["tex"]).strip()
    # Sizes are left to the browser; one name is unknown to the converter.
    known = {r"\tfrac": r"\frac", r"\dfrac": r"\frac", r"\textstyle": ""}
    for ours, theirs in {**known, r"\arg\min": r"\operatorname{arg\,min}"}.items():
        tex = tex.replace(ours, theirs)
    tex = re.sub(r"\\(mathcal|mathbb|mathrm) (\w)", r"\\\1{\2}", tex)
    lone = formula["lone"] or formula["tag"] == "div"
    drawn = convert(tex, display="block" if lone else "inline")
    if re.search(r"<m\w+>\\[a-zA-Z]", drawn):
        raise SystemExit(f"MathML cannot express: {tex}")
    return drawn


class Links(HTMLParser):
    """Addresses that a page names, what it would fetch from elsewhere, and the ids that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids |= {value for key in ("id", "name") if (value := found.get(key))}
        for address in filter(None, (found.get("href"), found.get("src"))):
            self.links.append(address)
            if tag != "a" and re.match(r"(https?:)?//", address):
                self.fetched.append(address)


def link_faults(site: Path) -> Iterator[str]:
    """Links that lead nowhere, and what a page would fetch from elsewhere."""
    pages = {}
    for path in sorted(site.resolve().rglob("*.html")):
        if path.name != "404.html":  # whose links are those of the address that was asked for
            pages[path] = parser = Links()
            parser.feed(path.read_text(encoding="utf-8"))
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
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


def serve(port: int) -> None:
    """Show the site to this machine alone."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/ (Ctrl-C stops)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def main() -> None:
    """Build the site, and serve it if asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--serve", type=int, metavar="PORT", help="show the site on 127.0.0.1")
    port = parser.parse_args().serve
    stage()
    build()
    if port is not None:
        serve(port)


if __name__ == "__main__":
    main()
