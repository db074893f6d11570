"""The file that holds the records of a study: its tables, and its errors in words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unknot.core.errors import DamageError, StoreError, WriteError

FORMAT = "2"
FILE = "study.db"
TEXT = "study.toml"
"""The study file; records can be rebuilt from it and from the populations."""
SEAL = "study.db.sha256"
"""The checksum of the file while nobody writes to it."""
DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""What reading damaged records raises; the second if the message of the first is damaged too."""
WAIT = 30.0
"""Seconds that a reader or the writer waits for the other."""

# Nothing here is SQLite's alone, so that a server can hold the same tables.
SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO facts VALUES ('format', '2');
CREATE TABLE configurations (number INTEGER PRIMARY KEY, spec TEXT NOT NULL UNIQUE);
CREATE TABLE populations (
    key TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    members INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    status TEXT NOT NULL,
    phase TEXT NOT NULL,
    done INTEGER NOT NULL,
    error TEXT
);
CREATE TABLE plan (
    run TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    configuration INTEGER NOT NULL REFERENCES configurations (number),
    seed BIGINT NOT NULL,
    population TEXT NOT NULL REFERENCES populations (key),
    member INTEGER NOT NULL,
    current INTEGER NOT NULL
);
CREATE TABLE runs (
    run TEXT PRIMARY KEY REFERENCES plan (run),
    status TEXT NOT NULL,
    diverged_at INTEGER,
    step INTEGER NOT NULL,
    seconds REAL NOT NULL,
    device TEXT NOT NULL,
    versions TEXT NOT NULL,
    last TEXT NOT NULL
);
CREATE TABLE measures (
    number INTEGER PRIMARY KEY,
    metric TEXT NOT NULL,
    protocol TEXT NOT NULL,
    options TEXT NOT NULL,
    code TEXT NOT NULL,
    UNIQUE (metric, protocol, options, code)
);
CREATE TABLE scores (
    run TEXT NOT NULL REFERENCES plan (run),
    measure INTEGER NOT NULL REFERENCES measures (number),
    name TEXT NOT NULL,
    value REAL,
    remark TEXT NOT NULL,
    PRIMARY KEY (run, measure, name)
);
"""


def way_back(folder: Path) -> str:
    """What helps where records are damaged."""
    return f"Rebuild it with `unknot check {folder} --repair`; models and scores are kept."


@contextmanager
def explained(folder: Path, verb: str) -> Iterator[None]:
    """Turn errors of SQLite into one line for people: what could not be read or written."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) is None:  # of Python, which reads texts
            raise DamageError(
                f"{folder / FILE} is damaged: a text in it is not UTF-8. {way_back(folder)}"
            ) from error
        kind, end = (
            (StoreError, "") if verb == "read" else (WriteError, " Stored results are intact.")
        )
        raise kind(f"Could not {verb} the records in {folder / FILE}: {error}.{end}") from error
    except DAMAGE as error:
        raise DamageError(f"{folder / FILE} is damaged: {error}. {way_back(folder)}") from error
