"""Whatever a file or a flag holds, nothing but an UnknotError comes out of what reads it.

`HYPOTHESIS_PROFILE=long` tries 40 times as many; hypothesis keeps what fails.
"""

import json
import sqlite3
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from unknot.core.csv_files import csv_text, read_table
from unknot.core.errors import UnknotError
from unknot.core.text import is_control
from unknot.core.toml import edit_toml, parse_toml, parse_value, to_toml
from unknot.engine.checkpoint import unpack_tensors
from unknot.losses.overlap import read_kernel
from unknot.report.study import source
from unknot.runs import arrays, config, records, status
from unknot.studies import store
from unknot.studies.file.study_file import StudyFile, read_study

TIMES = settings().max_examples // 50
many = settings(
    max_examples=300 * TIMES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
some = settings(many, max_examples=100 * TIMES)

WORDS = st.sampled_from(
    [
        *("objective", "beta", "data", "net", "optim", "lr", "steps", "seeds", "split", "sampler"),
        *("kind", "linear", "end", "start", "name", "preset", "likelihood", "vae", "beta_vae"),
        *("=", ".", "[", "]", "{", "}", ",", '"', "'", "\n", "#", "..", "-", "+", "*", "/", "=1"),
        *("1", "0.5", "1e999", "nan", "inf", "true", "1979-05-27", "07:32:00", "9" * 45, "\0"),
        *("[[grid]]", "[train]", "[across]", "zip", "metrics", "protocol", "members", "version"),
    ]
)  # fmt: skip
TEXT = st.lists(WORDS | st.text(max_size=3), max_size=14).map("".join)
PLAIN = st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
SCALARS = st.none() | PLAIN


def nested(leaves):
    """Lists and tables of leaves."""
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
        max_leaves=6,
    )


VALUES = nested(SCALARS)
TABLES = st.dictionaries(WORDS, VALUES, max_size=5)


@contextmanager
def only_ours():
    """What is inside succeeds, or fails as we mean it to: with one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except UnknotError as error:
            check_line(str(error))


def check_line(message):
    assert len(message.splitlines()) == 1
    assert not any(map(is_control, message))


@many
@given(TEXT)
def test_toml(text):
    with only_ours():
        table = parse_toml(text, "x.toml")
        assert str(parse_toml(edit_toml(text, table), "x.toml")) == str(table)


@many
@given(TEXT)
def test_a_value_of_a_flag(text):
    with only_ours():
        parse_value(text)


@many
@given(st.lists(TEXT, max_size=3))
def test_set(words):
    with only_ours():
        config.spec(config.assign({"data": "xysquares"}, words))


@many
@given(TABLES)
def test_settings(table):
    with only_ours():
        config.spec({**table, "data": "xysquares"})


@many
@given(TEXT | st.text(alphabet="0123456789.,- ", max_size=12))
def test_seeds(text):
    with only_ours():
        seeds = config.seeds(text)
        assert seeds == 0 or seeds


@many
@given(TEXT, TEXT)
def test_grid(axis, seeds):
    with only_ours():
        assert read_study(None, grid=[f"objective.{axis}"], seeds=seeds).sweep.settings


@many
@given(st.dictionaries(WORDS, nested(PLAIN), max_size=5))
def test_a_study_file(table):
    with only_ours():
        assert StudyFile.parse(to_toml(table)).sweep.seeds


@many
@given(st.binary(max_size=60) | TEXT.map(str.encode))
def test_csv(tmp_path, data):
    file = tmp_path / "t.csv"
    file.write_bytes(data)
    with only_ours():
        read_table(file)


@some
@given(st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(
    ("objective", "seed", "mig", "data", "status", "id", "objective.beta", "dci"), SCALARS | TEXT)),
    max_size=4))  # fmt: skip
def test_a_table_of_runs(tmp_path, rows):
    file = tmp_path / "t.csv"
    file.write_bytes(csv_text(rows).encode("utf-8", "replace"))
    with only_ours():
        source.read(file).results.summaries()


def mutated(data, changes):
    """Bytes with some of them changed, cut or doubled."""
    result = bytearray(data)
    for place, byte, how in changes:
        place %= max(len(result), 1)
        if how == "flip" and result:
            result[place] ^= byte
        elif how == "cut":
            del result[place:]
        else:
            result[place:place] = bytes([byte])
    return bytes(result)


CHANGES = st.lists(
    st.tuples(
        st.integers(0, 1 << 20), st.integers(1, 255), st.sampled_from(["flip", "cut", "insert"])
    ),
    min_size=1,
    max_size=4,
)


@pytest.fixture(scope="module")
def npz(tmp_path_factory):
    path = tmp_path_factory.mktemp("npz") / "codes.npz"
    np.savez(path, codes=np.eye(4), factors=np.arange(8).reshape(4, 2))
    return path.read_bytes()


@some
@given(CHANGES)
def test_npz(tmp_path, npz, changes):
    file = tmp_path / "codes.npz"
    file.write_bytes(mutated(npz, changes))
    with only_ours():
        arrays.read(file)


@many
@given(CHANGES | st.binary(max_size=40))
def test_safetensors(tmp_path, changes):
    whole = save({"kernel": torch.eye(3)})
    data = changes if isinstance(changes, bytes) else mutated(whole, changes)
    file = tmp_path / "kernel.safetensors"
    file.write_bytes(data)
    with only_ours():
        unpack_tensors(data, file)
    with only_ours():
        read_kernel(str(file))


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("status")
    status.write(folder, {"members": [{"id": "a", "diverged_at": None}], "files": {}})
    return (folder / status.FILE).read_bytes()


@many
@given(CHANGES | VALUES)
def test_status(tmp_path, facts, changes):
    flips = isinstance(changes, list) and changes and isinstance(changes[0], tuple)
    data = mutated(facts, changes) if flips else json.dumps(changes).encode()
    (tmp_path / status.FILE).write_bytes(data)
    with only_ours():
        status.read(tmp_path)


@many
@given(st.lists(VALUES, max_size=3) | TEXT)
def test_scores(tmp_path, lines):
    text = lines if isinstance(lines, str) else "\n".join(map(json.dumps, lines))
    (tmp_path / records.FILE).write_bytes(text.encode("utf-8", "surrogatepass"))
    with only_ours():
        records.read(tmp_path)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    file = tmp_path_factory.mktemp("store") / store.FILE
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE runs (id TEXT PRIMARY KEY)")
        db.execute("INSERT INTO runs VALUES ('0a1b')")
    db.close()
    return file


@some
@given(CHANGES)
def test_store(tmp_path, database, changes):
    (tmp_path / store.FILE).write_bytes(mutated(database.read_bytes(), changes))
    with only_ours():
        store.open_to_read(tmp_path).facts()
