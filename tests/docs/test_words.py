"""Words that we no longer use, in everything that a user reads: docs, help, messages, captions.

A retired word is ambiguous or needs to be guessed. To retire another one, add it to `RETIRED`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "unknot"

RETIRED = {
    # what we say instead
    "estimated": r"\breckon(s|ed|ing)?\b",
    "resume, continue": r"\bgo(es|ing)? on\b(?! (a|an|the|one|each)\b)|\bhalfway\b",
    "could not write": r"\bdisk refused\b",
    "sampler, sample": r"\b(a|an|the|our|this|each|another|one|its|both|other) draws?\b(?!`)",
    "sampled again": r"\banew\b",
    "traversal": r"\bwalk(s|ed|ing)?\b",
    "out of distribution": r"\bstrange(r|st)?\b",
    "finished": r"\bended well\b|\bgot there well\b",
    "probability of being best again": r"(?<!is )(?<!being )\bbest again\b",
    "compare with": r"\b(hold|held|holds) (it |them |these |this )?against\b",
    "use --flag": r"\b[Ss]ay --",
    "study extract": r"\bstudy take\b",
    "--backend": r"(?<!\w)--on (ray|slurm|local)\b|(?<!\w)--with (NAME|address|partition)\b",
    "im2col": r"\bway of windows\b|\bgathered windows\b|\bwindows and batched\b",
    "configuration": r"\b(best|worst|which of two|of two) settings?\b"
    r"|\b(seeds?|models?|runs?) of (each|every|one|a|this|which) settings?\b"
    r"|\bobjective or setting\b",
    "swept value": r"\b(best|worst|which|weakest|all|six|swept) strengths?\b"
    r"|\bstrengths? (is|are) best\b",
    "which images form a pair or triplet": r"\b(views?|images?|rows?) (that )?go(es)? together\b",
    "nuisance variants": r"\bnuisance versions?\b|\bversions? of (a|the|each) nuisance",
    "dead latent": r"\b(dead|pruned|active|live) (codes?|units)\b(?<!Active units)",
    "metric (the function)": r"\bthere is no score '|\bnames? of scores?\b"
    r"|\b(all|every|each) scores? (that|which) (applies|apply|learns?|decodes?)\b"
    r"|\| scores? \| (protocol|`)",
    "compared with": r"\bbeside (the )?(published|means?|standard errors?|those|ours)\b",
    "lower is better": r"\bless is\b",
    "uncertain": r"\bcoin toss\b|\bpale cell\b",
    "biased upwards": r"\btoo good\b",
    "the seed matters more": r"\blucky seed\b|\boutweighs\b",
    "cannot reconstruct, is restored": r"\b(comes?|came|coming) back\b",
    "cannot express": r"\bcannot stand in\b",
    "an upper bound on": r"\bsays about an image\b",
    "seeds per configuration": r"\bseeds, at most\b",
    "random seed for": r"\bof everything (drawn|the scores draw)\b",
}
"""Patterns of retired words, by what to write instead."""

PENDING: dict[str, set[str]] = {}
"""Words that still have to be replaced, by path. An entry that is no longer needed fails."""


def where(path: Path) -> str:
    """A file by its path in the repository: names such as ``page.py`` occur more than once."""
    return path.relative_to(ROOT).as_posix()


def found(text: str) -> set[str]:
    """The retired words in a text, by what to write instead."""
    flat = " ".join(text.split())
    return {name for name, pattern in RETIRED.items() if re.search(pattern, flat, re.IGNORECASE)}


def page_text(path: Path) -> str:
    """A page as people read it: a template without its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        code = r"<style.*?</style>|<script.*?</script>|\{[%#].*?[%#]\}|\{\{.*?\}\}"
        text = re.sub(code, "", text, flags=re.DOTALL)
    if path.suffix == ".toml":
        text = " ".join(re.findall(r"#(.*)", text))
    return text


def docstrings(node: ast.AST, public: bool = True) -> Iterator[tuple[ast.Constant, bool]]:
    """Texts that stand alone in a module, and whether they belong to public names."""
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            yield child.value, public
        hidden = named and child.name.startswith("_") and not child.name.startswith("__")
        yield from docstrings(child, public and not hidden)


def sentences(path: Path) -> list[str]:
    """Strings of a module that are more than one word; of docstrings those of public names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(text) for text, public in docstrings(tree) if not public}
    kept: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "{}" for p in node.values]
            kept.append("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            kept.append(node.value)
    # Streams of random numbers have names such as "metric/walk x", which seeds depend on.
    return [text for text in kept if " " in text.strip() and not text.startswith("metric/")]


def help_texts() -> dict[str, str]:
    """The help of every command, by its name."""
    import typer

    from unknot.cli.main import app

    texts = {}

    def visit(command, name: str) -> None:
        parts = [command.help or "", command.epilog or "", command.short_help or ""]
        parts += [getattr(option, "help", None) or "" for option in command.params]
        texts[name] = "\n".join(parts)
        for sub, child in getattr(command, "commands", {}).items():
            visit(child, f"{name} {sub}")

    visit(typer.main.get_command(app), "unknot")
    return texts


PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("docs/results/*.md")),
    *sorted(SOURCE.rglob("*.html")),
    *sorted(SOURCE.rglob("*.toml")),
]
MODULES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", PAGES, ids=where)
def test_pages_use_no_retired_word(path):
    assert found(page_text(path)) == PENDING.get(where(path), set())


def test_messages_and_captions_use_no_retired_word():
    used = {where(path): found("\n".join(sentences(path))) for path in MODULES}
    assert len(used) == len(MODULES)
    used = {name: words for name, words in used.items() if words}
    pages = {where(path) for path in PAGES}
    assert used == {name: words for name, words in PENDING.items() if name not in pages}


def test_help_uses_no_retired_word():
    texts = help_texts()
    assert len(texts) > 20
    assert "unknot study extract" in texts
    assert {name: found(text) for name, text in texts.items() if found(text)} == {}


def test_each_pattern_finds_what_it_retires():
    """So that a typing error in a pattern does not switch it off."""
    retired = """
    are reckoned to take seven hours. Go on with: unknot study run. The disk refused. A draw is
    bound once. Seeds drawn anew. It walks along a factor. Strange inputs. Runs that ended well.
    best again | worst setting. Runs to hold against. Say --update. unknot study take. --on ray.
    They take the way of windows. Of recon less is. A pale cell is a coin toss. Its mean is a
    little too good. A lucky seed outweighs it. Images do not come back. It cannot stand in a file.
    What the code says about an image. Seeds, at most. Of everything the scores draw. The strengths
    are best. Views that go together. Nuisance versions. Dead codes. There is no score 'x'. Ours
    beside published ones.
    """
    assert RETIRED.keys() == found(retired)
