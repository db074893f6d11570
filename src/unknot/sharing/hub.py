"""Models on the Hugging Face hub; needs the extra ``hub``.

What is fetched are the files of a run and no others: text and safetensors. The hub's own client
does it, with its cache, its token and its settings (``HF_HOME``, ``HF_TOKEN``, ``HF_HUB_OFFLINE``,
``HF_ENDPOINT``).
"""

import errno
import importlib
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import unknot
from unknot.core.border import parse_json
from unknot.core.checksums import bytes_sum
from unknot.core.errors import (
    ConfigError,
    DamageError,
    DownloadError,
    StoreError,
    UnknotError,
    WriteError,
    name_in_messages,
)
from unknot.core.files import NO_ROOM, os_reason, read_whole, write_whole
from unknot.core.scratch import scratch_folder, writes_scratch
from unknot.core.text import shorten, shown
from unknot.runs import records, status
from unknot.runs.run import Run
from unknot.sharing.card import UNKNOWN, check_license
from unknot.sharing.folder import (
    CONFIG,
    RUN,
    Exported,
    check_exportable,
    export,
    exported_files,
)
from unknot.studies.archive.members import NAMES

PREFIX = "hub:"
NAME = r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}"
NEEDED = ("run.toml", "status.json", "weights.safetensors", "curves.safetensors")
PATIENCE = 15.0
"""Seconds in which a hub has to answer anything at all; its client may wait for ever."""
OVERTAKEN = "{} on the hub was changed by another command in the meantime; push again."
DISK = (*NO_ROOM, errno.EROFS, errno.EACCES)
"""What a disk says, and no network."""
FILES = (*NEEDED, "weights-*.safetensors", status.FEATURES, "curves.csv", "scores.jsonl")
"""Of a run; no other file is fetched."""


@dataclass(frozen=True)
class Pushed:
    """A model on the hub."""

    name: str
    url: str
    revision: str
    """The commit that holds it."""
    sha256: str
    """Of ``model.safetensors``."""
    exported: Exported


@dataclass(frozen=True)
class Fetched:
    """A run from the hub, in a folder that goes when the process ends."""

    path: Path
    name: str
    revision: str
    """The commit that it is from, which the run's record names."""
    sha256: str
    """Of its weights."""


def push(
    run: Run,
    name: str,
    *,
    member: int = 0,
    license: str = UNKNOWN,
    private: bool = False,
    onnx: bool | None = None,
) -> Pushed:
    """Put a model on the hub as `export` writes it; a new commit if it is there already.

    Args:
        run: Trained models.
        name: ``user/name``.
        member: Which model, if there are several.
        license: An identifier of the hub, such as ``mit``.
        private: Make a new repository private; one that is there stays as public as it is.
        onnx: Write ONNX files; if the extra is installed when None.

    Raises:
        ConfigError: The name is none, or nobody is logged in.
        StoreError: The repository holds files of others, or another command changes it meanwhile.
        WriteError: The disk has no room for the model.
        DownloadError: The hub refused, or could not be reached.
    """
    check_name(name)
    check_license(license)
    check_exportable(run, member)
    hub, errors = _client()
    api = hub.HfApi(library_name="unknot", library_version=unknot.__version__)
    if is_silent(api.endpoint):
        raise DownloadError(f"The hub at {api.endpoint} did not answer within {PATIENCE:g} s.")
    with _readable_errors(errors, name):
        there = _read_repository(errors, api, name)
        ours = _exported_there(hub, name, there.files) if there else set()
    with writes_scratch(f"export {name}"):
        place = tempfile.TemporaryDirectory(prefix="unknot-")
    with place as scratch:
        with writes_scratch(f"export {name}"):
            exported = export(
                run,
                Path(scratch) / name.rpartition("/")[2],
                member=member,
                license=license,
                onnx=onnx,
                address=PREFIX + name,
            )
        facts = parse_json((exported.path / CONFIG).read_bytes())
        written = {CONFIG, *facts["files"]}
        if there and (taken := sorted(there.files & written - ours)):
            raise StoreError(
                f"{name} on the hub holds {taken[0]}, which no export of unknot wrote; choose "
                "another name, or remove it there."
            )
        with _readable_errors(errors, name):
            if there is None:
                api.create_repo(name, private=private)
                there = _read_repository(errors, api, name)
                if there is None or there.files & written:
                    raise StoreError(OVERTAKEN.format(name))
            commit = api.upload_folder(
                repo_id=name,
                folder_path=exported.path,
                commit_message=f"Model exported by unknot {unknot.__version__}",
                delete_patterns=sorted(ours - written),
                parent_commit=there.revision,
            )
            revision, address = str(commit.oid), f"{api.endpoint}/{name}"
    sha256 = facts["files"]["model.safetensors"]["sha256"]
    return Pushed(name, address, revision, sha256, exported)


