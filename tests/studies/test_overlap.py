"""Populations are scored while others train: when, with which numbers, how many at once."""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from functools import partial
from pathlib import Path

import pytest
import torch
from processes import children
from studies.bars import HEARING, kill, records, run_inline, study_text

from unknot.studies.execute import driver, local
from unknot.studies.execute.events import DEATHS, Done, Failed, Progress, Scored, Warned
from unknot.studies.execute.machine import Machine
from unknot.studies.execute.overlap import TURNS, OverlapPool
from unknot.studies.execute.task import Task
from unknot.studies.file.study_file import StudyFile

MORE = """
        [[grid]]
        objective = {name = "vae"}
        [[grid]]
        objective = {name = "ae"}
"""
HERE = Machine("cpu:0", 1, 1)
"""A name of the CPU that is taken for that of a GPU."""
SCRIPT = """
import sys
from pathlib import Path
from unknot.runs.training import Stopped
from unknot.studies.execute import driver
from unknot.studies.execute.machine import Machine
from unknot.studies.file.study_file import StudyFile
file, folder = map(Path, sys.argv[1:])
try:
    here = Machine("cpu:0", 1, 1)
    driver.run(folder, StudyFile.parse(file.read_text()), machine=lambda *_, **__: here)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.fixture(scope="module")
def whole(images, tmp_path_factory):
    """Four populations, one after the other in this process."""
    folder = tmp_path_factory.mktemp("whole") / "study"
    run_inline(folder, study_text(images, more=MORE))
    return folder


def test_scores_beside_training_are_those_of_one_after_the_other(images, whole, tmp_path, started):
    study, heard = StudyFile.parse(study_text(images, more=MORE)), []
    driver.run(tmp_path / "study", study, machine=lambda *_, **__: HERE, watch=heard.append)
    assert records(tmp_path / "study") == records(whole)
    assert len(started) == 2, "one that trains and one that scores"
    assert [type(event) for event in heard if not isinstance(event, Progress)].count(Done) == 4


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu_scores_beside_training_are_those_after_it(images, tmp_path):
    study, card = StudyFile.parse(study_text(images)), Machine("cuda", 1, None)
    for name, pool in (("beside", None), ("after", partial(local.local, workers=1))):
        driver.run(tmp_path / name, study, machine=lambda *_, **__: card, pool=pool)
    assert records(tmp_path / "beside") == records(tmp_path / "after")


DIED = None
"""What is heard of a worker that is gone."""


class FakeWorker(local.WorkerProcess):
    """One that says what a script has for it: by task and what is to be done, or else success."""

    made: list["FakeWorker"]
    script: dict

    def __init__(self, inbox, _environment, device):
        self.inbox, self.device, self.task, self.ready = inbox, device, None, False
        self.given, self.process = [], self
        self.made.append(self)
        self.say({"event": "ready"})

    death = "signal 9"

    def say(self, fact):
        if fact is DIED:
            self.made.remove(self)
        self.inbox.put((self, fact and (fact, bytearray())))

    def give(self, task):
        self.task = task
        kind = "train" if task.train_only else "all"
        self.given.append((task.key, kind))
        end = {"event": "trained"} if task.train_only else {"event": "scored", "records": []}
        answers = self.script.get((task.key, kind), deque())
        self.say(answers.popleft() if answers else end)

    def terminate(self):
        if self in self.made:
            self.say(DIED)

    def wait(self, _seconds):
        pass

    def close(self):
        pass


@pytest.fixture
def pool(monkeypatch):
    """What a pool of fake workers says of tasks, and what each worker was given."""
    monkeypatch.setattr(local, "WorkerProcess", FakeWorker)

    def perform(keys, workers=1, devices=(), **script):
        FakeWorker.made = []
        FakeWorker.script = {
            tuple(name.split("_")): deque(answers) for name, answers in script.items()
        }
        tasks = [Task(key, "/nowhere", [], []) for key in keys]
        with OverlapPool(tasks, workers=workers, environment={}, devices=devices) as pool:
            every = [*pool.alive]
            start = pool._start_one

            def note(team):
                start(team)
                every.extend(pool.alive - {*every})

            pool._start_one = note
            events = [e for e in pool.events() if not isinstance(e, Progress)]
        return events, every

    return perform


def test_who_trains_goes_on_and_another_scores(pool):
    events, (trainer, scorer) = pool("abcd")
    assert [event.key for event in events] == [*"abcd"]
    assert trainer.given[:4] == [(key, "train") for key in "abcd"]
    assert {kind for _, kind in scorer.given} == {"all"}
    assert sorted(scorer.given + trainer.given[4:]) == [(key, "all") for key in "abcd"]


def test_each_device_has_one_that_trains(pool):
    _, every = pool("abcdefgh", workers=2, devices=("cuda:0", "cuda:1"))
    trainers = [worker for worker in every if any(kind == "train" for _, kind in worker.given)]
    assert sorted(worker.device for worker in trainers) == ["cuda:0", "cuda:1"]


NO_MEMORY = {"event": "failed", "error": "no memory", "memory": True}
BAD = {"event": "failed", "error": "bad"}


def test_a_death_costs_only_what_was_being_done(pool):
    events, every = pool("abc", b_train=[DIED], a_all=[DIED])
    assert sorted(type(e).__name__ for e in events) == ["Lost"] * 2 + ["Scored"] * 3
    given = sorted(entry for worker in every for entry in worker.given)
    twice = [("b", "train"), ("a", "all")]
    assert given == sorted([(k, kind) for k in "abc" for kind in ("train", "all")] + twice)


def test_a_failure_is_one_and_the_others_go_on(pool):
    events, _ = pool("abc", a_train=[BAD], b_all=[BAD])
    assert {e.key: type(e) for e in events} == {"a": Failed, "b": Failed, "c": Scored}


@pytest.mark.parametrize("place", ["c_train", "a_all"])
@pytest.mark.parametrize("answers", [[NO_MEMORY], [DIED] * DEATHS])
def test_without_memory_for_both_they_take_turns(pool, place, answers):
    """What failed beside another is tried alone before it is given up."""
    events, every = pool("abcd", **{place: answers})
    assert [e.text for e in events if isinstance(e, Warned)] == [TURNS]
    assert sorted(e.key for e in events if isinstance(e, Scored)) == [*"abcd"]
    assert not any(isinstance(event, Failed) for event in events)
    assert all(worker not in FakeWorker.made for worker in every[1:2]), "its memory is free"


def test_a_population_that_fails_alone_too_is_given_up(pool):
    """The driver halves it then."""
    events, every = pool("abcdef", c_train=[NO_MEMORY], c_all=[NO_MEMORY])
    (failed,) = (event for event in events if isinstance(event, Failed))
    assert (failed.key, failed.memory) == ("c", True)
    assert sorted(e.key for e in events if isinstance(e, Scored)) == [*"abdef"]
    assert ("f", "train") in every[0].given, "others are scored beside training again"


def start(file, folder):
    """A driver whose populations are scored beside others."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(file), str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stderr=subprocess.PIPE,
        preexec_fn=HEARING,
    )


