"""An exported model: a folder that others use without unknot, and that unknot reads."""

import json
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import unknot
from unknot.core import noise
from unknot.core.border import as_path, parse_json
from unknot.core.checksums import file_sum
from unknot.core.errors import ConfigError, StoreError
from unknot.core.files import atomic_path, check_folder, read_whole
from unknot.report.model.latents import check_member, measure_latents, sample_rows
from unknot.report.model.views import traversal_view
from unknot.report.style import png
from unknot.runs import records
from unknot.runs.records import Record
from unknot.runs.run import Run
from unknot.sharing.card import UNKNOWN, card, check_license
from unknot.sharing.onnx_files import MISSING, is_available, run_onnx, write_onnx
from unknot.sharing.source import outside_shape, plain_model
from unknot.studies.archive.members import MANIFEST
from unknot.studies.archive.writing import write_archive

FORMAT = "unknot export 1"
CONFIG = "config.json"
RUN = "run"
"""The folder in it that unknot reads."""
TRIALS = 16
"""Images and codes on which what is exported is compared with the run."""
LARGEST = 1e-4
"""Error from which on the exported model is another one."""


@dataclass(frozen=True)
class Exported:
    """What was written."""

    path: Path
    errors: Mapping[str, float]
    """Largest difference of each form from unknot, of codes and images, over some of both."""
    notes: tuple[str, ...] = ()
    """What is not there, or there and perhaps not wanted, a sentence each."""


def export(
    run: Run,
    path: str | Path,
    *,
    member: int = 0,
    license: str = UNKNOWN,
    onnx: bool | None = None,
    overwrite: bool = False,
    address: str | None = None,
) -> Exported:
    """Write a model as plain PyTorch and ONNX with a model card.

    Args:
        run: Trained models.
        path: A new or empty folder.
        member: Which model, if there are several.
        license: An identifier of the hub, such as ``mit``.
        onnx: Write ONNX files; if the extra is installed when None.
        overwrite: Replace a model that was exported there before.
        address: What `unknot.load` will take, for the card; the folder when None.

    Raises:
        ConfigError: The model diverged, is not finished, or has a layer that cannot be exported.
        StoreError: The folder holds something else.
    """
    path = as_path("path", path)
    check_license(license)
    check_exportable(run, member)
    check_target(path, overwrite=overwrite)
    path = path.resolve() if path.is_dir() else path  # a link to a folder stays one
    if onnx and not is_available():
        raise ConfigError(MISSING)
    lone = run if run.spec.lone else run.member(member)
    plain = plain_model(lone)
    with atomic_path(path, new=not overwrite) as part:
        part.mkdir()
        plain.write(part)
        x, z = trial_inputs(lone)
        net = plain.load()
        errors = {"PyTorch": _error(lone, x, z, _plain_outputs(net, lone, x, z))}
        if onnx or (onnx is None and is_available()):
            outside = _outside(lone, x)
            write_onnx(net, part, outside[:2], z[:2])
            if (outputs := run_onnx(part, outside, z)) is not None:
                errors["ONNX"] = _error(lone, x, z, outputs)
        if max(errors.values()) > LARGEST:
            raise RuntimeError(f"The exported model gives other numbers than the run: {errors}.")
        scores = stored_records(run, lone)
        latents = measure_latents(lone)
        (part / "traversals.png").write_bytes(png(traversal_view(lone, latents)))
        text = card(
            lone,
            latents[0],
            scores,
            license=license,
            address=address or f"{path.name}/{RUN}",
            errors=errors,
            trials=TRIALS,
        )
        (part / "README.md").write_text(text, encoding="utf-8")
        paths = _write_run(run, lone, scores, part / RUN)
        _write_config(lone, errors, part)
    notes = [f"Without ONNX. {MISSING}"] if onnx is None and not is_available() else []
    if paths:
        notes.append(f"The run's id depends on a path, which is in the files: {', '.join(paths)}.")
    return Exported(path, errors, tuple(notes))


