"""Scores of a population: who computes them, and how many do, changes nothing."""

import json
import queue
import shutil
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

import unknot
from unknot.cli.main import app
from unknot.core.errors import ConfigError
from unknot.engine.device import Runtime
from unknot.runs import evaluate
from unknot.runs.evaluate import ScoringRequest
from unknot.runs.folder import RunFolder
from unknot.runs.loading import load_training
from unknot.runs.metric_names import model_metrics
from unknot.runs.training import Stopped
from unknot.studies.execute import driver, local, score_models
from unknot.studies.execute import run_task as tasks
from unknot.studies.execute.events import Done
from unknot.studies.execute.run_task import run_population_task
from unknot.studies.file.study_file import StudyFile

FILES = {".lock", "status.json", "weights.safetensors", "curves.safetensors", "scores.jsonl"}
QUICK = ["elbo", "mig", "sap"]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """576 images, more than are encoded in one portion: a bar of 9 lengths at 8 x 8 places."""
    path = tmp_path_factory.mktemp("images") / "bars.npz"
    factors = np.indices((9, 8, 8)).reshape(3, -1).T
    pictures = np.zeros((576, 16, 8), np.uint8)
    for picture, (length, row, column) in zip(pictures, factors, strict=True):
        picture[row : row + length + 1, column] = 200
    np.savez(path, images=pictures, factors=factors)
    return path


@pytest.fixture(scope="module")
def trained(images, tmp_path_factory):
    """The task of a population that is trained and not scored; one of its three has diverged."""
    tasks = []

    def pool(given):
        for one in given:
            tasks.append(replace(one, threads=1))
            yield Done(one.key, run_population_task(tasks[-1]))

    text = f"""
        seeds = [0]
        members = 3
        [train]
        data = {{name = "arrays", path = "{images}"}}
        net = {{name = "linear", latents = 4}}
        steps = 30
        batch = 16
        log_every = 10
        [[grid]]
        optim.lr = [0.01, 1e30, 0.001]
    """
    folder, study = tmp_path_factory.mktemp("study"), StudyFile.parse(text)
    driver.run(folder, study, device="cpu", workers=1, pool=pool)
    (only,) = tasks
    facts = json.loads((Path(only.folder) / "status.json").read_text())
    assert [member["status"] for member in facts["members"]] == ["done", "diverged", "done"]
    return only


@pytest.fixture
def copied(trained, tmp_path):
    """The task in a folder of its own."""

    def copy(name, **changes):
        folder = shutil.copytree(trained.folder, tmp_path / name)
        return replace(trained, folder=str(folder), **changes)

    return copy


@pytest.fixture
def quick(copied):
    """What a few scores give when one process computes them."""
    with threadpool_limits(1):
        return run_population_task(copied("alone", metrics=QUICK)).scores


def models(trained, wanted):
    population = load_training(RunFolder(Path(trained.folder)), trained.specs(), "cpu")
    return [model for i in (0, 2) for model in evaluate.models(population.member(i), wanted)]


def files(folder):
    return {path.name for path in Path(folder).iterdir()}


@pytest.mark.slow
def test_all_scores_are_the_same_bit_for_bit(copied, started):
    """In a thread, as a worker of a cluster may call it."""
    names = [*model_metrics(), "udr"]  # which compares several models
    alone, beside = copied("alone", metrics=names), copied("beside", metrics=names, processes=2)
    with threadpool_limits(1):
        expected = run_population_task(alone)
    assert started == []  # a worker on a CPU has one core
    heard, found = [], []
    thread = threading.Thread(
        target=lambda: found.append(
            run_population_task(beside, tell=lambda *said: heard.append(said))
        )
    )
    thread.start()
    thread.join()
    assert found == [expected]
    assert len(started) == 2
    assert sorted(score["metric"] for score in expected.scores) == sorted(2 * names)
    undefined = {
        score["metric"]: score["remarks"][0] for score in expected.scores if not score["values"]
    }
    assert list(undefined) == ["udr"]
    assert "compares several models" in undefined["udr"]
    written = [Path(one.folder, "scores.jsonl").read_bytes() for one in (alone, beside)]
    assert written[0] == written[1]
    assert files(beside.folder) == FILES
    counts = [done for phase, done in heard if phase == "score"]
    assert counts == sorted({*counts})
    assert counts[-1] == 2 * len(names)


@pytest.mark.parametrize("processes", [1, 2])
def test_members_encoded_together_have_the_scores_they_have_alone(
    copied, started, quick, processes, monkeypatch
):
    """As beside a GPU; the member that has diverged is encoded with the others and not scored."""
    monkeypatch.setattr(tasks, "is_on_cpu", lambda _: False)
    portions, encode = [], evaluate.encode

    def noted(population, *given, **options):
        portions.append(population.members)
        return encode(population, *given, **options)

    monkeypatch.setattr(evaluate, "encode", noted)
    with threadpool_limits(1):
        found = run_population_task(copied("beside", metrics=QUICK, processes=processes)).scores
    assert found == quick
    assert {*portions} == {3}
    assert len(started) == (processes if processes > 1 else 0)


def test_known_scores_need_no_process(copied, started, quick):
    beside = copied("beside", metrics=QUICK)
    assert run_population_task(beside).scores == quick
    assert run_population_task(replace(beside, processes=2)).scores == quick
    assert started == []


