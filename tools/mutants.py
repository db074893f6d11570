"""Plant random faults, one at a time, and see whether the tests find them.

    python tools/mutants.py --count 200 --seed 0 --out mutants.json

A mutant is one small change of one expression: a swapped operator or comparison, another constant,
a reduction or an axis exchanged. It is planted in a copy of the repository. Each test file runs
once without a mutant, which shows the functions that it reaches; with a mutant, only the files run
that reach its function: those of its name and the quickest first, up to a number of seconds, and
without the slow tests. What no test finds is listed: a person judges whether it changes anything
that a user could notice. A run that is stopped continues where it was.
"""

import argparse
import ast
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

# Once for all test runs, which are forks of this process.
import pandas as pd  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import sklearn.linear_model  # noqa: F401
import torch

ROOT = Path(__file__).parents[1]
ROOMS = ("objectives", "metrics", "analysis")
TESTS = ("tests/objectives", "tests/metrics", "tests/analysis", "tests/contracts")
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
    """One change of one expression, and the line of the function that it is in."""

    file: str
    function: int
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
        return Mutant(name, function, node.lineno, start, end, data[start:end].decode(), after)

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
            function = min(n.lineno for n in (node, *node.decorator_list))
            for child in node.body:
                yield from walk(child)


def run_tests(
    tree: Path,
    tests: list[str],
    limit: float,
    trace: Callable[[], AbstractContextManager] | None = None,
) -> tuple[int | None, str]:
    """The exit code of pytest on these files in a fork, and its output; no code after the limit."""
    log = tree.parent / "log"
    pid = os.fork()
    if not pid:
        code = 70
        try:
            os.setsid()
            stream = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
            os.dup2(stream, 1)
            os.dup2(stream, 2)
            os.chdir(tree)
            sys.path[:0] = [str(tree / "src"), str(tree / "tests")]
            with trace() if trace else contextlib.nullcontext():
                options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--tb=no"]
                code = int(pytest.main([*options, *tests]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + limit
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), log.read_text(errors="replace")
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None, ""
        time.sleep(0.02)


def functions_reached(tree: Path, test: str, limit: float) -> dict:
    """The seconds that a test file takes, and the functions (file and line) that it calls."""
    out = tree.parent / "reached"

    @contextlib.contextmanager
    def trace() -> Iterator[None]:
        codes = set()

        def note(frame: FrameType, _event: str, _argument: object) -> None:
            codes.add(frame.f_code)

        threading.settrace(note)
        sys.settrace(note)
        yield
        sys.settrace(None)
        source = str(tree / "src")
        places = {
            (c.co_filename, c.co_firstlineno) for c in codes if c.co_filename.startswith(source)
        }
        out.write_text(json.dumps([[str(Path(f).relative_to(tree)), n] for f, n in sorted(places)]))

    start = time.monotonic()
    code, log = run_tests(tree, [test], limit, trace)
    if code not in (0, 5):
        sys.exit(f"{test} fails without a mutant:\n{log}")
    seconds = round(time.monotonic() - start, 1)
    return {"seconds": seconds, "functions": json.loads(out.read_text())}


def test_that_fails(mutant: Mutant, tree: Path, reach: dict, most: float, limit: float) -> str:
    """The test that fails with a mutant, ``timeout``, or nothing."""
    function = [mutant.file, mutant.function]
    tests = [test for test, row in reach.items() if function in row["functions"]]
    stem = Path(mutant.file).stem
    tests.sort(key=lambda t: (not Path(t).stem.startswith(f"test_{stem}"), reach[t]["seconds"]))
    spent = itertools.accumulate(reach[t]["seconds"] for t in tests)
    tests = [
        t for i, (t, total) in enumerate(zip(tests, spent, strict=True)) if not i or total < most
    ]
    if not tests:
        return ""
    file = tree / mutant.file
    data = file.read_bytes()
    file.write_bytes(data[: mutant.start] + mutant.after.encode() + data[mutant.end :])
    try:
        code, log = run_tests(tree, tests, limit)
    finally:
        file.write_bytes(data)
    if code is None:
        return "timeout"
    if code in (0, 5):
        return ""
    lines = log.splitlines()
    return next((li for li in lines if li.startswith(("FAILED", "ERROR"))), "failed")


def main() -> None:
    """Plant, test, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("mutants.json"))
    parser.add_argument("--most", type=float, default=100.0, help="Seconds of tests for a mutant.")
    parser.add_argument("--limit", type=float, default=900.0, help="Seconds for one test run.")
    options = parser.parse_args()
    files = [f for room in ROOMS for f in sorted((ROOT / "src/unknot" / room).rglob("*.py"))]
    every = [mutant for file in files for mutant in mutants(file)]
    sample = random.Random(options.seed).sample(every, min(options.count, len(every)))
    print(f"{len(sample)} of {len(every):,} mutants, seed {options.seed}")
    state = {"reach": {}, "verdicts": {}}
    if options.out.exists():
        state = json.loads(options.out.read_text())
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        shutil.copy(ROOT / "pyproject.toml", tree)
        for name in ("src", "tests", "docs", "bench"):
            shutil.copytree(ROOT / name, tree / name)
        if (shared := ROOT.parent / "shared").exists():
            (Path(folder) / "shared").symlink_to(shared)
        os.environ["PYTHONPATH"] = f"{tree / 'src'}{os.pathsep}{tree / 'tests'}"
        # Without the checks of shapes: what is found is found by a test of a value.
        os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "UNKNOT_SHAPES": "0"}
        sys.dont_write_bytecode = True
        names = [f for t in TESTS for f in sorted((tree / t).rglob("test_*.py"))]
        for test in [str(name.relative_to(tree)) for name in names]:
            if test not in state["reach"]:
                state["reach"][test] = functions_reached(tree, test, options.limit)
                options.out.write_text(json.dumps(state))
        print(f"{sum(row['seconds'] for row in state['reach'].values()):.0f} s without a mutant")
        for number, mutant in enumerate(sample, 1):
            key = json.dumps(asdict(mutant), sort_keys=True)
            if key not in state["verdicts"]:
                test = test_that_fails(mutant, tree, state["reach"], options.most, options.limit)
                state["verdicts"][key] = test
                options.out.write_text(json.dumps(state))
            test = state["verdicts"][key]
            where = f"{mutant.file}:{mutant.line} {mutant.before!r} -> {mutant.after!r}"
            print(f"{number:>4} {'found   ' if test else 'SURVIVED'} {where} {test}", flush=True)
    verdicts = [state["verdicts"][json.dumps(asdict(mutant), sort_keys=True)] for mutant in sample]
    print(f"{sum(map(bool, verdicts))} of {len(verdicts)} found")


if __name__ == "__main__":
    main()
