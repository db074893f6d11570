"""Opening the records of a study to write or to read, and sealing them when nobody writes."""

import contextlib
import sqlite3
from pathlib import Path

from unknot.core.checksums import file_sum
from unknot.core.errors import DamageError, StoreError, WriteError
from unknot.core.files import read_whole, refuse_links, unpack_hint, write_whole
from unknot.runs import lock
from unknot.studies.database import (
    DAMAGE,
    FILE,
    FORMAT,
    SCHEMA,
    SEAL,
    TEXT,
    WAIT,
    explained,
    way_back,
)
from unknot.studies.soundness import find_fault
from unknot.studies.store import Store


def create(folder: Path, file: str = FILE) -> Store:
    """A store to write to; made where there is none."""
    refuse_links(folder)
    if file == FILE:
        _check_seal(folder)
    with explained(folder, "write"):
        store = Store(folder, sqlite3.connect(folder / file, timeout=WAIT))
        (folder / SEAL).unlink(missing_ok=True)
        store.db.execute("PRAGMA journal_mode = WAL")
        store.db.execute("PRAGMA synchronous = FULL")
        if not store.db.execute("SELECT 1 FROM sqlite_master").fetchall():
            store.db.executescript(f"BEGIN; {SCHEMA} COMMIT;")
    return _checked(store)


def seal(folder: Path) -> None:
    """Write down the checksum of records that nobody writes to any more."""
    if (folder / FILE).is_file() and not (folder / f"{FILE}-wal").exists():
        with contextlib.suppress(WriteError):  # a full disk is no reason to fail at the very end
            write_whole(folder / SEAL, file_sum(folder / FILE))


def _check_seal(folder: Path) -> None:
    """Refuse records that changed since the last driver left."""
    seal = folder / SEAL
    try:
        before = read_whole(seal).decode("ascii", "replace")
        if before == file_sum(folder / FILE):
            return
        # A driver that begins in this moment removes it.
        if lock.is_held(folder) or not seal.exists():
            return
    except OSError:
        return
    raise DamageError(f"{folder / FILE} is damaged: it is not what was written. {way_back(folder)}")


def open_to_read(folder: Path) -> Store:
    """A store to read from."""
    path = folder / FILE
    refuse_links(folder)
    if not path.is_file():
        if (folder / TEXT).is_file():
            raise DamageError(f"{path} is missing. {way_back(folder)}")
        hint = unpack_hint(folder)
        raise StoreError(f"{folder} holds no study: there is no {FILE} in it.{hint}")
    for how in ("mode=ro", "immutable=1"):  # the second where no reader may write beside it
        try:
            db = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=WAIT)
            db.execute("SELECT 1 FROM sqlite_master").fetchall()
        except sqlite3.OperationalError:
            continue
        except DAMAGE:
            break
        store = _checked(Store(folder, db))
        _check_seal(folder)
        return store
    raise DamageError(f"{path} is damaged: it is no database that can be read. {way_back(folder)}")


def _checked(store: Store) -> Store:
    """A store whose records are sound."""
    path, fault = store.folder / FILE, None
    try:
        with explained(store.folder, "read"):
            version = _format(store.db)
            if version == FORMAT:
                fault = find_fault(store.db, SCHEMA)
    except StoreError:
        store.db.close()
        raise
    if version == FORMAT and not fault:
        return store
    store.db.close()
    if version in (FORMAT, None):
        fault = fault or "it does not say its format"
        raise DamageError(f"{path} is damaged: {fault}. {way_back(store.folder)}")
    raise StoreError(
        f"{path} has format {version}; this version of unknot reads format {FORMAT}. "
        "Run its study.toml again in another folder with --out."
    )


def _format(db: sqlite3.Connection) -> str | None:
    """What a file says of its format; None where there is no such table, or it is no table."""
    kinds = dict(db.execute("SELECT name, type FROM sqlite_master"))
    if kinds.get("facts") != "table":
        return None
    for (value,) in db.execute("SELECT value FROM facts WHERE name = 'format'"):
        return str(value)
    return None
