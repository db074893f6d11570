"""The command itself: its verbs, its help, and how it leaves."""

import errno
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from unknot.cli.main import main
from unknot.core import registry
from unknot.core.errors import ConfigError, StoreError, WriteError

VERBS = [
    "demo",
    "train",
    "resume",
    "encode",
    "evaluate",
    "score",
    "show",
    "gallery",
    "figures",
    "learn-loss",
    "distances",
    "list",
    "report",
    "study",
    "data",
]


def test_help_names_every_verb_and_each_has_an_example(unknot):
    code, out, _ = unknot("--help")
    assert code == 0
    assert all(verb in out for verb in VERBS)
    for verb in [
        *VERBS[:-2],
        *(("study", verb) for verb in ("plan", "run", "status", "table", "extract")),
        ("data", "list"),
        ("data", "show"),
        ("data", "distances"),
        ("data", "blurs"),
    ]:
        code, out, _ = unknot(*([verb] if isinstance(verb, str) else verb), "--help")
        assert code == 0
        assert "Example" in out


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["unknot", "--debug", "resume", "nowhere"])
    with pytest.raises(StoreError):
        main()


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (
            KeyError("no\nsuch thing"),
            70,
            r"unknot: This is a bug in unknot: KeyError: 'no\\nsuch thing'; details in .*\.txt\n",
        ),
        (ConfigError("steps must be positive."), 2, r"unknot: steps must be positive\.\n"),
        (WriteError("Could not write x: disk full."), 1, "unknot: Could not write x: disk full.\n"),
        (MemoryError(), 1, "unknot: not enough memory for the data; use fewer rows, .*\n"),
        (
            MemoryError("Unable to allocate 12 GiB"),
            1,
            r"unknot: .* \(Unable to allocate 12 GiB\); use .*\n",
        ),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
    ],
)
def test_an_error_is_one_line_and_the_exit_code_says_whose_fault_it_is(
    monkeypatch, capsys, tmp_path, error, code, text
):
    def fail():
        raise error

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    monkeypatch.setattr(registry, "names", lambda _: fail())
    monkeypatch.setattr(sys, "argv", ["unknot", "list", "nets"])
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # which a broken pipe replaces
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == code
    assert re.fullmatch(text, capsys.readouterr().err)
    details = [file.read_text() for file in tmp_path.iterdir()]
    assert ["Traceback" in text for text in details] == [True] * (code == 70)
    if code == 70:
        assert end.value.__cause__ is error
        monkeypatch.setattr(sys, "argv", ["unknot", "--debug", "list", "nets"])
        with pytest.raises(KeyError):
            main()


def test_import_and_help_leave_torch_alone():
    heavy = "('torch', 'numpy', 'pydantic', 'matplotlib', 'scipy', 'sklearn')"
    for code in (
        "import sys, unknot; print([m for m in sys.modules if m in %s])",
        "import sys; sys.argv = ['unknot', '--help']\n"
        "from unknot.cli.main import main\n"
        "try: main()\nexcept SystemExit: print([m for m in sys.modules if m in %s])",
    ):
        said = subprocess.run(
            [sys.executable, "-c", code % heavy], capture_output=True, text=True, check=True
        )
        assert said.stdout.splitlines()[-1] == "[]"


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "unknot", "--version"], capture_output=True, text=True, check=True
    )
    import unknot

    assert done.stdout == f"unknot {unknot.__version__}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk here is full by name")
@pytest.mark.parametrize("words", [["--version"], ["list", "nets"], ["list", "nets", "--json"]])
def test_output_without_room_is_one_line(words):
    command = [sys.executable, "-m", "unknot", *words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "unknot: Could not write the output: no space left on device.\n"
    assert (done.returncode, done.stderr) == (1, said)
