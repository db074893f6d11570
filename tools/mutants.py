"""Plant random faults, one at a time, and see whether the tests find them.

    python tools/mutants.py --count 200 --seed 0 --out mutants.json

A mutant is one small change of one expression: a swapped operator or comparison, another constant,
a reduction or an axis exchanged. It is planted in a copy of the repository; first the tests of the
file run, then those of its room. What no test finds is listed: a person judges whether it changes
anything that a user could notice. A run that is stopped continues where it was.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("objectives", "metrics", "analysis")
TESTS = {
    "objectives": ["tests/objectives", "tests/contracts/test_objectives.py"],
    "metrics": ["tests/metrics"],
    "analysis": ["tests/analysis"],
}
"""What runs where the tests of a file found nothing."""
OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.FloorDiv: "*",
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
    ast.And: "or", ast.Or: "and", ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
NAMES = {
    "mean": "sum", "sum": "mean", "min": "max", "max": "min", "argmax": "argmin",
    "argmin": "argmax", "exp": "expm1", "log": "log1p", "any": "all", "all": "any",
    "var": "std", "std": "var", "ceil": "floor", "floor": "ceil", "amax": "amin", "amin": "amax",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one expression."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str


def mutants(file: Path) -> Iterator[Mutant]:
    """All changes of a file that the rules above allow."""
    text = file.read_text(encoding="utf-8")
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    data = text.encode()
    name = str(file.relative_to(ROOT))

    def change(node: ast.AST, start: int, end: int, after: str) -> Mutant:
        return Mutant(name, node.lineno, start, end, data[start:end].decode(), after)

    def place(node: ast.expr) -> tuple[int, int]:
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
        )

    def between(left: ast.expr, right: ast.expr, after: str) -> Iterator[Mutant]:
        start, end = place(left)[1], place(right)[0]
        gap = data[start:end].decode()
        word = gap.strip(" ()\n")
        if word and "#" not in gap and gap.count(word) == 1:
            at = start + gap.index(word)
            yield change(left, at, at + len(word), after)

    def of(node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            yield from between(node.left, node.right, OPERATORS[type(node.op)])
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
            yield from between(node.left, node.comparators[0], OPERATORS[type(node.ops[0])])
        elif isinstance(node, ast.BoolOp):
            yield from between(node.values[0], node.values[1], OPERATORS[type(node.op)])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            start, _ = place(node)
            yield change(node, start, place(node.operand)[0], "")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            after = {0: "1", 1: "2"}.get(node.value, f"({node.value!r} * 2 + 1)")
            yield change(node, *place(node), after)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield change(node, *place(node), str(not node.value))
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            _, end = place(node)
            yield change(node, end - len(node.attr), end, NAMES[node.attr])

    def walk(node: ast.AST) -> Iterator[Mutant]:
        # Messages, annotations and facts for people are no mathematics.
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
            return
        yield from of(node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child)

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            for child in node.body:
                yield from walk(child)


def found(mutant: Mutant, tree: Path, limit: float) -> str:
    """The test that fails with a mutant, ``timeout``, or nothing."""
    file = tree / mutant.file
    data = file.read_bytes()
    changed = data[: mutant.start] + mutant.after.encode() + data[mutant.end :]
    file.write_bytes(changed)
    room = Path(mutant.file).parts[2]
    own = [
        str(path.relative_to(tree))
        for path in sorted((tree / "tests" / room).glob(f"test_{file.stem}*.py"))
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree / 'tests'}",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--tb=no"]
    try:
        for tests in filter(None, (own, TESTS[room])):
            run = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *tests],
                cwd=tree,
                env=environment,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
            if run.returncode not in (0, 5):
                lines = run.stdout.splitlines()
                return next((li for li in lines if li.startswith(("FAILED", "ERROR"))), "failed")
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        file.write_bytes(data)
    return ""


def main() -> None:
    """Plant, test, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("mutants.json"))
    parser.add_argument("--limit", type=float, default=900.0, help="Seconds for one test run.")
    given = parser.parse_args()
    files = [f for room in ROOMS for f in sorted((ROOT / "src/unknot" / room).rglob("*.py"))]
    every = [mutant for file in files for mutant in mutants(file)]
    chosen = random.Random(given.seed).sample(every, min(given.count, len(every)))
    print(f"{len(chosen)} of {len(every):,} mutants, seed {given.seed}")
    known = json.loads(given.out.read_text()) if given.out.exists() else []
    done = {json.dumps(row["mutant"], sort_keys=True): row for row in known}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        skip = shutil.ignore_patterns(".git", ".venv", "runs", "studies", ".*_cache", "__pycache__")
        shutil.copytree(ROOT, tree, ignore=skip)
        if (shared := ROOT.parent / "shared").exists():
            (Path(folder) / "shared").symlink_to(shared)
        for number, mutant in enumerate(chosen, 1):
            key = json.dumps(asdict(mutant), sort_keys=True)
            if key not in done:
                begun = time.monotonic()
                test = found(mutant, tree, given.limit)
                seconds = round(time.monotonic() - begun, 1)
                done[key] = {"mutant": asdict(mutant), "found": test, "seconds": seconds}
                given.out.write_text(json.dumps([*done.values()], indent=1))
            row = done[key]
            where = f"{mutant.file}:{mutant.line} {mutant.before!r} -> {mutant.after!r}"
            print(f"{number:>4} {'found   ' if row['found'] else 'SURVIVED'} {where}", flush=True)
    rows = [done[json.dumps(asdict(mutant), sort_keys=True)] for mutant in chosen]
    print(f"{sum(bool(row['found']) for row in rows)} of {len(rows)} found")


if __name__ == "__main__":
    main()
