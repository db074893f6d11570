"""A killed run, resumed, ends as if nothing had happened: with real SIGKILLs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Kills its own process at the n-th call of a function, before, in the middle of, or after it.
SABOTAGE = """
import os, signal, sys
from pathlib import Path
where, nth = os.environ.get("DIE", "never:0").split(":")
calls = [0]
def die(): os.kill(os.getpid(), signal.SIGKILL)
def counted(name):
    if where != name: return False
    calls[0] += 1
    return calls[0] == int(nth)
write, replace = Path.write_bytes, Path.replace
def half_written(path, data):
    if path.name == "state.safetensors" and counted("half"):
        write(path, data[: len(data) // 2])
        os.sync()
        die()
    return write(path, data)
def renamed(path, target):
    if target.name.startswith("step-") and counted("written"): die()
    result = replace(path, target)
    if target.name.startswith("step-") and counted("renamed"): die()
    return result
Path.write_bytes, Path.replace = half_written, renamed
from unknot.cli.main import main
sys.exit(main())
"""


def unknot(*words, die="never:0", wait=True):
    process = subprocess.Popen(
        [sys.executable, "-c", SABOTAGE, *map(str, words)],
        env={**os.environ, "DIE": die, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if wait:
        process.output = process.communicate(timeout=300)[0]
    return process


def settings(tiny, out, steps):
    return (
        *("train", "--data", "arrays", "--set", f"data.path={tiny}", "--net", "linear"),
        *("--set", "net.latents=3", "--seeds", "0,5", "--steps", steps, "--batch", 8),
        *("--set", "log_every=7", "--checkpoint-every", 20, "--device", "cpu", "--out", out),
    )


def result(out: Path) -> tuple[bytes, bytes]:
    return (out / "weights.safetensors").read_bytes(), (out / "curves.csv").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    done = unknot(*settings(tiny, out, 120))
    assert done.returncode == 0, done.output
    return result(out)


@pytest.mark.parametrize("where", ["half:1", "half:3", "written:2", "renamed:2"])
def test_killed_while_a_checkpoint_is_written(tiny, tmp_path, undisturbed, where):
    out = tmp_path / "run"
    killed = unknot(*settings(tiny, out, 120), die=where)
    assert killed.returncode == -signal.SIGKILL
    assert not (out / "weights.safetensors").exists()
    resumed = unknot("resume", out, "--device", "cpu")
    assert resumed.returncode == 0, resumed.output
    assert result(out) == undisturbed
    assert not list((out / "checkpoints").glob(".*"))


def test_killed_at_moments_of_its_own_choosing(tiny, tmp_path, undisturbed):
    """Killed again and again, by the clock, each time a little later than its last checkpoint."""
    out, kills = tmp_path / "run", 0
    process = unknot(*settings(tiny, out, 120), wait=False)
    for _ in range(20):
        before = sorted((out / "checkpoints").glob("step-*"))
        while process.poll() is None and sorted((out / "checkpoints").glob("step-*")) == before:
            time.sleep(0.001)
        time.sleep(0.003 * kills)
        process.kill()
        process.communicate()
        if process.returncode == 0:
            break
        kills += 1
        process = unknot("resume", out, "--device", "cpu", wait=False)
    process.communicate(timeout=300)
    assert kills >= 2
    assert result(out) == undisturbed


def test_ctrl_c_stops_cleanly_and_resumes(tiny, tmp_path):
    """Ends with 130 and a checkpoint of the very step it stopped at."""
    out, whole = tmp_path / "run", tmp_path / "whole"
    rarely = ("--checkpoint-every", 100_000)
    process = unknot(*settings(tiny, out, 2_000), *rarely, wait=False)
    while process.poll() is None and not (out / "run.toml").exists():
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 130, output
    assert f"unknot resume {out}" in output
    assert len(list((out / "checkpoints").glob("step-*"))) == 1
    resumed = unknot("resume", out, "--device", "cpu")
    assert resumed.returncode == 0, resumed.output
    assert unknot(*settings(tiny, whole, 2_000), *rarely).returncode == 0
    assert result(out) == result(whole)
