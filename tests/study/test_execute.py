"""Running studies: what comes out, and that nothing that happens on the way changes it."""

import functools
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import unknot
from unknot.core.errors import ConfigError, StoreError
from unknot.study import evaluate, execute, export, local
from unknot.study import records as kept
from unknot.study.events import Done, Failed, Lost, Progress
from unknot.study.machine import Machine
from unknot.study.members import Stopped
from unknot.study.study import Study
from unknot.study.task import Outcome, Task, perform

STEPS = 100
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
"""As many workers, so that each has one thread, here and elsewhere."""


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Forty images: a bar at 5 x 8 places."""
    path = tmp_path_factory.mktemp("images") / "bars.npz"
    factors = np.indices((5, 8)).reshape(2, -1).T
    pictures = np.zeros((40, 8, 8), np.uint8)
    for picture, (row, column) in zip(pictures, factors, strict=True):
        picture[row : row + 3, column] = 200
    np.savez(path, images=pictures, factors=factors)
    return path


def study_text(images, steps=STEPS, more=""):
    return f"""
        name = "bars"
        seeds = [0, 1]
        metrics = ["mig", "sap"]
        [train]
        data = {{name = "arrays", path = "{images}"}}
        net = {{name = "linear", latents = 3}}
        steps = {steps}
        batch = 8
        log_every = 25
        checkpoint_every = 20
        [[grid]]
        objective = {{name = "beta_vae", beta = 2}}
        [[grid]]
        objective = {{name = "dip_vae_i"}}
        {more}
    """


def inline(tasks):
    """A pool without processes."""
    for task in tasks:
        try:
            yield Done(task.key, perform(task))
        except unknot.UnknotError as error:
            yield Failed(task.key, str(error))


def run_inline(folder, text=None, **options):
    return execute.run(folder, text, device="cpu", workers=CORES, pool=inline, **options)


def records(folder):
    """All that a study knows and that is not a time: rows, scores, and every weight and curve."""
    study = Study.open(folder)
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in study.table()]
    query = "SELECT run, metric, protocol, options, code, name, value FROM scores JOIN measures ON "
    scores = sorted(study.store.rows(query + "measures.number = scores.measure"), key=str)
    files = {
        (path.parent.name, path.name): path.read_bytes()
        for path in sorted(folder.glob("populations/*/*.safetensors"))
    }
    left = [path for path in folder.glob("populations/**/*") if path.name.startswith(".writing")]
    assert not left
    assert not list(folder.glob("populations/*/checkpoints"))
    return rows, scores, files


@pytest.fixture(scope="module")
def undisturbed(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "study"
    run_inline(folder, study_text(images))
    return folder


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
def test_every_run_is_the_run_that_it_would_be_alone(undisturbed, images):
    """Weights, codes and scores of a member are those of `unknot.train` with its settings."""
    study = Study.open(undisturbed)
    assert {row["status"] for row in study.table()} == {"done"}
    for row in study.table()[1:3]:
        alone = unknot.train(
            *("arrays", row["objective"], "linear"),
            data_settings={"path": str(images)},
            net_settings={"latents": 3},
            **({"beta": 2} if row["objective"] == "beta_vae" else {}),
            steps=STEPS,
            batch=8,
            log_every=25,
            checkpoint_every=20,
            seeds=row["seed"],
            device="cpu",
        )
        member = study.run(row["id"][:8], device="cpu")
        assert member.spec == alone.spec
        assert member.spec.ids() == [row["id"]]
        assert torch.equal(member.codes(), alone.codes())
        for name, rows in alone.curves.values.items():
            assert torch.equal(torch.stack(rows), member.curves[name])
            assert torch.equal(member.curves[name], study.curves(row["id"])[name])
        (scored,) = evaluate.evaluate(alone, metrics=["mig", "sap"])
        assert {k: v for r in scored for k, v in r.values.items()} == {
            name: row[name] for name in ("mig", "sap")
        }
        assert row["loss"] == float(alone.curves["loss"][-1])


def test_the_folder_has_no_place_for_each_run_and_nothing_that_only_training_needs(undisturbed):
    assert {path.name for path in undisturbed.iterdir()} == {
        *(".lock", "study.toml", "study.db", "populations")
    }
    populations = list((undisturbed / "populations").iterdir())
    assert len(populations) == 2
    for population in populations:
        assert {path.name for path in population.iterdir()} == {
            *(".lock", "weights.safetensors", "curves.safetensors"),
            *("population.json", "scores.jsonl"),
        }


def test_a_model_can_be_taken_out_as_a_run_folder(undisturbed, tmp_path):
    study = Study.open(undisturbed)
    name = study.table()[3]["id"]
    folder = export.take(study, name, tmp_path / "one", device="cpu")
    loaded = unknot.load(folder, device="cpu")
    assert torch.equal(loaded.codes(), study.run(name, device="cpu").codes())
    assert [record.id for record in kept.read(folder)] == [name, name]
    with pytest.raises(StoreError, match="already holds a run"):
        export.take(study, name, tmp_path / "one", device="cpu")


def test_running_again_does_nothing(undisturbed, images):
    before, heard = records(undisturbed), []
    run_inline(undisturbed, watch=heard.append)
    run_inline(undisturbed, study_text(images), watch=heard.append)
    assert heard == []
    assert records(undisturbed) == before


def test_more_settings_and_scores_do_only_what_is_new(images, tmp_path):
    folder, heard = tmp_path / "study", []
    text = study_text(images, steps=20)
    run_inline(folder, text)
    old = {path: path.stat().st_mtime_ns for path in folder.glob("populations/*/weights*")}
    more = text.replace("seeds = [0, 1]", "seeds = [0, 1, 2]").replace(
        '"sap"]', '"sap", "modularity"]'
    )
    with pytest.raises(ConfigError, match="adds 2 runs, metrics was"):
        run_inline(folder, more)
    run_inline(folder, more, update=True, watch=heard.append)
    assert len(heard) == 4  # two to train, two to score once more
    assert all(path.stat().st_mtime_ns == at for path, at in old.items())
    rows = Study.open(folder).table()
    assert [row["seed"] for row in rows] == [0, 1, 2, 0, 1, 2]
    assert all(row["modularity"] is not None and row["mig"] is not None for row in rows)


def test_records_alone_are_enough_to_go_on_with(images, tmp_path):
    """Weights of what is finished need not travel from machine to machine."""
    folder, heard = tmp_path / "study", []
    text = study_text(images, steps=20)
    run_inline(folder, text)
    rows = Study.open(folder).table()
    shutil.rmtree(folder / "populations")
    more = text.replace("seeds = [0, 1]", "seeds = [0, 1, 2]")
    run_inline(folder, more, update=True, watch=heard.append)
    assert [type(event) for event in heard] == [Done, Done]
    assert [row for row in Study.open(folder).table() if row["seed"] < 2] == rows


def test_scores_are_those_of_the_seed_that_the_study_has_now(images, tmp_path):
    folder, text = tmp_path / "study", study_text(images, steps=20).replace("sap", "dci")
    other = text.replace("seeds =", "score_seed = 1\n        seeds =")
    tables = [run_inline(folder, t, update=True).table() for t in (text, other, text)]
    assert tables[0] == tables[2] != tables[1]


def test_reading_a_study_removes_no_file_of_who_writes(images, tmp_path):
    folder = tmp_path / "study"
    study = run_inline(folder, study_text(images, steps=20))
    (population, *_) = folder.glob("populations/*")
    (population / ".scores.jsonl.99999").write_text("half")
    for row in study.table():
        export.take(study, row["id"], tmp_path / row["id"], device="cpu")
    assert (population / ".scores.jsonl.99999").exists()


def test_a_folder_whose_file_was_edited_is_refused_unless_told(images, tmp_path):
    folder = tmp_path / "study"
    run_inline(folder, study_text(images, steps=20))
    file = folder / "study.toml"
    file.write_text(file.read_text().replace("beta = 2", "beta = 3"))
    with pytest.raises(ConfigError, match="adds 2 runs, it drops 2 runs"):
        run_inline(folder)
    run_inline(folder, update=True)
    assert [row.get("objective.beta") for row in Study.open(folder).table()] == [3, 3, None, None]


def test_divergence_is_data_and_scores_that_do_not_apply_are_told(images, tmp_path):
    more = """
        [[grid]]
        optim.lr = [1e-4, 1e30]
        [[grid]]
        objective.name = "ae"
    """
    text = (
        study_text(images, steps=10, more=more).replace('"sap"]', '"elbo"]').replace("= 25", "= 5")
    )
    heard = []
    study = run_inline(tmp_path / "study", text, watch=heard.append)
    assert not [event for event in heard if isinstance(event, Failed)]
    rows = study.table()
    lost = [row for row in rows if row["optim.lr"] == 1e30]
    assert [(row["status"], "mig" in row) for row in lost] == [("diverged", False)] * 2
    assert [row["diverged"] for row in rows].count(True) == 2
    (ae, _) = [row for row in rows if row["objective"] == "ae"]
    assert (ae["elbo"], ae["mig"] is None) == (None, False)
    ((remark,),) = set(study.store.rows("SELECT remark FROM scores WHERE value IS NULL"))
    assert "elbo needs" in remark


def test_a_population_that_fails_is_told_and_the_others_go_on(images, tmp_path):
    missing = tmp_path / "missing.npz"
    more = f'[[grid]]\ndata.path = "{missing}"'
    study = run_inline(tmp_path / "study", study_text(images, steps=20, more=more))
    assert [row["status"] for row in study.table()] == ["done"] * 4 + ["failed"] * 2
    assert str(missing) in study.table()[-1]["error"]
    missing.write_bytes(images.read_bytes())
    study = run_inline(tmp_path / "study")
    assert {row["status"] for row in study.table()} == {"done"}
    assert study.status()["failures"] == []


def test_tasks_and_outcomes_are_plain_data(undisturbed):
    opened = Study.open(undisturbed).store
    key = opened.rows("SELECT key FROM populations")[0][0]
    task = execute.task.of_store(opened, key, device="cpu", threads=1)
    assert Task.of_json(task.json()) == task
    outcome = perform(task)  # all is there already: nothing is trained
    assert Outcome.of_json(outcome.json()) == outcome


def test_workers_that_share_a_gpu_share_the_cores_when_they_score(images, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(execute, "local", lambda tasks, **_: iter(seen.append(tasks) or ()))
    monkeypatch.setattr("unknot.study.scoring.cores", lambda: 16)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for name, workers, processes in (("a", 3, 5), ("b", 20, 1)):
        here = Machine("cuda", workers, None)
        execute.run(tmp_path / name, study_text(images), machine=lambda *_, here=here, **__: here)
        assert {task.processes for task in seen[-1]} == {processes}


def test_a_plan_of_another_version_is_noticed(undisturbed):
    opened = Study.open(undisturbed).store
    key = opened.rows("SELECT key FROM populations")[0][0]
    task = execute.task.of_store(opened, key)
    task.members[0]["id"] = "0" * 12
    with pytest.raises(StoreError, match="another version"):
        task.specs()


def test_a_stop_leaves_a_checkpoint_of_the_very_step(images, tmp_path, undisturbed):
    folder = tmp_path / "study"
    text = study_text(images)
    steps = []

    def stopping(tasks):
        with pytest.raises(Stopped):
            perform(tasks[0], tell=lambda _, step: steps.append(step), stop=lambda: steps[-1] > 50)
        yield from ()

    execute.run(folder, text, device="cpu", workers=CORES, pool=stopping)
    ((saved,),) = [sorted(p.glob("step-*"))[-1:] for p in folder.glob("populations/*/checkpoints")]
    assert saved.name == f"step-{steps[-1]:09d}"
    run_inline(folder)
    assert records(folder) == records(undisturbed)


def test_scoring_can_be_stopped_and_goes_on(images, tmp_path, undisturbed):
    folder, done = tmp_path / "study", []

    def stopping(tasks):
        with pytest.raises(Stopped):
            perform(
                tasks[0],
                tell=lambda phase, n: done.append((phase, n)),
                stop=lambda: done[-1] == ("score", 3),
            )
        yield from ()

    execute.run(folder, study_text(images), device="cpu", workers=CORES, pool=stopping)
    ((first, _),) = [
        path.read_text().splitlines() for path in folder.glob("populations/*/scores.jsonl")
    ]
    assert '"mig"' in first
    run_inline(folder)
    assert records(folder) == records(undisturbed)


def test_nonsense_leaves_nothing_behind(images, tmp_path):
    folder = tmp_path / "study"
    with pytest.raises(ConfigError, match="did you mean 'beta'"):
        run_inline(folder, study_text(images).replace("beta = 2", "betta = 2"))
    with pytest.raises(ConfigError, match="not TOML"):
        run_inline(folder, "name = ")
    with pytest.raises(StoreError, match="holds no study"):
        run_inline(folder)
    assert not folder.exists()
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine")
    with pytest.raises(StoreError, match="not an empty folder"):
        run_inline(folder, study_text(images))
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]


# Processes from here on.

UNKNOT = [sys.executable, "-c", "from unknot.cli.main import main; main()", "study", "run"]


def start(folder, *words):
    return subprocess.Popen(
        [*UNKNOT, *map(str, words), "--device", "cpu", "--workers", str(CORES)],
        cwd=folder.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Whoever started the tests in the background has them ignore Ctrl-C, and so would this.
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def children(pid):
    """Workers of a driver."""
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")


@needs_proc
def test_three_kills_change_nothing(images, tmp_path, undisturbed, monkeypatch):
    """The driver once, then a worker in training, then another at a moment of chance."""
    folder = tmp_path / "study"
    file = tmp_path / "bars.toml"
    file.write_text(study_text(images))
    driver = start(folder, file, "--out", folder)
    while driver.poll() is None and not list(folder.glob("populations/*/checkpoints/step-*")):
        time.sleep(0.005)
    workers = children(driver.pid)
    kill(driver.pid)
    driver.communicate()
    assert driver.returncode == -signal.SIGKILL
    assert 1 <= len(workers) <= 2
    until = time.monotonic() + 20
    while any(Path(f"/proc/{pid}/exe").exists() for pid in workers):
        assert time.monotonic() < until, "workers outlive their driver"
        time.sleep(0.01)

    begun, heard, real = [], [], local._start
    later = threading.Timer(random.Random(5).uniform(0, 3), lambda: begun[-1].process.kill())

    def started(*args):
        begun.append(real(*args))
        return begun[-1]

    def watch(event):
        heard.append(event)
        if isinstance(event, Progress) and not later.is_alive() and not later.finished.is_set():
            begun[0].process.kill()
            later.start()

    monkeypatch.setattr(local, "_start", started)
    execute.run(folder, device="cpu", watch=watch)
    later.join()
    assert any(isinstance(event, Lost) and "signal 9" in event.how for event in heard)
    assert records(folder) == records(undisturbed)


@needs_proc
@pytest.mark.slow
def test_twenty_kills_at_random_moments_change_nothing(images, tmp_path):
    """A worker, then the driver, by the clock; a study that ends is compared and begun anew."""
    chance, kills, studies = random.Random(11), 0, 0
    file, whole = tmp_path / "bars.toml", tmp_path / "whole"
    file.write_text(study_text(images, steps=300))

    def wait(driver, ready):
        """A moment within the usual time of a study; False when it has ended before."""
        until = time.monotonic() + usual * chance.random()
        while driver.poll() is None and (time.monotonic() < until or not ready()):
            time.sleep(0.002)
        return driver.poll() is None

    began = time.monotonic()
    driver = start(whole, file, "--out", whole)
    output = driver.communicate(timeout=300)[0]
    assert driver.returncode == 0, output
    usual, expected = time.monotonic() - began, records(whole)
    while kills < 20:
        folder = tmp_path / f"study-{studies}"
        driver = start(folder, file, "--out", folder)
        if wait(driver, lambda driver=driver: children(driver.pid)):
            kills += any(kill(worker) for worker in children(driver.pid)[:1])
        if wait(driver, lambda: True):
            kills += kill(driver.pid)
        output = driver.communicate(timeout=300)[0]
        if driver.returncode == 0:
            assert records(folder) == expected, output
            studies += 1
            usual *= 0.8
        else:
            assert driver.returncode == -signal.SIGKILL, output
    folder = tmp_path / f"study-{studies}"
    ended = start(folder, file, "--out", folder)
    output = ended.communicate(timeout=300)[0]
    assert ended.returncode == 0, output
    assert records(folder) == expected


@pytest.mark.slow
def test_ctrl_c_stops_with_a_state_to_go_on_from(images, tmp_path):
    folder, whole = tmp_path / "study", tmp_path / "whole"
    file = tmp_path / "bars.toml"
    file.write_text(study_text(images, steps=2_000).replace("every = 20", "every = 100_000"))
    driver = start(folder, file, "--out", folder)
    while not list(folder.glob("populations/*/.lock")) and driver.poll() is None:
        time.sleep(0.01)
    time.sleep(0.5)
    driver.send_signal(signal.SIGINT)
    output = driver.communicate(timeout=60)[0]
    assert driver.returncode == 130, output
    assert f"Go on with: unknot study run {folder}" in output
    assert list(folder.glob("populations/*/checkpoints/step-*"))
    assert Study.open(folder).status()["runs"] == {"all": 4, "waiting": 4}
    for ended in (start(folder, folder), start(whole, file, "--out", whole)):
        assert ended.communicate(timeout=300)
        assert ended.returncode == 0
    assert records(folder) == records(whole)


def test_a_worker_that_always_dies_is_given_up(images, tmp_path, monkeypatch):
    """As one that runs out of memory does; the message says how it died."""
    script = (
        "import sys, os, signal, json; print(json.dumps({'event': 'ready'}), flush=True); "
        "sys.stdin.readline(); print('gone', file=sys.stderr, flush=True); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    popen = subprocess.Popen

    def fake(words, **options):
        return popen([sys.executable, "-c", script], **options)

    monkeypatch.setattr(local.subprocess, "Popen", fake)
    heard = []
    study = execute.run(
        tmp_path / "study", study_text(images), device="cpu", workers=1, watch=heard.append
    )
    assert [type(event) for event in heard] == [Lost, Lost, Failed] * len(heard[2::3])
    assert {row["status"] for row in study.table()} == {"failed"}
    assert "died 3 times at the same place (signal 9: gone)" in study.table()[0]["error"]


def test_workers_that_cannot_start_end_the_study_with_their_last_words(
    images, tmp_path, monkeypatch
):
    popen = subprocess.Popen

    def fake(words, **options):
        return popen([sys.executable, "-c", "raise SystemExit('no torch here')"], **options)

    monkeypatch.setattr(local.subprocess, "Popen", fake)
    with pytest.raises(unknot.UnknotError, match=r"cannot start .*no torch here"):
        execute.run(tmp_path / "study", study_text(images), device="cpu", workers=1)
