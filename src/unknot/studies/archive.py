"""Archives: a study or a run in one zip file, to publish and to read anywhere.

The members of the file are those of the folder: records, curves, weights, and `manifest.json` with
the SHA-256 of each. Unpacked by any program it is a study or run folder again. `unpack` reads files
of anyone: it makes no folder but those of a study or a run, follows no link and stops at the size
that the manifest says. Of a path to data the last part is kept, as on pages, unless ids of runs
depend on it.
"""

import contextlib
import hashlib
import json
import re
import sqlite3
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, get_args

import torch
from safetensors.torch import save as pack_tensors

import unknot
from unknot.core.border import as_path, parse_json
from unknot.core.checksums import bytes_sum, file_sum
from unknot.core.dotted import leaves
from unknot.core.errors import ConfigError, DamageError, StoreError, WriteError
from unknot.core.files import atomic_path, inside, os_reason, refuse_links
from unknot.core.places import place_fields, without_folders
from unknot.core.registry import Room, get, nearest
from unknot.core.text import shown
from unknot.core.toml import edit_toml, parse_toml, read_text
from unknot.engine.checkpoint import unpack_tensors
from unknot.runs import lock, records, status
from unknot.runs.folder import NOTE, RunFolder
from unknot.studies.database import FILE, SEAL, TEXT
from unknot.studies.opening import open_to_read
from unknot.studies.store import Store

FORMAT = 1
MANIFEST = "manifest.json"
DATASETS: Room = "datasets"
Weights: TypeAlias = Literal["half", "full", "none"]
OF_RUN = (
    r"run\.toml|status\.json|scores\.jsonl|curves\.(safetensors|csv)"
    r"|weights(-([0-9]{1,12}|best))?\.safetensors"
)
NAMES = {
    "run": re.compile(OF_RUN),
    "study": re.compile(rf"populations/[0-9a-f]{{12}}/({OF_RUN})|study\.(toml|db|db\.sha256)"),
}
"""Names of files in an archive, by its kind; there are no others."""
NEEDED = {"run": ("run.toml", status.FILE), "study": (TEXT, FILE, SEAL)}
MOST_FILES = 1_000_000
MANIFEST_BYTES = 1_000
"""Of the manifest for each file, at most; ours has about 200."""
MOST_BYTES = 1 << 40
"""Of all files together; a study of 10,800 models takes about 2e10."""
DENSEST, SMALL = 200, 64 << 20
"""An archive unpacks to at most so many times its size and so many bytes more; ours to about 20."""
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
    on_population: Callable[[int, int], None] = lambda _, __: None,
) -> Contents:
    """Write a study or a run as one zip file.

    Args:
        folder: Of a study or of a finished run.
        out: The file; one that is there is replaced.
        weights: ``half`` precision, ``full`` as trained, or ``none``.
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
    with atomic_path(out) as part:
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
        record, path = folder.record(), folder.path
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
            self.add(prefix + records.FILE, inside(path, records.FILE).read_bytes())
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
        _check_trained(folder, f"`unknot study run {source}` trains what is left")
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
    _check_trained(folder, f"`unknot resume {source}` trains it to its end")
    models = writer.add_folder(folder, "")
    return {"kind": "run", "name": source.absolute().name, "models": models, "waiting": 0}


def _check_trained(folder: RunFolder, remedy: str) -> None:
    archived = folder.record().get("archived", {}).get("weights")
    if archived == "none":
        raise StoreError(f"{folder.path} comes from an archive without weights; archive the study.")
    if not folder.is_trained:
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


def is_archive(path: str | Path) -> bool:
    """Whether a path is a file that may be an archive, by its name or its first bytes."""
    try:
        path = Path(path)
        if not path.is_file():
            return str(path).endswith(".zip") and not path.is_dir()
        with path.open("rb") as file:
            return path.suffix == ".zip" or file.read(2) == b"PK"
    except (OSError, ValueError):
        return False


def read_manifest(path: str | Path) -> dict[str, Any]:
    """What an archive says of itself; nothing is unpacked."""
    with _opened(Path(path)) as file:
        return _manifest(file, Path(path))


def unpack(path: str | Path) -> Path:
    """The folder of an archive, every file of it compared with its checksum.

    It goes when the process ends.

    Raises:
        StoreError: There is no archive.
        DamageError: A file is not what was written, or none of an archive of ours.
    """
    path = Path(path)
    with _opened(path) as file:
        manifest = _manifest(file, path)
        folder = scratch_folder() / file_sum(path)[:32]
        unpacked = folder / str(manifest["kind"])
        if not (folder / "whole").exists():
            _extract(file, path, manifest, unpacked)
            _check_statuses(unpacked, path, manifest["files"])
            (folder / "whole").touch()
        return unpacked


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def scratch_folder() -> Path:
    """A folder that goes when the process ends."""
    if not _KEPT:
        try:
            _KEPT.append(tempfile.TemporaryDirectory(prefix="unknot-"))
        except OSError as error:
            raise WriteError(f"Could not unpack an archive: {os_reason(error)}.") from error
    return Path(_KEPT[0].name)


class _opened:  # noqa: N801 - used as a function
    """A zip file, whose damage is told in our words."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> zipfile.ZipFile:
        if not self.path.is_file():
            raise StoreError(f"There is no archive {self.path}.")
        try:
            self.file = zipfile.ZipFile(self.path)
        except OSError as error:
            raise StoreError(f"{self.path}: {os_reason(error)}.") from error
        except Exception as error:  # struct.error, NotImplementedError and more of damaged heads
            raise DamageError(f"{self.path} is no zip file that can be read: {error}.") from error
        return self.file

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.file.close()