def check_exportable(run: Run, member: int) -> None:
    """Refuse a model that is not trained to its end.

    Raises:
        ConfigError: There is no such model, or it is not.
    """
    check_member(run, member)
    if member in run.diverged:
        raise ConfigError(f"Seed {run.spec.seed_list[member]} diverged; it cannot be exported.")
    if not run.training.finished:
        raise ConfigError("The run is not finished; resume it before it is exported.")


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse a folder with anything but a model that was exported before.

    Raises:
        StoreError: There is something else in it, or the model must not be replaced.
    """
    check_folder(path)
    config = path / CONFIG
    ours = exported_files(read_whole(config)) if config.is_file() else set()
    files = (file for file in path.rglob("*") if file.is_symlink() or not file.is_dir())
    for file in files:
        name = file.relative_to(path).as_posix()
        if name not in ours and file.parent.name != "__pycache__":  # of who used model.py
            raise StoreError(
                f"{path} holds {name}, which is no file of an exported model; choose another "
                "folder with --out."
            )
    if not ours:
        return
    if not overwrite:
        raise StoreError(
            f"{path} already holds an exported model; choose another folder, or replace it "
            "with --force (in Python: overwrite=True)."
        )


def exported_files(config: bytes) -> set[str]:
    """Names of the files of an exported model, by its ``config.json``; none of another's."""
    try:
        facts = parse_json(config)
        return {CONFIG, *facts["files"]} if facts["format"] == FORMAT else set()
    except (ValueError, LookupError, TypeError):
        return set()


def trial_inputs(run: Run) -> tuple[Tensor, Tensor]:
    """Images as the encoder takes them, and codes."""
    shape = TRIALS, *run.dataset.shape
    x = noise.uniform(0, "export/images", 0, *shape)
    if run.has_data:
        rows = sample_rows(run, TRIALS)[:TRIALS]
        x = run.dataset.batch(rows).cpu().float()
    z = noise.normal(0, "export/codes", 0, TRIALS, run.spec.net.settings.latents)
    return x, z


def stored_records(run: Run, lone: Run) -> list[Record]:
    """Scores of a model at its end, from the folder of its population."""
    if run.path is None or run.training.weight_steps:
        return []
    (name,) = lone.spec.ids()
    return [r for r in records.read(run.path) if r.id == name and r.step is None and r.applies]


def _outside(run: Run, x: Tensor) -> Tensor:
    """Images as people have them."""
    return run.dataset.unit(x).reshape(len(x), *outside_shape(run))


def _plain_outputs(net: Any, run: Run, x: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    with torch.no_grad():
        return *net.encode(_outside(run, x)), net.decode(z)


def _error(run: Run, x: Tensor, z: Tensor, outputs: tuple[Tensor, Tensor, Tensor]) -> float:
    """Largest difference of codes and images, as a share where they exceed 1."""
    q = run.posterior(x)
    theirs = q.mean, q.logvar, _outside(run, run.decode(z).cpu())
    errors = []
    for ours, their in zip(outputs, theirs, strict=True):
        exact = their.cpu().double()
        scale = max(1.0, float(exact.abs().max()))
        errors.append(float((ours.double() - exact).abs().max()) / scale)
    return max(errors)


def _write_run(run: Run, lone: Run, scores: list[Record], folder: Path) -> tuple[str, ...]:
    """The run as an archive of it has it; gives paths that have to stay in it."""
    with tempfile.TemporaryDirectory(prefix=".run-", dir=folder.parent) as scratch:
        source = run.path
        if source is None or not run.spec.lone or run.training.weight_steps:
            source = lone.save(Path(scratch) / RUN)
            records.append(source, scores)
        file = Path(scratch) / "run.zip"
        contents = write_archive(source, file, weights="full")
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if name != MANIFEST]
            archive.extractall(folder, names)
    return contents.paths


def _write_config(run: Run, errors: Mapping[str, float], folder: Path) -> None:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    facts = {
        "format": FORMAT,
        "unknot": unknot.__version__,
        "objective": run.spec.objective.name,
        "net": run.spec.net.name,
        "data": run.dataset.name,
        "noun": run.dataset.noun,
        "shape": [*outside_shape(run)],
        **({"columns": [*run.dataset.columns]} if run.dataset.columns else {}),
        "latents": run.spec.net.settings.latents,
        "seed": run.spec.seed_list[0],
        "id": run.spec.ids()[0],
        "errors": errors,
        "files": {
            file.relative_to(folder).as_posix(): {
                "sha256": file_sum(file),
                "bytes": file.stat().st_size,
            }
            for file in files
        },
    }
    (folder / CONFIG).write_text(json.dumps(facts, indent=1), encoding="utf-8")
