"""Studies on a real Ray cluster of several nodes: what is killed there changes no record."""

import functools
import os
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from studies.bars import CORES, HEARING, UNKNOT, kill, records, study_text

from unknot.studies.execute import ray_pool
from unknot.studies.execute.driver import run
from unknot.studies.execute.events import Divided, Failed, Lost
from unknot.studies.file.study_file import StudyFile
from unknot.studies.study import Study

ray = pytest.importorskip("ray", reason="ray is not installed")
pytestmark = pytest.mark.slow

STEPS = 6_000
"""Enough that nobody is done before Ray knows that a node is gone, which takes it ten seconds."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # As Ray does on laptops: its servers listen to this machine alone.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
NODE = {
    "node_ip_address": "127.0.0.1",
    "object_store_memory": 100_000_000,
    "include_dashboard": False,
}


def text_of(images, **options):
    """Two populations of two models each, however many cores there are."""
    text = study_text(images, **{"steps": STEPS, **options})
    return text.replace('name = "bars"', 'name = "bars"\nmembers = 2').replace(
        "checkpoint_every = 20", "checkpoint_every = 100"
    )


@pytest.fixture(scope="module")
def cluster():
    """A head without room for tasks, and two nodes with room for one each."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUIET.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        made = Cluster()
        made.add_node(num_cpus=0, **NODE)
        made.nodes = [made.add_node(num_cpus=1, **NODE) for _ in range(2)]
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def undisturbed(images, tmp_path_factory):
    """The records of a run on this machine."""
    folder = tmp_path_factory.mktemp("undisturbed") / "study"
    file = folder.parent / "bars.toml"
    file.write_text(text_of(images))
    alone = start(file, "--out", folder, "--workers", CORES)
    output = alone.communicate(timeout=300)[0]
    assert alone.returncode == 0, output
    return records(folder)


