"""Every parser of what others may have written: what it is given, and how often in each CI run."""

import json
import sqlite3
import warnings
import zipfile
from collections.abc import Callable
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import torch
from fuzz import wholes
from fuzz.inputs import FORMULAS, PLAIN, SCALARS, TABLES, TEXT, VALUES, WORDS, damaged, nested
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from unknot.analysis import Results, published
from unknot.core import dotted
from unknot.core.border import parse_json
from unknot.core.checksums import facts_sum
from unknot.core.csv_files import csv_text, read_table
from unknot.core.errors import UnknotError
from unknot.core.text import is_control
from unknot.core.toml import edit_toml, parse_toml, parse_value, to_toml
from unknot.data.arrays import Arrays
from unknot.data.parts.labels import read_labels
from unknot.data.vectors import Vectors
from unknot.engine import checkpoint
from unknot.engine.checkpoint import write_tensors
from unknot.learnt_loss.learn import LearntLoss
from unknot.losses.overlap import read_kernel
from unknot.report.study import source
from unknot.report.study.baselines import baselines
from unknot.report.study.run_columns import runs_where
from unknot.runs import arrays, config, records, status
from unknot.runs.folder import RunFolder, stopped_members
from unknot.sharing.folder import CONFIG, check_target
from unknot.studies import opening
from unknot.studies.archive import members, reading
from unknot.studies.database import FILE
from unknot.studies.file import formula
from unknot.studies.file.study_file import StudyFile, read_study
from unknot.studies.plan import plan


class Parser(NamedTuple):
    """A parser."""

    name: str
    cases: int
    """In a CI run."""
    inputs: SearchStrategy[Any]
    read: Callable[[Path, Any], object]
    """Reads an input, with a folder for files."""


