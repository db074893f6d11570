"""Verbs that write something to hand on: on a full disk, and two of them at once."""

import json
import os
import tempfile
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
from processes import Command
from torture.disks import small_disk

from unknot.core.checksums import file_sum
from unknot.runs import repair as run_repair
from unknot.runs.folder import RunFolder
from unknot.studies import repair as study_repair

SMALL = ("--net", "linear", "--steps", "5", "--batch", "8", "--device", "cpu")
VERBS = {
    "study.zip": ("archive", "{study}", "--out"),
    "merged": ("study", "merge", "{study}", "{study}", "--out"),
    "model": ("export", "{run}", "--no-onnx", "--device", "cpu", "--out"),
    "figures": ("figures", "iwae_bound", "--out"),
    "faces.html": ("explore", "{run}", "--device", "cpu", "--out"),
    "table.csv": ("study", "table", "{study}", "--csv"),
    "codes.npz": ("encode", "{run}", "--device", "cpu", "--out"),
    "gallery": ("gallery", "vae", "--data", "{images}", *SMALL, "--out"),
}
"""What a verb writes, and its words."""
NEW = ("study.zip", "merged", "model", "faces.html", "codes.npz")
"""Of these, two at once would be one that is lost."""


def full_disk(world, name, room):
    """With little room a verb ends well or with one line; nothing is half-written."""
    place = world.place()
    with small_disk(place, room) as extend:
        code, output = _write(world, place / name)
        assert code in (0, 1), output
        assert is_whole(place / name) or code == 1, output
        assert not [*place.rglob(".*.part")]
        extend()
        again, output = _write(world, place / name)
        assert again == 0 or (code == 0 and name in NEW and "choose another" in output), output
        assert is_whole(place / name)


def full_scratch(world, room):
    """What an archive cannot be unpacked to is said, and which archive it was; room is enough."""
    place = world.place()
    with small_disk(place, room):
        command = Command("check", world.archive, prepare=partial(_set_scratch, str(place)))
        output = command.output()
        if command.returncode == 0 and room > Path(world.archive).stat().st_size:
            assert f"{world.archive} is whole" in output
            return
        assert command.returncode == 1, output
        assert f"Could not unpack {world.archive}" in output
        assert f"{place}: no space left on device; set TMPDIR" in output


def _set_scratch(place):
    os.environ["TMPDIR"], tempfile.tempdir = place, None


def two_at_once(world, name):
    """One of two is there in the end, whole; who was late is told so, and replaces nothing."""
    place = world.place()
    both = [Command(*_words(world, place / name)) for _ in range(2)]
    outputs = [command.output() for command in both]
    codes = sorted(command.returncode for command in both)
    assert codes == [0, 2] if name in NEW else codes in ([0, 0], [0, 2]), outputs
    assert not any("Traceback" in output for output in outputs), outputs
    assert is_whole(place / name), outputs
    assert not [*place.rglob(".*.part")]


def _words(world, out):
    names = {"study": world.study, "run": world.run, "images": world.images}
    return [*(word.format(**names) for word in VERBS[out.name]), str(out)]


def _write(world, out):
    command = Command(*_words(world, out))
    output = command.output()
    assert "Traceback" not in output, output
    assert output.count("unknot: ") <= 1, output
    return command.returncode, output


def is_whole(path: Path) -> bool:
    """Whether it is there; raises where it is not all there."""
    if not path.exists():
        return False
    if path.suffix == ".zip":
        assert zipfile.ZipFile(path).testzip() is None
    elif path.name == "merged":
        assert not study_repair.find_faults(path)
    elif path.name == "model":
        files = json.loads((path / "config.json").read_text())["files"]
        assert all(file_sum(path / file) == facts["sha256"] for file, facts in files.items())
    elif path.suffix == ".npz":
        with np.load(path) as arrays:
            assert len(arrays["index"]) == len(arrays["factors"]) == 40
    elif path.suffix == ".csv":
        assert path.read_text().count("\n") == 5
    elif path.name == "gallery":
        run = path / "vae"
        assert not run.exists() or not run_repair.find_faults(RunFolder(run))
        return _ends(path / "index.html", b"</html>")
    elif path.name == "figures":
        return _ends(path / "iwae_bound.svg", b"</svg>")
    else:
        return _ends(path, b"</html>")
    return True


def _ends(path: Path, end: bytes) -> bool:
    assert not path.exists() or path.read_bytes().rstrip().endswith(end)
    return path.exists()
