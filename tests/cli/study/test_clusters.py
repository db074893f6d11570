"""``unknot study run --backend`` and ``study export`` where what they need is not there."""

import socket
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

import unknot as library
from unknot.core.errors import UnknotError
from unknot.studies.execute import backends, ray_pool, slurm_pool
from unknot.studies.execute.machine import Machine
from unknot.studies.execute.run_task import run_remote_task
from unknot.studies.execute.task import Task


def run(unknot, folder, *words):
    flags = ("--set", "train.steps=10", "--grid", "objective.beta=1,2", "--out", folder)
    code, out, err = unknot("study", "run", *flags, *words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert not folder.exists()  # nothing was begun
    return err


@pytest.mark.parametrize(("on", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_an_engine_that_is_not_installed_says_what_to_install(
    unknot, tmp_path, monkeypatch, on, package
):
    monkeypatch.setitem(sys.modules, package, None)
    assert f"pip install 'unknot[{on}]'" in run(unknot, tmp_path / "study", "--backend", on)


def test_a_ray_cluster_that_does_not_answer_is_told_at_once(unknot, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="ray is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    err = run(
        unknot, tmp_path / "study", "--backend", "ray", "--backend-option", f"address={address}"
    )
    assert f"No Ray cluster answers at '{address}'" in err
    assert "ray start --head" in err


def test_a_machine_without_slurm_is_told(unknot, tmp_path, monkeypatch):
    pytest.importorskip("submitit", reason="submitit is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "There is no sbatch" in run(unknot, tmp_path / "study", "--backend", "slurm")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--backend", "mars"), "--backend takes local, ray or slurm, got 'mars'"),
        (
            ("--backend", "ray", "--backend-option", "where=a:1"),
            "--backend ray has no option 'where'",
        ),
        (("--backend-option", "partition=gpu"), "--backend local has no option 'partition'"),
        (
            ("--backend", "slurm", "--backend-option", "partition"),
            "--backend-option takes NAME=VALUE",
        ),
    ],
)
def test_nonsense_is_refused(unknot, tmp_path, words, said):
    assert said in run(unknot, tmp_path / "study", *words)


def test_a_backend_of_another_package_is_found_by_its_entry_point(monkeypatch):
    class Entry:
        name = "mars"

        def load(self):
            return lambda options, workers: nullcontext((dict(options), workers))

    monkeypatch.setattr(
        backends, "entry_points", lambda group: [Entry()] if group == "unknot.backends" else []
    )
    with backends.connect("mars", {"rover": "2"}, 3) as performer:
        assert performer == ({"rover": "2"}, 3)
    with pytest.raises(UnknotError, match=r"takes local, ray, slurm or mars, got 'venus'"):
        backends.connect("venus", {}, None)


def test_a_task_on_a_gpu_of_ray_has_its_share_of_cpus_to_score_with(monkeypatch):
    def node(alive=True, **resources):
        return {"Alive": alive, "Resources": resources}

    nodes = [node(CPU=64.0, GPU=4.0), node(CPU=24.0, GPU=2.0), node(CPU=8.0), node(False, GPU=8.0)]
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(nodes=lambda: nodes))
    there = ray_pool.alive_nodes()
    assert len(there) == 3
    assert ray_pool.cpus_per_gpu(there) == 12
    assert ray_pool.cpus_per_gpu([*there[:1], {"CPU": 1.0, "GPU": 2.0}]) == 1


def test_a_tracker_that_nobody_knows(unknot, tmp_path):
    code, _, err = unknot("study", "export", tmp_path, "--to", "tensorbord")
    assert (code, "did you mean 'tensorboard'" in err) == (2, True)


def test_slurm_jobs_have_the_threads_that_were_asked_for_and_a_device_that_was_named():
    options = {"cpus_per_task": "4"}
    assert slurm_pool.slurm_machine(options, 10, device="cpu") == Machine("cpu", 8, 4)
    assert slurm_pool.slurm_machine(options, 10, device="cpu", threads=1) == Machine("cpu", 8, 1)
    assert slurm_pool.slurm_machine({}, 10, device="cuda", workers=3) == Machine("cuda", 3, None)
    for device, said in (("auto", "Use --device cpu or"), ("cuda:1", "the cluster's choice")):
        with pytest.raises(UnknotError, match=said):
            slurm_pool.slurm_machine({}, 10, device=device)


def test_a_node_that_is_not_what_the_driver_takes_it_for_does_nothing(tmp_path):
    """Or it would train into a folder of its own, and the results be lost."""
    folder = tmp_path / "study" / "populations" / "0a"
    task = Task("0a", str(folder), [], [])

    def answered(version):
        said = run_remote_task(task, version, tell=lambda *_: None, stop=lambda: False)
        assert said["event"] == "failed"
        assert not folder.exists()
        return said["error"]

    assert "does not see" in answered(library.__version__)
    assert "and the driver 9.9.9" in answered("9.9.9")
