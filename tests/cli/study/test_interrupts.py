"""Ctrl-C at any moment of a study's first seconds: one line and exit code 130."""

import os
import signal
import subprocess
import sys
import time

import pytest
from studies.bars import study_text

COMMAND = [sys.executable, "-m", "unknot", "study", "run"]


def interrupted(file, folder, seconds, ignoring=False):
    """Start a study as a user does, interrupt it after some seconds, and hear what it says."""

    def prepare():
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignoring else signal.SIG_DFL)

    process = subprocess.Popen(
        [*COMMAND, str(file), "--out", str(folder), "--device", "cpu", "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=prepare,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    return process.returncode, output


@pytest.fixture
def file(tmp_path, tiny):
    path = tmp_path / "bars.toml"
    path.write_text(study_text(tiny, steps=100_000))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.2, 0.5, 0.9, 1.4, 2.0, 2.8, 4.0])
def test_ctrl_c_at_start_up_is_one_line_and_130(file, tmp_path, seconds):
    code, output = interrupted(file, tmp_path / "study", seconds)
    assert code == 130, output
    assert output.count("Stopped.") == 1
    assert "Traceback" not in output
    assert "ignored in" not in output


def test_it_is_heard_where_a_shell_has_it_ignored(file, tmp_path):
    """As in `nohup unknot study run ... &` in a script."""
    code, output = interrupted(file, tmp_path / "study", 1.5, ignoring=True)
    assert (code, output.count("Stopped.")) == (130, 1)
