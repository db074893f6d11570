"""One way to do what may go wrong: reading what others wrote, and printing what they named."""

import ast
from pathlib import Path

import pytest

import unknot

SOURCE = Path(unknot.__file__).parent
READS = {
    "core/files.py": "the one reader",
    "core/border.py": "the one reader of JSON",
    "core/toml.py": "the one reader of TOML",
    "core/memory.py": "a file of the system",
    "core/registry.py": "our own source",
    "analysis/documents.py": "our own tables",
    "studies/file/presets/__init__.py": "our own studies",
    "report/html.py": "our own templates",
    "report/explorer/page.py": "our own scripts",
    "sharing/templates.py": "our own templates",
    "api/sklearn.py": "a folder of its own that it has just written",
    "report/study/blocks.py": "what it has just written",
    "studies/archive/reading.py": "unpacks, with bounds of its own",
    "studies/execute/slurm_pool.py": "what jobs of ours print",
    "studies/execute/worker.py": "a line of our own process",
    "studies/execute/task.py": "a line of our own process",
    "studies/merge.py": "a copy of a value",
    "learnt_loss/learn.py": "a copy of a value",
    "runs/records.py": "a copy of a value",
    "runs/status.py": "a copy of a value",
    "testing.py": "a copy of a value",
    "data/parts/trees.py": "members of an archive whose checksum is known",
    "data/parts/array_files.py": "refuses pipes where the path comes in",
    "data/parts/shelf.py": "our own cache, and writing",
    "data/parts/cache.py": "writing",
    "data/parts/npz.py": "members of an archive",
    "data/parts/download.py": "writing, and the network",
    "data/parts/sources.py": "a file that it takes the checksum of",
    "data/celeba.py": "a file whose checksum is known",
    "learnt_loss/resave.py": "writing",
    "data/parts/decoding.py": "the one opener of pictures, with a list of formats",
    "report/picture.py": "a picture that it has just drawn",
    "runs/arrays.py": "refuses pipes first",
    "sharing/hub.py": "what it has just written",
    "studies/gpu_rates.py": "a file of this package",
}
"""Modules that read bytes, JSON or TOML by other means than `core`, and why."""
PRINTS = {
    "cli/main.py": "messages of errors, which are plain",
    "cli/screen.py": "the one printer, and JSON, which has escapes",
    "cli/study/table.py": "CSV for another program",
    "api/progress.py": "made plain there",
}
"""Modules that print by other means than `unknot.cli.screen`."""


OTHERS = {"Study.open", "records.Study.open", "webbrowser.open"}
"""Functions that have such an ending, and read or print nothing."""
READING = (".read_text", ".read_bytes", ".open", "json.loads", "tomllib.loads", "np.load")
PRINTING = ("typer.echo", "click.echo", "secho", "stdout.write", "stderr.write")


@pytest.fixture(scope="module")
def calls():
    """The functions that each module calls, by their dotted names."""
    names = {}
    for file in SOURCE.rglob("*.py"):
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        functions = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
        names[file.relative_to(SOURCE).as_posix()] = functions - OTHERS
    return names


@pytest.mark.parametrize(("endings", "allowed"), [(READING, READS), (PRINTING, PRINTS)])
def test_what_others_wrote_comes_in_and_goes_out_one_way(calls, endings, allowed):
    modules = {
        file for file, names in calls.items() if any(name.endswith(endings) for name in names)
    }
    assert modules - {*allowed} == set()
    assert {*allowed} - modules == set()  # the list has nothing that is no longer so


def test_nothing_is_printed_past_the_printer(calls):
    assert [file for file, names in calls.items() if "print" in names] == []
