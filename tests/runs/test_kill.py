"""A killed run, resumed, ends as if nothing had happened: with real SIGKILLs."""

import functools
import signal
import time
from pathlib import Path

import pytest
from processes import Command
from runs.sabotage import die, interrupt

pytestmark = pytest.mark.slow


def ended(*words, **options):
    """A command that has ended, and what it wrote."""
    process = Command(*words, **options)
    return process, process.output()


def settings(tiny, out, steps, every=20):
    return (
        *("train", "--data", "arrays", "--set", f"data.path={tiny}", "--net", "linear"),
        *("--set", "net.latents=3", "--seeds", "0,5", "--steps", steps, "--batch", 8),
        *("--set", "log_every=7", "--checkpoint-every", every, "--device", "cpu", "--out", out),
    )


def result(out: Path) -> tuple[bytes, bytes]:
    return (out / "weights.safetensors").read_bytes(), (out / "curves.csv").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    process, output = ended(*settings(tiny, out, 120))
    assert process.returncode == 0, output
    return result(out)


@pytest.mark.parametrize(
    ("where", "nth"), [("half", 1), ("half", 3), ("written", 2), ("renamed", 2)]
)
def test_killed_while_a_checkpoint_is_written(tiny, tmp_path, undisturbed, where, nth):
    out = tmp_path / "run"
    killed, _ = ended(*settings(tiny, out, 120), prepare=functools.partial(die, where, nth))
    assert killed.returncode == -signal.SIGKILL
    assert not (out / "weights.safetensors").exists()
    resumed, output = ended("resume", out, "--device", "cpu")
    assert resumed.returncode == 0, output
    assert result(out) == undisturbed
    assert not list((out / "checkpoints").glob(".*"))


def test_killed_at_moments_of_its_own_choosing(tiny, tmp_path, undisturbed):
    """Killed again and again, by the clock, each time a little later than its last checkpoint."""
    for attempt in range(5):  # one that is seen too late has ended before it can be killed
        out, kills = tmp_path / f"run {attempt}", 0
        process = Command(*settings(tiny, out, 120))
        for _ in range(20):
            before = sorted((out / "checkpoints").glob("step-*"))
            while process.poll() is None and sorted((out / "checkpoints").glob("step-*")) == before:
                time.sleep(0.001)
            time.sleep(0.003 * kills)
            process.kill()
            process.output()
            if process.returncode == 0:
                break
            kills += 1
            process = Command("resume", out, "--device", "cpu")
        process.output()
        assert result(out) == undisturbed
        if kills >= 2:
            return
    pytest.fail("it was never killed twice")


def test_ctrl_c_stops_cleanly_and_resumes(tiny, tmp_path):
    """Ends with 130 and a checkpoint of the very step it stopped at."""
    out, whole = tmp_path / "run", tmp_path / "whole"
    rarely = 100_000
    process, output = ended(
        *settings(tiny, out, 120, rarely), prepare=functools.partial(interrupt, 50)
    )
    assert process.returncode == 130, output
    assert f"unknot resume {out}" in output
    assert len(list((out / "checkpoints").glob("step-*"))) == 1
    for process, output in (
        ended("resume", out, "--device", "cpu"),
        ended(*settings(tiny, whole, 120, rarely)),
    ):
        assert process.returncode == 0, output
    assert result(out) == result(whole)
