"""Measure the column ``before``: what another version does with each row.

    git worktree add --detach /tmp/old 62a75d4
    PYTHONPATH=/tmp/old/src:tests python -m bad_inputs.measure [MODULE ...]

runs each row in a process of its own against the version that is on the path, prints what came of it,
and writes it into the row. Linux only.
"""

import ast
import importlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

import bad_inputs
from bad_inputs.rows import Bad
from bad_inputs.running import evaluate, type_words, words_of
from unknot.core.errors import UnknotError

LONGEST = 8
"""Seconds of a processor from which on a row hangs; it may wait for five times as long."""
MEMORY = 8 << 30
PRELOADED = (
    "unknot.cli.main",
    "unknot.runs.run",
    "unknot.study.store",
    "pandas",
    "matplotlib.pyplot",
)
"""Of either version, so that each process need not."""
ABSENT = ("No such command", "No such option", "no attribute", "unexpected keyword", "No module")
"""What is said where there is no such verb, option or function yet."""


def begin(row, run, files):
    """The run that rows name, written by the version on the path, and the files."""
    folder = run.parent
    np.savez(folder / "tiny.npz", images=np.zeros((16, 8, 8), np.uint8))
    bad_inputs.write_files(files)
    line = f"train --data arrays --set data.path={folder}/tiny.npz --net linear --steps 2 --batch 4"
    return type_words([*line.split(" "), "--device", "cpu", "--out", str(folder / "run")])


def type_row(row, run, files):
    """Run a command; its exit code."""
    return type_words(words_of(row, files, run))


def call(row, run, files):
    """Call what a row calls; 2 where it is refused as we refuse, else 0."""
    try:
        evaluate(row, run)
    except UnknotError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def wait_for(child):
    """How a process ended; it is killed where it waits too long."""
    begun = time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() - begun > 5 * LONGEST:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)


def in_a_child(function, row, run, files, file):
    """Run a row in a process of its own, with little time and memory; its exit code."""
    if child := os.fork():
        return wait_for(child)
    os.setsid()
    os.chdir(tempfile.mkdtemp())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (1, 2):
        os.dup2(file.fileno(), stream)
    sys.stdout = sys.stderr = os.fdopen(2, "w", errors="surrogateescape")
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    code = 70
    try:
        code = function(row, run, files)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def measure(row, run, files):
    """What comes of a row."""
    function, wanted = (type_row, row.code) if isinstance(row, Bad) else (call, 2)
    with tempfile.TemporaryFile() as file, tempfile.TemporaryDirectory() as place:
        copy = shutil.copytree(run, Path(place) / "run")  # another version may spoil it
        code = in_a_child(function, row, copy, files, file)
        file.seek(0)
        text = file.read().decode(errors="replace")
    if code < 0:
        return "hang"
    if any(words in " ".join(text.replace("│", " ").split()) for words in ABSENT):
        return "absent"
    if code not in (0, 1, 2, 130) or "Traceback" in text:
        return "traceback"
    if "\x1b" in text or (code == 0 and wanted):
        return "silent"
    return "" if code == wanted else "code"


def rows_of(tree):
    """The calls that make the rows of a module, in their order; None where one makes several."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id in ("COMMANDS", "CALLS"):
            yield (
                node.targets[0].id,
                [None if isinstance(each, ast.Starred) else each for each in node.value.elts],
            )


def rewrite(module, results):
    """Write results into the rows of a module: their third argument."""
    path = Path(module.__file__)
    lines = path.read_text(encoding="utf-8").split("\n")
    edits = []
    for name, nodes in rows_of(ast.parse("\n".join(lines))):
        if None in nodes:
            print(f"{path.name}: rows of {name} come from expressions; write them by hand")
            continue
        for node, result in zip(nodes, results[name], strict=True):
            last = node.args[min(len(node.args), 3) - 1]
            new = f'"{result}"' if len(node.args) > 2 else f', "{result}"'
            begin = last.col_offset if len(node.args) > 2 else last.end_col_offset
            edits.append((last.end_lineno, begin, last.end_col_offset, new))
    for line, begin, end, new in sorted(edits, reverse=True):  # offsets are of bytes
        data = lines[line - 1].encode()
        lines[line - 1] = (data[:begin] + new.encode() + data[end:]).decode()
    path.write_text("\n".join(lines), encoding="utf-8")


def main(names):
    """Measure the rows of some modules, or of all."""
    for module in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(module)
    folder = Path(tempfile.mkdtemp())
    run, files = folder / "run", folder / "files"
    files.mkdir()
    with tempfile.TemporaryFile() as file:
        assert in_a_child(begin, None, run, files, file) == 0
    parts = [importlib.import_module(f"bad_inputs.{name}") for name in names] or bad_inputs.PARTS
    for module in parts:
        results = {}
        for name in ("COMMANDS", "CALLS"):
            results[name] = [measure(row, run, files) for row in getattr(module, name, ())]
        rewrite(module, results)
        counts = Counter(result for some in results.values() for result in some)
        print(module.__name__, dict(counts), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