def test_a_process_killed_at_work_changes_nothing(copied, started, monkeypatch):
    """What it had computed is dropped, and the model goes to another one."""
    names = ["elbo", "mig", "dci"]
    with threadpool_limits(1):
        expected = run_population_task(copied("alone", metrics=names)).scores
    seen, killed, hear = [], [], local.LocalPool.on_message

    def listen(pool, worker, fact, data):
        seen.append((worker, fact["event"]))
        if not killed and fact["event"] == "ask":  # it waits for codes, so it is not done
            killed.append(worker)
            worker.process.send_signal(signal.SIGKILL)
        return hear(pool, worker, fact, data)

    monkeypatch.setattr(local.LocalPool, "on_message", listen)
    beside = copied("beside", metrics=names, processes=2)
    assert run_population_task(beside).scores == expected
    assert [kind for _, kind in seen].count("scored") == 2
    assert len(started) == 2  # the dead one is not replaced
    assert [one.process.returncode for one in killed] == [-signal.SIGKILL]
    assert files(beside.folder) == FILES


def test_processes_that_cannot_start_are_done_without(copied, started, quick, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    beside = copied("beside", metrics=QUICK, processes=2)
    assert run_population_task(beside).scores == quick
    assert len(started) == 2  # and no more: what kills one may kill the next


def test_words_that_are_no_messages_end_a_process(copied, started, quick, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("echo"))
    assert run_population_task(copied("beside", metrics=QUICK, processes=2)).scores == quick


def test_a_stopped_task_leaves_nothing_and_goes_on(copied, started, quick):
    beside = copied("beside", metrics=QUICK, processes=2)
    heard = []
    # Two bounds are computed here, the others come from workers.
    with pytest.raises(Stopped):
        run_population_task(
            beside, tell=lambda _, n: heard.append(n), stop=lambda: max([0, *heard]) >= 2
        )
    assert heard[-1] < 2 * len(QUICK)
    assert len(started) == 2
    assert files(beside.folder) <= FILES
    assert run_population_task(replace(beside, processes=None)).scores == quick


def test_an_error_of_a_process_is_the_error_that_it_would_be_here(trained, started):
    wanted = ScoringRequest(["mig", "udr"])
    for processes in (1, 2):
        with pytest.raises(ConfigError, match=r"^udr compares several models"):
            list(score_models.score_models(models(trained, wanted), wanted, processes=processes))
    assert len(started) == 2


def test_one_has_many_rows_encoded_while_others_compute(trained, monkeypatch):
    given = []

    class Pool(local.LocalPool):
        def __init__(self, tasks, **options):
            given.extend(task.request["metrics"] for task in tasks)
            super().__init__([], **options)

    monkeypatch.setattr(score_models, "LocalPool", Pool)
    request = ScoringRequest(["beta_vae", "dci", "factor_vae", "mig"])
    next(score_models.score_models(models(trained, request), request, processes=2)).clear()
    assert given == [
        ["beta_vae", "factor_vae", "dci", "mig"],
        ["dci", "mig", "beta_vae", "factor_vae"],
    ]


def test_a_failure_here_ends_the_workers(trained, started):
    request = ScoringRequest(["mig"])
    first, second = models(trained, request)

    def fails(index):
        raise OSError("no such weights")

    with pytest.raises(OSError, match="no such weights"):
        list(
            score_models.score_models([first, replace(second, encode=fails)], request, processes=2)
        )
    assert len(started) == 2


def test_a_worker_leaves_with_whoever_started_it(trained, started):
    """In the middle of its work, where it would never look at its input."""
    inbox, request = queue.SimpleQueue(), ScoringRequest(["mig"])
    worker = local.WorkerProcess(inbox, {}, None)
    worker.give(score_models.score_task(models(trained, request)[0], request, 0))
    while True:
        _, (fact, data) = inbox.get(timeout=60)
        if fact["event"] == "ask":
            break
    index = torch.frombuffer(data, dtype=torch.int64)
    assert index.tolist() == sorted({*index.tolist()})
    worker.process.stdin.close()
    assert worker.process.wait(10) == 1
    worker.close()


def test_as_many_processes_as_there_are_cores_beside_a_gpu(trained, monkeypatch):
    population = load_training(RunFolder(Path(trained.folder)), trained.specs(), "cpu")
    runtime = Runtime(torch.device("cuda"))
    on_gpu = replace(population, context=replace(population.context, runtime=runtime))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(16), raising=False)
    assert tasks.processes_for(trained, population) == 1
    assert tasks.processes_for(trained, on_gpu) == 16
    assert tasks.processes_for(replace(trained, processes=3), population) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert tasks.processes_for(trained, on_gpu) == 4


def test_a_run_of_several_models_is_scored_by_several_processes(images, tmp_path, started):
    unknot.train(
        *("arrays", "beta_vae", "linear"),
        data_settings={"path": str(images)},
        net_settings={"latents": 3},
        steps=20,
        batch=8,
        seeds=[0, 1, 2],
        device="cpu",
        out=tmp_path / "alone",
    )
    shutil.copytree(tmp_path / "alone", tmp_path / "beside")
    printed = {}
    for name, workers in (("alone", "1"), ("beside", "2")):
        words = ["evaluate", str(tmp_path / name), "--workers", workers, "--json"]
        words += ["--metrics", ",".join(QUICK), "--device", "cpu"]
        with threadpool_limits(1):
            result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        printed[name] = (tmp_path / name / "scores.jsonl").read_text(), result.stdout
    assert printed["alone"] == printed["beside"]
    assert len(started) == 2
