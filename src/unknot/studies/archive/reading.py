"""Read archives of anyone.

`unpack` makes no folder but those of a study or a run, follows no link and stops at the size that
the manifest says.
"""

import hashlib
import stat
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any, get_args

from unknot.core.border import parse_json
from unknot.core.checksums import file_sum
from unknot.core.errors import DamageError, StoreError, name_in_messages
from unknot.core.files import inside, os_reason
from unknot.core.scratch import scratch_folder, writes_scratch
from unknot.core.text import shown
from unknot.runs import status
from unknot.studies.archive.members import FORMAT, MANIFEST, NAMES, NEEDED, Weights
from unknot.studies.database import FILE
from unknot.studies.opening import open_to_read

MOST_FILES = 1_000_000
MANIFEST_BYTES = 1_000
"""Of the manifest for each file, at most; ours has about 200."""
MOST_BYTES = 1 << 40
"""Of all files together; a study of 10,800 models takes about 2e10."""
DENSEST, SMALL = 200, 64 << 20
"""An archive unpacks to at most so many times its size and so many bytes more; ours to about 20."""


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


def unpack(path: str | Path) -> Path:
    """The folder of an archive, every file of it compared with its checksum.

    It goes when the process ends.

    Raises:
        StoreError: There is no archive.
        DamageError: A file is not what was written, or none of an archive of ours.
    """
    path = Path(path)
    with _opened(path) as file, writes_scratch(f"unpack {path}"):
        manifest = _manifest(file, path)
        folder = scratch_folder() / file_sum(path)[:32]
        unpacked = folder / str(manifest["kind"])
        name_in_messages(unpacked, str(path))
        if not (folder / "whole").exists():
            _extract(file, path, manifest, unpacked)
            _check_statuses(unpacked, path, manifest["files"])
            if manifest["kind"] == "study":
                _check_populations(unpacked, path)
            (folder / "whole").touch()
        return unpacked


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


def _check_populations(folder: Path, path: Path) -> None:
    """Refuse an archive without models that its own records call finished."""
    store = open_to_read(folder)
    with closing(store.db):
        ended = {run.population for run in store.runs() if run.ended}
    if lost := sorted(key for key in ended if not (folder / "populations" / key).is_dir()):
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise DamageError(
            f"{path} is damaged: it lacks populations/{lost[0]}{more}, which its {FILE} says are "
            "trained."
        )


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