def start(*words):
    return subprocess.Popen(
        [*UNKNOT, *map(str, words), "--device", "cpu"],
        env={**os.environ, **QUIET, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=HEARING,
    )


def start_on(cluster, *words):
    return start(*words, "--backend", "ray", "--backend-option", f"address={cluster.address}")


def test_a_lost_head_ends_the_driver_with_a_line_that_says_how_to_resume(images, tmp_path):
    from ray.cluster_utils import Cluster

    folder, file = tmp_path / "study", tmp_path / "bars.toml"
    file.write_text(text_of(images, steps=1_000_000))
    made = Cluster()
    head = made.add_node(num_cpus=0, **NODE)
    made.add_node(num_cpus=1, **NODE)
    try:
        driver = start_on(made, file, "--out", folder)
        until(lambda: steps_saved(folder), driver)
        for processes in head.all_processes.values():
            for process in processes:
                kill(process.process.pid)
        output = driver.communicate(timeout=100)[0]
    finally:
        made.shutdown()
    assert driver.returncode == 1, output
    *_, last = output.strip().splitlines()
    assert last.startswith("unknot: The Ray cluster is gone (its head has not answered for 30")
    assert last.endswith("run the same command again to resume.")
    assert "rpc_client" not in output, "Ray's own words"
    assert Study.open(folder).status()["runs"] == {"all": 4, "waiting": 4}
    assert steps_saved(folder)


class Promise:
    """Of an answer of an actor, whatever it was asked."""

    def __init__(self, *_):
        pass


class FakeRay:
    """A cluster whose nodes kill every actor for want of memory."""

    exceptions = ray.exceptions

    def remote(self, kind):
        return self

    def options(self, **_):
        method = SimpleNamespace(remote=Promise)
        actor = SimpleNamespace(perform=method, place=method, stop=method)
        return SimpleNamespace(remote=lambda: actor)

    def wait(self, promises, **_):
        return promises, []

    def get(self, promise):
        raise ray.exceptions.OutOfMemoryError("1 worker(s) were killed: a page of text")

    def kill(self, performer):
        pass

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": 1.0}}]

    def get_runtime_context(self):
        return SimpleNamespace(gcs_address="nowhere")


def test_actors_that_ray_kills_for_memory_are_tried_again_and_then_halved(
    images, tmp_path, monkeypatch
):
    monkeypatch.setattr(ray_pool, "_ray", FakeRay)
    heard, file = [], StudyFile.parse(text_of(images))
    pool = functools.partial(ray_pool._pool, workers=1)
    study = run(tmp_path / "study", file, device="cpu", pool=pool, watch=heard.append)
    kinds = [type(event) for event in heard]
    assert kinds == [Lost, Lost, Divided] * 2 + [Lost, Lost, Failed] * 4
    assert {row["status"] for row in study.table()} == {"failed"}
    assert "at the same place (its node is low on memory)" in study.table()[0]["error"]


def raylet(node):
    (process,) = node.all_processes["raylet"]
    return process.process.pid


def performers(pid):
    """Processes of a node that perform tasks."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        words = Path(f"/proc/{child}/cmdline").read_bytes()
        if words.startswith(b"ray::Performer"):
            found.append(int(child))
    return found


def until(happened, driver, seconds=120):
    end = time.monotonic() + seconds
    while not happened():
        assert driver.poll() is None, driver.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.01)


def steps_saved(folder):
    """The last saved step of each population that is being trained."""
    saved = {}
    for path in folder.glob("populations/*/checkpoints/step-*"):
        saved[path.parts[-3]] = max(saved.get(path.parts[-3], 0), int(path.name[5:]))
    return saved


def test_a_worker_and_a_node_lost_in_mid_run_change_nothing(cluster, images, tmp_path, undisturbed):
    folder, file = tmp_path / "study", tmp_path / "bars.toml"
    file.write_text(text_of(images))
    first, second = cluster.nodes
    driver = start_on(cluster, file, "--out", folder)
    until(lambda: len(steps_saved(folder)) == 2, driver)
    (worker,) = performers(raylet(first))
    assert kill(worker)
    assert kill(raylet(second))
    assert len(saved := steps_saved(folder)) == 2
    assert max(saved.values()) < STEPS
    output = driver.communicate(timeout=300)[0]
    assert driver.returncode == 0, output
    assert "worker process has died" in output, output
    assert "node has died" in output, output
    assert output.count("worker lost") == 2
    assert records(folder) == undisturbed


def test_ctrl_c_stops_with_a_state_that_this_machine_can_go_on_from(
    cluster, images, tmp_path, undisturbed
):
    folder, file = tmp_path / "study", tmp_path / "bars.toml"
    file.write_text(text_of(images))
    driver = start_on(cluster, file, "--out", folder)
    until(lambda: steps_saved(folder), driver)
    driver.send_signal(signal.SIGINT)
    output = driver.communicate(timeout=60)[0]
    assert driver.returncode == 130, output
    assert f"Resume with: unknot study run {folder} --backend ray" in output
    assert any(step % 100 for step in steps_saved(folder).values())  # not one of the regular ones
    assert Study.open(folder).status()["runs"] == {"all": 4, "waiting": 4}
    here = start(folder)
    assert here.communicate(timeout=300)
    assert here.returncode == 0
    assert records(folder) == undisturbed


def test_workers_leave_when_their_driver_is_killed_and_failures_are_told(
    cluster, images, tmp_path, undisturbed
):
    folder, file = tmp_path / "study", tmp_path / "bars.toml"
    missing = tmp_path / "missing.npz"
    file.write_text(text_of(images, more=f'[[grid]]\ndata.path = "{missing}"'))
    driver = start_on(cluster, file, "--out", folder)
    until(lambda: steps_saved(folder), driver)
    nodes = [raylet(node) for node in cluster.nodes]
    workers = [
        pid for node in nodes if Path(f"/proc/{node}/exe").exists() for pid in performers(node)
    ]
    assert workers
    kill(driver.pid)
    driver.communicate()
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}/exe").exists() for pid in workers):
        assert time.monotonic() < end, "workers outlive their driver"
        time.sleep(0.05)
    driver = start_on(cluster, folder)
    output = driver.communicate(timeout=300)[0]
    assert driver.returncode == 1, output
    assert "worker lost" not in output
    rows, scores, files = records(folder)
    assert [row["status"] for row in rows] == ["done"] * 4 + ["failed"] * 2, output
    assert str(missing) in rows[-1]["error"]
    assert (rows[:4], scores, files) == undisturbed
