"""Write a study or a run as an archive, without folders of this machine.

Of a path to data the last part is kept, as on pages, unless ids of runs depend on it.
"""

import contextlib
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import torch
from safetensors.torch import save as pack_tensors

import unknot
from unknot.core.border import as_path
from unknot.core.checksums import bytes_sum
from unknot.core.dotted import leaves
from unknot.core.errors import ConfigError, StoreError, WriteError
from unknot.core.files import atomic_path, inside, read_whole, refuse_links
from unknot.core.places import place_fields, without_folders
from unknot.core.registry import Room, get, nearest
from unknot.core.text import shown
from unknot.core.toml import edit_toml, parse_toml, read_text
from unknot.engine.checkpoint import unpack_tensors
from unknot.runs import lock, records, status
from unknot.runs.folder import NOTE, RunFolder
from unknot.studies.archive.members import FORMAT, MANIFEST, Weights
from unknot.studies.database import FILE, SEAL, TEXT
from unknot.studies.opening import open_to_read
from unknot.studies.store import Store

DATASETS: Room = "datasets"
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive, so that the same study gives the same bytes."""


@dataclass(frozen=True)
class Contents:
    """What an archive holds."""

    kind: str
    """``study`` or ``run``."""
    name: str
    models: int
    weights: str
    """``half``, ``full`` or ``none``."""
    bytes: int
    """Of the zip file."""
    weight_bytes: int
    """Of the files of weights."""
    waiting: int = 0
    """Runs of the study that are not trained."""
    paths: tuple[str, ...] = ()
    """Absolute paths in settings that are in the file, as ids of runs depend on them."""


def write_archive(
    folder: str | Path,
    out: str | Path,
    *,
    weights: str = "half",
    new: bool = False,
    on_population: Callable[[int, int], None] = lambda _, __: None,
) -> Contents:
    """Write a study or a run as one zip file.

    Args:
        folder: Of a study or of a finished run.
        out: The file; one that is there is replaced.
        weights: ``half`` precision, ``full`` as trained, or ``none``.
        new: Keep a file that another command writes in the meantime.
        on_population: Told how many populations are written, of how many.

    Raises:
        StoreError: There is no study and no finished run, or a process is at work on it.
        DamageError: A file is not what was written.
    """
    source, out = as_path("folder", folder), as_path("path", out)
    if weights not in get_args(Weights):
        hint = nearest(weights, [*get_args(Weights)])
        raise ConfigError(f"weights is half, full or none; got '{weights}'{hint}")
    if out.suffix != ".zip":
        raise ConfigError(f"The name of an archive ends in .zip; got {shown(str(out))}.")
    if out.is_dir():
        raise StoreError(f"{out} is a folder; name a file such as study.zip.")
    is_study = (source / FILE).exists() or (source / TEXT).exists()
    if not is_study and not (source / "run.toml").is_file():
        raise StoreError(f"{source} holds neither a run nor a study.")
    if lock.is_held(source):
        raise StoreError(f"A process is at work on {source}; archive it when that has ended.")
    with atomic_path(out, new=new) as part:
        try:
            with zipfile.ZipFile(part, "w") as file:
                writer = _Writer(file, weights)
                about = (
                    _add_study(writer, source, on_population)
                    if is_study
                    else _add_run(writer, source)
                )
                facts = {
                    "format": FORMAT,
                    "unknot": unknot.__version__,
                    **about,
                    "weights": weights,
                    "files": writer.sums,
                }
                _put(file, MANIFEST, json.dumps(facts, indent=1).encode())
        except zipfile.LargeZipFile as error:
            raise WriteError(f"Could not write {out}: {error}.") from error
    return Contents(
        about["kind"],
        about["name"],
        about["models"],
        weights,
        out.stat().st_size,
        sum(e["bytes"] for n, e in writer.sums.items() if "weights" in n),
        about["waiting"],
        tuple(sorted(writer.paths)),
    )


@dataclass
class _Writer:
    file: zipfile.ZipFile
    weights: str

    def __post_init__(self) -> None:
        self.sums: dict[str, dict[str, Any]] = {}
        self.paths: set[str] = set()

    def add(self, name: str, data: bytes) -> None:
        self.sums[name] = {"sha256": bytes_sum(data), "bytes": len(data)}
        _put(self.file, name, data)

    def add_folder(self, folder: RunFolder, prefix: str) -> int:
        """The files of a finished population; how many models it has."""
        record, path = folder.record_there(), folder.path
        files: dict[str, dict[str, Any]] = {}
        for name in record.get("files") or status.final_files(path):
            data = status.read_file(path, name, record)
            if name.startswith("weights"):
                if self.weights == "none":
                    continue
                if self.weights == "half":
                    data = halve(data, path / name)
            files[name] = {"sha256": bytes_sum(data), "bytes": len(data)}
            self.add(prefix + name, data)
        record |= {"files": files, "archived": {"weights": self.weights}}
        self.add(prefix + status.FILE, status.text(self.plain_record(record)))
        records.read(path)  # refuses damaged lines
        if (path / records.FILE).is_file():
            self.add(prefix + records.FILE, read_whole(inside(path, records.FILE)))
        if folder.spec_file.is_file():
            text = read_text(inside(path, folder.spec_file.name))
            table = parse_toml(text, str(folder.spec_file))
            _check_unchanged(folder, table, record)
            table = self.plain_settings(table)
            self.add(prefix + folder.spec_file.name, edit_toml(text, table).encode())
        return len(record["members"])

    def plain_record(self, record: dict[str, Any]) -> dict[str, Any]:
        """A status without folders of this machine."""
        data = {name: value for name, value in record.get("data", {}).items() if name != "place"}
        settings = [self.plain_settings(table) for table in record.get("settings", [])]
        return {**record, "data": data, "settings": settings}

    def plain_settings(self, table: dict[str, Any]) -> dict[str, Any]:
        """Settings of a run without folders, where its id stays the same without them."""
        data = table.get("data")
        if isinstance(data, dict) and isinstance(data.get("name"), str):
            with contextlib.suppress(ConfigError):  # a class that is not imported
                places = place_fields(get(DATASETS, data["name"]))
                short = {k: without_folders(v) for k, v in data.items() if k in places}
                table = {**table, "data": {**data, **short}}
        self.paths |= {v for _, v in leaves(table) if without_folders(v) != v}
        return table


def _add_study(
    writer: _Writer, source: Path, on_population: Callable[[int, int], None]
) -> dict[str, Any]:
    refuse_links(source, "populations")
    store = open_to_read(source)
    with closing(store.db), closing(sqlite3.connect(":memory:")) as copy:
        store.db.backup(copy)
        facts, runs = store.facts(), store.counts()["runs"]
        if "text" not in facts:
            raise StoreError(f"The study in {source} was never planned; start it from its file.")
        keys = sorted({run.population for run in store.runs() if run.ended})
        if not keys:
            raise StoreError(f"{source} has no trained run yet: `unknot study run {source}`.")
        places = [RunFolder(store.place(key)) for key in keys]
        text = _strip_database(writer, Store(source, copy), source)
        database = copy.serialize()
    writer.add(TEXT, text.encode())
    writer.add(FILE, database)
    writer.add(SEAL, bytes_sum(database).encode())
    models = 0
    for i, folder in enumerate(places):
        _check_trained(folder, f"`unknot study run {source}` trains what is left", writer.weights)
        models += writer.add_folder(folder, f"populations/{folder.path.name}/")
        on_population(i + 1, len(places))
    ended = runs.get("done", 0) + runs.get("diverged", 0)
    return {
        "kind": "study",
        "name": facts["name"],
        "models": models,
        "waiting": runs["all"] - ended,
    }


def _strip_database(writer: _Writer, store: Store, source: Path) -> str:
    """Take folders of this machine, and what failed on it, out of a study; gives its file."""
    text = store.facts()["text"]
    plain = {i: writer.plain_settings(table) for i, table in store.settings().items()}
    if not writer.paths:
        text = edit_toml(text, without_folders(parse_toml(text, str(source / TEXT))))
    try:
        store.rewrite(plain, text)
    except sqlite3.IntegrityError as error:
        raise StoreError(
            f"{source} has configurations that differ in nothing but the folder of a file; give "
            "the files other names."
        ) from error
    return text


def _add_run(writer: _Writer, source: Path) -> dict[str, Any]:
    folder = RunFolder(source)
    _check_trained(folder, f"`unknot resume {source}` trains it to its end", writer.weights)
    models = writer.add_folder(folder, "")
    return {"kind": "run", "name": source.absolute().name, "models": models, "waiting": 0}


def _check_trained(folder: RunFolder, remedy: str, weights: str) -> None:
    if folder.is_without_weights and weights != "none":
        raise StoreError(
            f"{folder.path} comes from an archive without weights; archive it with --weights none, "
            "or archive the study that has them."
        )
    if not folder.has_results:
        raise StoreError(f"{folder.path} is not finished, or lacks a file: {remedy}.")


def _check_unchanged(folder: RunFolder, table: dict[str, Any], record: dict[str, Any]) -> None:
    """Refuse a run whose settings were edited since; its records would be those of another."""
    asked = {name: value for name, value in table.items() if name != "seeds"}
    trained = [member["id"] for member in record["members"]]
    if [asked] != record.get("settings") and folder.spec().ids() != trained:
        raise folder.changed()


def halve(data: bytes, path: Path) -> bytes:
    """A file of weights in half precision; tensors that do not fit into it stay as they are."""
    tensors = unpack_tensors(data, path)
    for name, tensor in tensors.items():
        if tensor.dtype in (torch.float32, torch.float64):
            short = tensor.half()
            if torch.equal(short.isfinite(), tensor.isfinite()):
                tensors[name] = short
    return pack_tensors(tensors, NOTE)


def _put(file: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, EARLIEST)
    entry.external_attr = 0o644 << 16
    is_dense = name.endswith(".safetensors")
    entry.compress_type = zipfile.ZIP_STORED if is_dense else zipfile.ZIP_DEFLATED
    file.writestr(entry, data)
