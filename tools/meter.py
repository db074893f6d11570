"""Measure the size of the package: code lines, modules, modules with one importer.

    python tools/meter.py [SRC]

A code line is a line with code on it: no docstring, blank, comment or import. An ``__init__.py``
that holds one docstring counts as a package, not as a module. Modules with exactly one importer are
candidates for joining it; catalogue entries are found by name and have none.
Riddles are names that are participles, prepositions or pronouns: a reader has to guess what was
`found`, or what `one` is one of. Methods that read as a sentence (`schedule.at(t)`) count as well.
"""

import argparse
import ast
from collections import Counter
from pathlib import Path

RIDDLES = (
    "asked begun beside chosen drawn found given heard held kept known made meant own said shown "
    "spent taken told wanted written at each every here of one whole"
)


def code_lines(text: str) -> int:
    """Lines of code of a module's text."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        text_alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            text_alone and isinstance(node.value.value, str)
        ):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(
        1 for n, line in lines if n not in skipped and line.strip() and line.strip()[0] != "#"
    )


def is_package_text(path: Path, text: str) -> bool:
    """Whether a module is an ``__init__.py`` with a docstring at most."""
    return path.name == "__init__.py" and not code_lines(text) and "import" not in text


def imports(text: str, modules: set[str]) -> set[str]:
    """The modules of the package that a module's text imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
    return names & modules


def riddles(text: str) -> int:
    """How often a module names something by a word that is no noun and no verb."""
    names = [
        node.id
        if isinstance(node, ast.Name)
        else node.arg
        if isinstance(node, ast.arg)
        else node.name
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        or isinstance(node, ast.arg | ast.FunctionDef | ast.ClassDef)
    ]
    words = RIDDLES.split(" ")
    return sum(name.strip("_").lower() in words for name in names)


def main() -> None:
    """Print the sizes of a package's rooms and in all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("src", type=Path, nargs="?", default=Path(__file__).parents[1] / "src")
    src = parser.parse_args().src
    texts = {
        ".".join(path.relative_to(src).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(src.rglob("*.py"))
    }
    read = {name: path.read_text(encoding="utf-8") for name, path in texts.items()}
    importers = Counter(m for text in read.values() for m in imports(text, {*read}))
    rooms: dict[str, list[int]] = {}
    for name, text in read.items():
        room = name.split(".")[1] if name.count(".") else "(top)"
        sizes = rooms.setdefault(room, [0, 0, 0, 0, 0, 0])
        package = is_package_text(texts[name], text)
        for place, size in enumerate(
            (
                code_lines(text),
                not package,
                package,
                importers[name] == 1,
                text.count("type: ignore"),
                riddles(text),
            )
        ):
            sizes[place] += size
    heads = ("code lines", "modules", "packages", "one importer", "type: ignore", "riddles")
    print(f"{'room':<14}" + "".join(f"{head:>14}" for head in heads))
    for room, sizes in [
        *sorted(rooms.items()),
        ("all", [sum(c) for c in zip(*rooms.values(), strict=True)]),
    ]:
        print(f"{room:<14}" + "".join(f"{size:>14,}" for size in sizes))


if __name__ == "__main__":
    main()
