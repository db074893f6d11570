"""`unknot study table` on narrow terminals."""

import pytest
from rich.console import Console

from unknot.cli import screen
from unknot.cli.study.table import print_short
from unknot.studies.export import headline_columns

ROW = {"id": "0f3e70aa11bb", "seed": 0, "objective.beta": 4, "mig": 0.0217312, "optim.lr": 1e-4,
       "dci.disentanglement": 0.123456, "dci.completeness": 0.2}  # fmt: skip


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_columns_that_fit_are_whole_and_the_others_are_named(width, monkeypatch, capsys):
    monkeypatch.setattr(screen, "stdout", Console(width=width))
    print_short([*ROW], [ROW, {**ROW, "mig": 11.5}], "runs")
    out, err = capsys.readouterr()
    table = [line for line in out.splitlines() if not line.startswith("Not shown")]
    assert all(len(line) <= width for line in table[:3])
    assert "…" not in out
    head = table[0].split()
    brief = [name.removeprefix("objective.") for name in ROW]
    if "configuration" in out + err:  # settings share a column where there is little room
        brief = ["id", "seed", "configuration", "mig", *brief[5:]]
    assert head == brief[: len(head)]
    left_out = brief[len(head) :]
    said = " ".join((out + err).split())
    assert not left_out or f"Not shown, for want of room: {', '.join(left_out)}." in said


SWEPT = {"id": "0f3e70aa11bb", "seed": 0, "objective": "control_vae", "objective.ki": 0.001,
         "objective.beta_min": 0.1, "objective.ramp_every": 5000, "optim.lr": 1e-4,
         "mig": 0.2, "sap": 0.1, "dci": 0.4}  # fmt: skip


def test_scores_have_room_beside_many_settings(monkeypatch, capsys):
    monkeypatch.setattr(screen, "stdout", Console(width=80))
    print_short([*SWEPT], [SWEPT, {**SWEPT, "objective": "vae", "objective.ki": None}], "runs")
    head, first, second, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "seed", "configuration", "mig", "sap"]
    assert "control_vae ki 0.001, beta_min" in first
    assert first.split()[-2:] == ["0.200", "0.100"]
    assert "vae beta_min 0.100, ramp_every 5000" in second, "without the setting it lacks"
    assert max(map(len, (head, first, second))) <= 80
    monkeypatch.setattr(screen, "stdout", Console(width=200))
    print_short([*SWEPT], [SWEPT], "runs")
    assert capsys.readouterr().out.split()[:4] == ["id", "seed", "objective", "ki"]
    plan = {name: value for name, value in SWEPT.items() if "." in name or name == "objective"}
    monkeypatch.setattr(screen, "stdout", Console(width=40))
    print_short([*plan], [plan], "configurations")
    assert capsys.readouterr().out.split()[:2] == ["objective", "ki"], "settings alone stay apart"


def test_numbers_are_short_but_learning_rates_are_whole(monkeypatch, capsys):
    monkeypatch.setattr(screen, "stdout", Console(width=200))
    print_short([*ROW], [ROW], "runs")
    cells = capsys.readouterr().out.splitlines()[1].split()
    assert cells == ["0f3e70", "0", "4", "0.022", "0.0001", "0.123", "0.200"]


def test_scores_come_before_their_parts():
    scores = ["dci", "dci.error", "mig", "mig.x"]
    rows = [{"id": "a", "seed": 0, "status": "done", **dict.fromkeys(scores, 0.5)}]
    assert headline_columns(rows, scores)[-4:] == ["dci", "mig", "dci.error", "mig.x"]
