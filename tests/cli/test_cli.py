"""The command itself: its verbs, its help, and how it leaves."""

import subprocess
import sys

import pytest

VERBS = [
    "demo",
    "train",
    "resume",
    "encode",
    "evaluate",
    "score",
    "show",
    "gallery",
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
    ]:
        code, out, _ = unknot(*([verb] if isinstance(verb, str) else verb), "--help")
        assert code == 0
        assert "Example" in out


def test_debug_shows_the_traceback(monkeypatch):
    from unknot.cli.main import main
    from unknot.core.errors import StoreError

    monkeypatch.setattr(sys, "argv", ["unknot", "--debug", "resume", "nowhere"])
    with pytest.raises(StoreError):
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
