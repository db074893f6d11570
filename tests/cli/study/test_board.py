"""What the terminal shows while a study runs."""

import io

import pytest
from rich.console import Console

from unknot.cli import study_screen
from unknot.study.events import Progress, Warned


@pytest.mark.parametrize("terminal", [True, False])
def test_warnings_of_workers_stand_below_the_table_and_stay(monkeypatch, terminal):
    shown = io.StringIO()
    # Without moves of the cursor, so that what was printed can be read.
    console = Console(file=shown, force_terminal=terminal, width=90, color_system=None)
    monkeypatch.setattr(study_screen, "beside", console)
    text = "SlowerWarning: no compiler [/here]; steps run as they are"
    with study_screen.watching() as (_, hear):
        for key in ("a", "b"):
            hear(Warned(key, text))
        if not terminal:
            assert shown.getvalue() == f"{text}\n", "at once, and once"
    *_, last = [line for line in shown.getvalue().splitlines() if line.strip()]
    assert last.endswith(text)


def test_a_warning_leaves_a_population_at_work():
    board = study_screen.Board()
    board.sizes["a"] = (2, 100)
    board.hear(Progress("a", "train", 50))
    board.hear(Warned("a", "slow"))
    assert board.at == {"a": ("train", 50)}
    console = Console(file=io.StringIO(), width=90)
    console.print(board)
    *_, line, last = console.file.getvalue().splitlines()
    assert line.startswith("50%")
    assert last == "slow"