def fetch(address: str) -> Fetched:
    """The run of a model on the hub, or in the hub's cache.

    Args:
        address: ``hub:user/name``, or ``hub:user/name@REVISION``.

    Raises:
        ConfigError: It is no such address.
        StoreError: There is no such model, or it is none of unknot.
        DownloadError: The hub refused, or could not be reached.
    """
    name, separator, revision = address.removeprefix(PREFIX).partition("@")
    check_name(name)
    if separator and not re.fullmatch(r"[\w][\w./-]{0,199}", revision):
        raise ConfigError(f"A revision is a commit, branch or tag; got {shown(revision)}.")
    hub, errors = _client()
    with _readable_errors(errors, name):
        snapshot = Path(
            hub.snapshot_download(
                name,
                revision=revision or None,
                allow_patterns=[f"{RUN}/{file}" for file in FILES],
                library_name="unknot",
                library_version=unknot.__version__,
                local_files_only=not hub.constants.HF_HUB_OFFLINE
                and is_silent(hub.constants.ENDPOINT),
            )
        )
        files = [file for file in (snapshot / RUN).glob("*") if NAMES["run"].fullmatch(file.name)]
        content = {file.name: read_whole(file) for file in files}
    if missing := [file for file in NEEDED if file not in content]:
        raise StoreError(f"{name} on the hub is no model of unknot: it has no {RUN}/{missing[0]}.")
    with writes_scratch(f"put {name}"):
        key = f"hub-{bytes_sum(address.encode())[:16]}-{snapshot.name}"
        folder = scratch_folder() / key / RUN
        name_in_messages(folder, PREFIX + name)
        for file, data in content.items():
            write_whole(folder / file, data)
        _check_files(folder, name)
        record = {**status.read(folder), "hub": {"name": name, "revision": snapshot.name}}
        status.write(folder, record)
    sha256 = bytes_sum(content["weights.safetensors"])
    return Fetched(folder, name, snapshot.name, sha256)


def _check_files(folder: Path, name: str) -> None:
    """Refuse a model of which a file is not what its status says; nobody can repair it here."""
    try:
        record = status.read(folder)
        damaged = [*status.damage(folder, record), *{*NEEDED[2:]} - {*record.get("files", {})}]
    except StoreError as error:
        raise DamageError(
            f"{name} on the hub is damaged: its {status.FILE} cannot be read."
        ) from error
    try:
        records.read(folder)
    except DamageError:
        damaged.append(records.FILE)
    if damaged:
        raise DamageError(
            f"{name} on the hub is damaged: its {damaged[0]} is not what was written."
        )


def check_name(name: Any) -> None:
    """Refuse what is no name of a model."""
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise ConfigError(f"A model on the hub has a name such as user/faces; got {shown(name)}.")


def _client() -> tuple[Any, Any]:
    """The hub's client, and its exceptions."""
    try:
        names = "huggingface_hub", "huggingface_hub.errors"
        client, errors = map(importlib.import_module, names)
    except ImportError as error:
        raise ConfigError("The hub needs one more package: pip install 'unknot[hub]'.") from error
    return client, errors


def is_silent(address: str, patience: float = PATIENCE) -> bool:
    """Whether a server takes a question and says nothing; one that refuses is not silent."""
    if not address.startswith(("http://", "https://")):
        return False
    question = urllib.request.Request(address, method="HEAD")  # noqa: S310 - checked above
    try:
        urllib.request.urlopen(question, timeout=patience).close()  # noqa: S310
    except TimeoutError:
        return True
    except urllib.error.URLError as error:
        return isinstance(error.reason, TimeoutError)
    except (OSError, ValueError, HTTPException):  # the client has its own words for these
        return False
    return False


@dataclass(frozen=True)
class _Repository:
    """What a repository of the hub holds."""

    files: set[str]
    revision: str
    """Its last commit: the next one replaces that and no other."""


def _read_repository(errors: Any, api: Any, name: str) -> _Repository | None:
    """What a repository holds; None where there is none."""
    try:
        facts = api.model_info(name)
    except errors.RepositoryNotFoundError:
        return None
    return _Repository({file.rfilename for file in facts.siblings}, str(facts.sha))


def _exported_there(hub: Any, name: str, there: set[str]) -> set[str]:
    """Files of a model that was exported to a repository before."""
    if CONFIG not in there:
        return set()
    files = there & exported_files(read_whole(Path(hub.hf_hub_download(name, CONFIG))))
    return {file for file in files if re.fullmatch(r"[\w./-]+", file)}  # no pattern of the client


@contextmanager
def _readable_errors(errors: Any, name: str) -> Iterator[None]:
    """The client's exceptions in one line each."""
    try:
        yield
    except UnknotError:
        raise
    except errors.GatedRepoError as error:
        raise StoreError(f"{name} asks for permission on the hub; ask for it there.") from error
    except errors.RepositoryNotFoundError as error:
        raise StoreError(
            f"There is no model {name} on the hub that you may see; log in with `hf auth login` "
            "if it is private."
        ) from error
    except errors.LocalEntryNotFoundError as error:
        raise DownloadError(
            f"The hub cannot be reached, and {name} is not in its cache."
        ) from error
    except (errors.RevisionNotFoundError, errors.EntryNotFoundError) as error:
        raise StoreError(f"{name} on the hub has no such revision or file.") from error
    except errors.LocalTokenNotFoundError as error:
        raise ConfigError("Nobody is logged in to the hub: `hf auth login`.") from error
    except errors.HfHubHTTPError as error:
        code = getattr(getattr(error, "response", None), "status_code", None)
        if code in (409, 412):  # it is there by now, or its last commit is another one
            raise StoreError(OVERTAKEN.format(name)) from error
        if code in (401, 403):
            raise ConfigError(
                f"The hub refuses you {name}; log in with `hf auth login`."
            ) from error
        raise DownloadError(f"The hub refused {name}: {shorten(str(error), 200)}.") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK:
            raise WriteError(
                f"Could not write the cache of the hub: {os_reason(error)}; set HF_HOME to a "
                "folder with more room."
            ) from error
        package = type(error).__module__.partition(".")[0]
        if isinstance(error, OSError) or package.startswith("httpx"):
            raise DownloadError(
                f"The hub cannot be reached: {shorten(str(error), 200).rstrip('.')}."
            ) from error
        # Only calls of the client are inside: it was given something that it does not expect.
        reason = shorten(f"{type(error).__name__}: {error}", 200).rstrip(".")
        raise DownloadError(f"The hub's answer cannot be read: {reason}.") from error