def _manifest(file: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """The manifest, if it and the list of members are those of an archive of ours."""
    entries = file.infolist()
    names = [entry.filename for entry in entries]
    if len(entries) > MOST_FILES or len({*names}) != len(names):
        raise DamageError(f"{path} is no archive of unknot: too many files, or one of them twice.")
    if any(entry.flag_bits & 1 for entry in entries):
        raise StoreError(f"{path} is encrypted; decrypt it first, or unpack it to a folder.")
    size = path.stat().st_size
    if sum(entry.compress_size for entry in entries) > size:
        raise DamageError(f"{path} is damaged: files in it overlap.")
    if sum(entry.file_size for entry in entries) > size * DENSEST + SMALL:
        raise DamageError(
            f"{path} unpacks to far more than its size, as no archive of unknot does."
        )
    if MANIFEST not in names:
        raise StoreError(f"{path} is no archive of unknot: it has no {MANIFEST}.")
    if (entry := file.getinfo(MANIFEST)).file_size > MANIFEST_BYTES * len(names):
        raise DamageError(f"{path} is damaged: its {MANIFEST} is longer than any.")
    try:
        facts = parse_json(b"".join(_blocks(file, entry, entry.file_size, path)))
        kind, sums, number = facts["kind"], facts["files"], facts["format"]
        sizes = [int(sums[name]["bytes"]) for name in sums]
        sound = (
            kind in ("study", "run")
            and facts["weights"] in get_args(Weights)
            and type(number) is int
            and all(type(e["bytes"]) is int and e["bytes"] >= 0 for e in sums.values())
            and all(isinstance(e["sha256"], str) for e in sums.values())
            and all(isinstance(facts[name], str) for name in ("name", "unknot"))
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DamageError(f"{path} is damaged: its {MANIFEST} cannot be read.") from error
    if number != FORMAT:
        raise StoreError(f"{path} has format {number!r:.20}; this version reads format {FORMAT}.")
    if not sound or sum(sizes) > MOST_BYTES:
        raise DamageError(f"{path} is damaged: its {MANIFEST} is none of an archive.")
    for entry in entries:
        _check_member(entry, path, kind, sums)
    needed = {f"{name.rpartition('/')[0]}/{status.FILE}" for name in sums if "/" in name}
    if missing := {*sums, *NEEDED[kind], *needed} - {*names}:
        raise DamageError(f"{path} is damaged: it lacks {sorted(missing)[0]}.")
    return dict(facts)


def _check_member(entry: zipfile.ZipInfo, path: Path, kind: str, sums: dict[str, Any]) -> None:
    """Refuse a member that none of our archives has, before any of it is read."""
    name = entry.filename
    if name == MANIFEST:
        return
    if not NAMES[kind].fullmatch(name) or name not in sums:
        raise DamageError(f"{path} has a file '{shown(name)}', which no archive of unknot has.")
    mode = stat.S_IFMT(entry.external_attr >> 16)
    if entry.is_dir() or mode not in (0, stat.S_IFREG):
        raise DamageError(f"{path} has {name} as a link or a folder, which unknot does not follow.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise StoreError(
            f"{path} has {name} in a compression that is not read; pack it again with deflate."
        )
    if entry.file_size != sums[name]["bytes"]:
        raise DamageError(f"{path} is damaged: {name} has not the size that its manifest says.")


def _extract(file: zipfile.ZipFile, path: Path, manifest: dict[str, Any], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, facts in manifest["files"].items():
            target = inside(folder, *name.split("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            digest = hashlib.sha256()
            with target.open("wb") as out:
                for block in _blocks(file, file.getinfo(name), facts["bytes"], path):
                    digest.update(block)
                    out.write(block)
            if digest.hexdigest() != facts["sha256"]:
                raise DamageError(f"{path} is damaged: {name} is not what was written.")
    except OSError as error:
        raise WriteError(f"Could not unpack {path}: {os_reason(error)}.") from error


def _check_statuses(folder: Path, path: Path, sums: dict[str, Any]) -> None:
    """Refuse an archive in which a status and the manifest disagree about files.

    What is wrong with them would be found later, in a folder that nobody can repair.
    """
    by_place: dict[str, dict[str, Any]] = {}
    for name, facts in sums.items():
        place, _, last = name.rpartition("/")
        if last not in NEEDED["study"]:
            by_place.setdefault(place, {})[last] = facts
    for place, files in by_place.items():
        try:
            listed = status.read(inside(folder, *filter(None, place.split("/")))).get("files", {})
        except DamageError:
            listed = None
        if listed != {n: f for n, f in files.items() if n.startswith(("weights", "curves"))}:
            name = f"{place}/{status.FILE}".lstrip("/")
            raise DamageError(f"{path} is damaged: {name} does not belong to the files beside it.")


def _blocks(
    file: zipfile.ZipFile, entry: zipfile.ZipInfo, size: int, path: Path
) -> Iterator[bytes]:
    """The content of a member, as long as it is no longer than said."""
    left = size
    try:
        member: IO[bytes]
        with file.open(entry) as member:
            while block := member.read(1 << 20):
                left -= len(block)
                if left < 0:
                    break
                yield block
    except Exception as error:  # OSError, zlib.error, BadZipFile, EOFError, NotImplementedError
        raise DamageError(f"{path} is damaged: {entry.filename} cannot be read.") from error
    if left:
        raise DamageError(f"{path} is damaged: {entry.filename} has not the size that it says.")
