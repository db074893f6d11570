"""Populations that do not fit into memory: their halves go on, and give what the whole would."""

import pytest
from studies.bars import CORES, inline, records, run_inline, study_text

from unknot.api.study_bar import StudyBar
from unknot.runs.folder import RunFolder
from unknot.studies.execute import driver, rebuild, run_task
from unknot.studies.execute.events import (
    DEATHS,
    DeathPolicy,
    Divided,
    Failed,
    Progress,
    end_event,
)
from unknot.studies.execute.machine import machine
from unknot.studies.file.study_file import StudyFile
from unknot.studies.study import Study


@pytest.fixture
def small_memory(monkeypatch):
    """Room for one model; gives the numbers of models that were tried."""
    tried, true = [], run_task.run_population_task

    def cramped(task, **options):
        tried.append(len(task.members))
        if len(task.members) > 1:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: no memory")
        return true(task, **options)

    monkeypatch.setattr(run_task, "run_population_task", cramped)
    return tried


def pool(tasks):
    for task in tasks:
        fact = run_task.run_task(task, tell=lambda _, __: None, stop=lambda: False)
        yield end_event(task.key, fact)


def members(folder):
    """All that came of each run, whatever population it was in."""
    rows, scores, _ = records(folder)
    study = Study.open(folder)
    codes = {row["id"]: study.run(row["id"], device="cpu").codes() for row in study.table()}
    rows = [{k: v for k, v in row.items() if k not in ("population", "member")} for row in rows]
    return rows, scores, codes


def run(folder, text, **options):
    return driver.run(folder, StudyFile.parse(text), device="cpu", workers=CORES, **options)


def test_halves_go_on_until_there_is_room(images, tmp_path, small_memory):
    heard, text = [], study_text(images)
    study = run(tmp_path / "study", text, pool=pool, watch=heard.append)
    assert small_memory == [2, 2, 1, 1, 1, 1]
    divisions = [event for event in heard if isinstance(event, Divided)]
    assert [[*d.parts.values()] for d in divisions] == [[1, 1], [1, 1]]
    assert all("no memory" in d.why for d in divisions)
    assert not any(isinstance(event, Failed) for event in heard)
    assert {row["status"] for row in study.table()} == {"done"}
    folders = {path.name for path in (study.path / "populations").iterdir()}
    assert folders == {population.key for population in study.store.populations()}


def test_halves_give_what_the_whole_gives(images, tmp_path, small_memory):
    text = study_text(images)
    run(tmp_path / "halved", text, pool=pool)
    run_inline(tmp_path / "whole", text)
    rows, scores, codes = members(tmp_path / "halved")
    whole_rows, whole_scores, whole_codes = members(tmp_path / "whole")
    assert (rows, scores) == (whole_rows, whole_scores)
    assert all((codes[name] == own).all() for name, own in whole_codes.items())


def test_a_single_model_fails_with_the_reason(images, tmp_path, monkeypatch):
    def cramped(task, **_):
        raise MemoryError("none at all")

    monkeypatch.setattr(run_task, "run_population_task", cramped)
    study = run(tmp_path / "study", study_text(images), pool=pool)
    assert {row["status"] for row in study.table()} == {"failed"}
    assert {row["error"] for row in study.table()} == {"MemoryError: none at all"}
    monkeypatch.undo()
    again = run(tmp_path / "study", study_text(images), pool=inline)
    assert {row["status"] for row in again.table()} == {"done"}


def test_what_is_saved_is_not_thrown_away(images, tmp_path, monkeypatch):
    """A population that has a checkpoint has had room; it fails and can be resumed."""
    true = run_task.run_population_task

    def dies(task, **options):
        steps = iter(range(60))
        true(task, **{**options, "stop": lambda: next(steps, None) is None})

    def late(tasks):
        for task in tasks:
            with pytest.raises(run_task.Stopped):
                dies(task)
            yield Failed(task.key, "died", memory=True)

    text = study_text(images, steps=2_000)
    study = run(tmp_path / "study", text, pool=late)
    assert {row["status"] for row in study.table()} == {"failed"}
    for population in study.store.populations():
        folder = RunFolder(study.store.place(population.key))
        assert population.members == 2
        assert any(folder.checkpoints.glob("step-*"))


def test_three_deaths_at_one_place_may_be_memory():
    deaths = DeathPolicy()
    events = [deaths.died("key", "signal 9") for _ in range(DEATHS)]
    assert isinstance(events[-1], Failed)
    assert events[-1].memory
    assert not end_event("key", {"event": "failed", "error": "no such file"}).memory


def test_records_of_halves_can_be_rebuilt(images, tmp_path, small_memory):
    folder = tmp_path / "study"
    run(folder, study_text(images), pool=pool)
    before = records(folder)
    (folder / "study.db").unlink()
    rebuild.rebuild(folder, lambda runs: machine(runs, device="cpu", workers=CORES))
    run_inline(folder)
    assert records(folder) == before


def test_the_bar_of_a_notebook_goes_on_after_a_division():
    moves = []
    bar = StudyBar(moves.append)
    bar.members, bar.steps, bar.done, bar.total = {"a": 3}, {"a": 10}, {"a": 0}, 30
    bar.see(Divided("a", {"b": 2, "c": 1}))
    bar.see(Progress("b", "train", 5))
    bar.see(Failed("c", "no room"))
    assert [move.step for move in moves] == [0, 10, 20]
    assert bar.errors == ["no room"]
