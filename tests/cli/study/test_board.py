"""What the terminal shows while a study runs."""

import io

import pytest

from unknot.cli.screen import Screen
from unknot.cli.study import board
from unknot.studies.execute.events import Done, Finished, Progress, Warned
from unknot.studies.execute.task import Outcome


@pytest.mark.parametrize("terminal", [True, False])
def test_warnings_of_workers_stand_below_the_table_and_stay(monkeypatch, terminal):
    shown = io.StringIO()
    # Without moves of the cursor, so that what was printed can be read.
    console = Screen(file=shown, force_terminal=terminal, width=90, color_system=None)
    monkeypatch.setattr(board, "stderr", console)
    text = "SlowerWarning: no compiler [/here]; steps run as they are"
    with board.watching() as (_, add):
        for key in ("a", "b"):
            add(Warned(key, text))
        if not terminal:
            assert shown.getvalue() == f"{text}\n", "at once, and once"
    *_, last = [line for line in shown.getvalue().splitlines() if line.strip()]
    assert last.endswith(text)


def test_a_warning_leaves_a_population_at_work():
    counts = board.Board()
    counts.sizes["a"] = (2, 100)
    counts.add(Progress("a", "train", 50))
    counts.add(Warned("a", "slow"))
    assert counts.at == {"a": ("train", 50)}
    console = Screen(file=io.StringIO(), width=90)
    console.print(counts)
    *_, line, last = console.file.getvalue().splitlines()
    assert line.startswith("50%")
    assert last == "slow"


def test_a_line_says_what_is_trained_and_what_is_scored():
    counts = board.Board()
    counts.sizes, counts.metrics = {"a": (2, 100), "b": (1, 100), "c": (4, 100)}, 5
    counts.add(Progress("a", "score", 3))
    counts.add(Progress("b", "train", 50))
    assert counts.line().startswith("36%, 0 of 7 models done, scoring 3 of 10, ")
    counts.ended["c"] = True
    assert counts.line().startswith("93%, 4 of 7 models done, scoring 23 of 30, ")
    counts.add(Progress("b", "score", 1))
    assert counts.line().startswith("100%, 4 of 7 models done, training done, scoring 24 of 35, ")


def test_models_count_as_soon_as_they_have_their_scores():
    counts = board.Board()
    counts.sizes, counts.metrics = {"a": (4, 100)}, 5
    counts.add(Progress("a", "score", 7))
    counts.add(Finished("a", 1))
    assert counts.line().startswith("100%, 1 of 4 models done, training done, scoring 7 of 20, ")
    counts.add(Progress("a", "score", 16))
    counts.add(Finished("a", 3))
    assert "3 of 4 models done" in counts.line()
    counts.add(Done("a", Outcome("a", 100, 1.0, "cpu", {}, [], [])))
    assert "4 of 4 models done" in counts.line(), "none twice"