def scores(folder):
    return list(folder.glob("populations/*/scores.jsonl"))


def weights(folder):
    return list(folder.glob("populations/*/weights.safetensors"))


def wait(process, condition):
    while process.poll() is None and not condition():
        time.sleep(0.002)


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")


@needs_proc
@pytest.mark.slow
def test_kills_while_one_is_scored_and_another_trained_change_nothing(images, tmp_path):
    file, other = tmp_path / "bars.toml", tmp_path / "whole"
    file.write_text(study_text(images, steps=600, more=MORE).replace("every = 20", "every = 100"))
    run_inline(other, file.read_text())
    folders = (tmp_path / f"study {attempt}" for attempt in range(5))
    folder = next(folder for folder in folders if killed_and_interrupted(file, folder))
    process = start(file, folder)
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    assert records(folder) == records(other)


def killed_and_interrupted(file, folder):
    """Whether a study was stopped in its middle twice; it may have ended before we saw it."""
    process = start(file, folder)
    wait(process, lambda: weights(folder) and len(children(process.pid)) == 2)
    for victim in children(process.pid):  # who trains, and who scores
        kill(victim)
        wait(process, lambda: len(children(process.pid)) == 2)
    wait(process, lambda: scores(folder))
    kill(process.pid)
    process.communicate()
    if len(scores(folder)) == 4:
        return False
    assert process.returncode == -signal.SIGKILL
    process = start(file, folder)
    wait(process, lambda: len(weights(folder)) > 2)
    left = children(process.pid)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in left)
    if len(scores(folder)) == 4:
        return False
    assert process.returncode == 130, said.decode()
    return True