@contextmanager
def only_ours():
    """What is inside succeeds, or fails as we mean it to: with one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except UnknotError as error:
            message = str(error)
            assert len(message.splitlines()) == 1
            assert not any(map(is_control, message))


def fuzz(parser, folder, cases, seed=None):
    """Try so many inputs; how many were tried.

    Args:
        parser: To try.
        folder: For files.
        cases: How many.
        seed: For other inputs than those of every run.
    """
    count = 0

    @settings(max_examples=cases, deadline=None, suppress_health_check=[*HealthCheck])
    @given(parser.inputs)
    def once(value):
        nonlocal count
        count += 1
        with only_ours():
            parser.read(folder, value)

    (once if seed is None else hypothesis.seed(seed)(once))()
    return count


def put(folder, name, data):
    """A file of some bytes or some text."""
    file = folder / name
    file.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    return file


def round_toml(_, text):
    table = parse_toml(text, "x.toml")
    assert str(parse_toml(edit_toml(text, table), "x.toml")) == str(table)


def read_grid(_, words):
    axis, seeds = words
    assert read_study(None, grid=[f"objective.{axis}"], seeds=seeds).sweep.settings


def read_tensors(folder, data):
    file = put(folder, "kernel.safetensors", data)
    with only_ours():
        checkpoint.unpack_tensors(data, file)
    read_kernel(str(file))


def read_runs(folder, rows):
    file = put(folder, "t.csv", csv_text(rows).encode("utf-8", "replace"))
    source.read(file).results.summaries()


def read_status(folder, data):
    put(folder, status.FILE, data)
    record = status.read(folder)
    status.lacks(folder, record)
    status.damage(folder, record)


def read_scores(folder, data):
    put(folder, records.FILE, data)
    with only_ours():
        records.read(folder)
    records.keep_whole(folder)
    records.read(folder)


def read_checkpoint(folder, data):
    put(folder, "state.safetensors", wholes.TENSORS)
    put(folder, "state.json", data)
    checkpoint.load(folder)


def read_bounded_json(_, text):
    try:
        parse_json(text)
    except ValueError as error:  # as every reader of our files has it
        raise UnknotError(str(error)) from error


def read_archive(folder, data):
    unpacked = reading.unpack(put(folder, "run.zip", data))
    assert {path.name for path in unpacked.iterdir()} == {*wholes.ARCHIVED}


def read_other_facts(folder, change):
    name, value = change
    read_archive(folder, wholes.pack_archive(wholes.ARCHIVED, **{name: value}))


def read_other_files(folder, files):
    """Files with checksums that fit them: only what is in them can be wrong."""
    unpacked = reading.unpack(put(folder, "run.zip", wholes.pack_archive(files)))
    folder_of_it = RunFolder(unpacked)
    with only_ours():
        folder_of_it.spec()
    with only_ours():
        records.read(unpacked)
    folder_of_it.damage(), folder_of_it.is_trained


def read_formula(_, text):
    known = {"steps": 3, "batch": 4, "objective.beta": 2.5, "net": "linear"}
    source = formula.source_of(text)
    plain = formula.canonical(text)
    assert formula.canonical(plain) == plain
    values = [
        formula.compute(each, lambda name: known.get(name, 0), lambda _: 1.5)
        for each in (text, plain)
    ]
    assert values[0] == values[1], source


def plan_stages(_, change):
    setting, text = change
    table = parse_toml(wholes.TWO_STAGES, "two.toml")
    dotted.put(table["grid"][1], setting, f"={text}")
    new = plan(StudyFile(table))
    assert len({run.id for run in new.runs}) == len(new.runs)


def read_other_status(folder, change):
    name, value = change
    facts = {key: each for key, each in json.loads(wholes.STATUS).items() if key != "sha256"}
    status.write(folder, {**facts, name: value})
    record = status.read(folder)
    status.lacks(folder, record)
    stopped_members(record)


def read_other_score(folder, change):
    name, value = change
    line = {
        key: v for key, v in json.loads(wholes.SCORES.splitlines()[0]).items() if key != "check"
    }
    line[name] = value
    put(folder, records.FILE, json.dumps({**line, "check": facts_sum(line)[: records.CHECK]}))
    for record in records.read(folder):
        assert record.key


def read_kernel_facts(folder, facts):
    file = folder / "learnt.safetensors"
    write_tensors(file, {"kernel": torch.ones(3, 3)}, {"format": "unknot kernel", **facts})
    LearntLoss.load(file)


def read_condition(_, text):
    table = Results({"objective": ["vae", "ae"], "seed": [0, 1], "mig": [0.5, 0.1]})
    with only_ours():
        runs_where(table, [text])
    baselines(table, [text])


def read_published(folder, cells):
    names = ("model_num", "dataset", "model_name", "model_random_seed", *published.SCORES.values())
    rows = [dict.fromkeys(names, "1"), {**dict.fromkeys(names, "1"), **cells}]
    published.read(put(folder, "p.csv", csv_text(rows).encode("utf-8", "replace")))


def read_export(folder, value):
    put(folder, CONFIG, value)
    check_target(folder, overwrite=True)


def read_manifest(folder, value):
    file = folder / "manifest.zip"
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr(members.MANIFEST, value)
    reading.unpack(file)


def look_through(opened):
    with closing(opened.db):
        opened.facts(), opened.runs(), opened.counts(), opened.scores(), opened.scored_steps()


def read_store(folder, data):
    put(folder, FILE, data)
    look_through(opening.open_to_read(folder))


def read_edited_store(folder, change):
    (table, column), value = change
    file = put(folder, FILE, wholes.STORE)
    with closing(sqlite3.connect(file)) as db, db:
        try:
            db.execute(f"UPDATE {table} SET {column} = ?", [value])
        except (sqlite3.Error, OverflowError, UnicodeEncodeError):
            return
    look_through(opening.open_to_read(folder))


CELLS = (
    st.none() | st.integers() | st.floats() | TEXT | st.binary(max_size=9) | VALUES.map(json.dumps)
)
RUN_COLUMNS = ("objective", "seed", "mig", "data", "status", "id", "objective.beta", "dci")
JSON_LINES = st.lists(VALUES, max_size=3).map(lambda lines: "\n".join(map(json.dumps, lines)))
SEEDS = TEXT | st.text(alphabet="0123456789.,- ", max_size=12)
PARSERS = [
    Parser("TOML", 2_000, TEXT, round_toml),
    Parser("a value of a flag", 2_000, TEXT, lambda _, text: parse_value(text)),
    Parser("--set", 2_000, st.lists(TEXT, max_size=3),
           lambda _, words: config.spec(config.assign({"data": "xysquares"}, words))),
    Parser("settings", 1_500, TABLES, lambda _, table: config.spec({**table, "data": "xysquares"})),
    Parser("--seeds", 2_000, SEEDS, lambda _, text: config.seeds(text)),
    Parser("--grid", 1_500, st.tuples(TEXT, TEXT), read_grid),
    Parser("a study file", 1_500, st.dictionaries(WORDS, nested(PLAIN), max_size=5),
           lambda _, table: StudyFile.parse(to_toml(table))),
    Parser("JSON", 2_600, TEXT | VALUES.map(json.dumps), read_bounded_json),
    Parser("the record of an exported model", 300,
           VALUES.map(lambda value: json.dumps({"format": "unknot export 1", "files": value})),
           read_export),
    Parser("CSV", 1_500, st.binary(max_size=60) | TEXT,
           lambda folder, data: read_table(put(folder, "t.csv", data))),
    Parser("a table of runs", 500, st.lists(st.fixed_dictionaries(
        {}, optional=dict.fromkeys(RUN_COLUMNS, SCALARS | TEXT)), max_size=4), read_runs),
    Parser("labels", 500, TEXT,
           lambda folder, text: read_labels(put(folder, "l.csv", f"a,b\n{text}"), count=2)),
    Parser("a table of numbers", 300, TEXT,
           lambda folder, text: Vectors(str(put(folder, "v.csv", f"a,b\n1,2\n{text}"))).load()),
    Parser("codes in npz", 700, damaged(wholes.CODES),
           lambda folder, data: arrays.read(put(folder, "codes.npz", data))),
    Parser("images in npz", 500, damaged(wholes.IMAGES),
           lambda folder, data: Arrays(str(put(folder, "images.npz", data))).load()),
    Parser("safetensors", 1_000, damaged(wholes.TENSORS) | st.binary(max_size=40), read_tensors),
    Parser("status.json", 1_000, damaged(wholes.STATUS) | VALUES.map(json.dumps), read_status),
    Parser("scores.jsonl", 400, damaged(wholes.SCORES) | JSON_LINES | TEXT, read_scores),
    Parser("a checkpoint", 500, damaged(wholes.STATE) | VALUES.map(json.dumps), read_checkpoint),
    Parser("an archive", 700, damaged(wholes.ARCHIVE) | st.binary(max_size=60), read_archive),
    Parser("the manifest of an archive", 100, st.dictionaries(
        st.sampled_from(("format", "kind", "files", "weights", "name", "unknot")), VALUES,
        ).map(json.dumps) | VALUES.map(json.dumps), read_manifest),
    Parser("other facts of an archive", 300, st.tuples(
        st.sampled_from((*wholes.FACTS, "files")), VALUES | TEXT), read_other_facts),
    Parser("other files of an archive", 200, st.fixed_dictionaries(
        {name: damaged(data) | st.just(data) for name, data in wholes.ARCHIVED.items()},
        optional={"weights.safetensors": st.binary(max_size=9), "../x": st.just(b"x")},
        ), read_other_files),
    Parser("facts of status.json", 600, st.tuples(
        st.sampled_from(tuple(status.FORM)), VALUES), read_other_status),
    Parser("facts of a score", 400, st.tuples(
        st.sampled_from(tuple(records.FORM)), VALUES), read_other_score),
    Parser("facts of a learnt kernel", 300, st.dictionaries(
        st.sampled_from(("data", "settings", "before", "after")), TEXT | VALUES.map(json.dumps),
        ), read_kernel_facts),
    Parser("--where and --baseline", 400, TEXT | st.tuples(
        st.sampled_from(("mig", "seed", "recon.lowest")), st.sampled_from(("<", ">=", "=")), TEXT,
        ).map("".join), read_condition),
    Parser("published runs", 200, st.dictionaries(
        st.sampled_from(("model_name", "model_random_seed", "dataset", *published.SCORES.values())),
        TEXT), read_published),
    Parser("a formula", 800, FORMULAS, read_formula),
    Parser("a plan in two stages", 200, st.tuples(st.sampled_from(
        ("objective.beta", "optim.lr", "objective.likelihood", "steps", "batch", "objective.name")),
        FORMULAS), plan_stages),
    Parser("bytes of study.db", 500, damaged(wholes.STORE), read_store),
    Parser("cells of study.db", 500, st.tuples(st.sampled_from(wholes.CELLS), CELLS),
           read_edited_store),
]  # fmt: skip
