"""Studies through submitit: under SLURM where there is one, else under commands that stand in."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from studies import fake_slurm
from studies.bars import CORES, HEARING, UNKNOT, kill, records, study_text

from unknot.studies.study import Study

pytest.importorskip("submitit", reason="submitit is not installed")
pytestmark = pytest.mark.slow

there = shutil.which("sbatch") and subprocess.run("squeue", capture_output=True).returncode == 0
STEPS = 2_000
DRIVER = """
import sys
from pathlib import Path
from unknot.studies.execute import finished_models, slurm_pool
from unknot.studies.execute.driver import run
from unknot.studies.file.study_file import read_study

slurm_pool.LOOK, slurm_pool.LATE, finished_models.PAUSE = 0.5, 2.0, 0.2
folder, study, on = Path(sys.argv[1]), read_study(Path(sys.argv[2])), sys.argv[3]
cluster = slurm_pool.slurm({}, workers=2, cluster=on) if on != "none" else None
words = {"machine": cluster.machine, "pool": cluster.pool} if cluster else {}
run(folder, study, device="cpu", workers=2, watch=lambda e: print(e, flush=True), **words)
"""


@pytest.fixture(scope="module")
def file(images, tmp_path_factory):
    """Two populations of two models each, with one thread, wherever they run."""
    text = study_text(images, steps=STEPS).replace("every = 20", "every = 100")
    path = tmp_path_factory.mktemp("file") / "bars.toml"
    path.write_text(text.replace('name = "bars"', 'name = "bars"\nmembers = 2'))
    return path


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory):
    """SLURM's commands, its own or ours."""
    with pytest.MonkeyPatch.context() as patch:
        if not there:
            folder = fake_slurm.install(tmp_path_factory.mktemp("slurm"))
            patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
            patch.setenv("FAKE_SLURM", str(folder))
        yield


@pytest.fixture(params=["slurm", "local"])
def on(request):
    """Under SLURM, and as submitit's processes of this machine."""
    return request.param


def start(folder, file, on="slurm"):
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), str(file), on],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=HEARING,
    )


def ended(driver):
    output = driver.communicate(timeout=400)[0]
    assert driver.returncode == 0, output
    return output


@pytest.fixture(scope="module")
def undisturbed(file, tmp_path_factory):
    """The records of a run on this machine with one thread."""
    folder = tmp_path_factory.mktemp("undisturbed") / "study"
    words = ["--device", "cpu", "--workers", str(CORES)]
    subprocess.run([*UNKNOT, str(file), "--out", str(folder), *words], check=True)
    return records(folder)


def until(happened, driver, seconds=120):
    end = time.monotonic() + seconds
    while not (found := happened()):
        assert driver.poll() is None, driver.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def both_saved(folder):
    """Whether both populations are being trained and have a checkpoint."""
    return len({path.parts[-3] for path in folder.glob("populations/*/checkpoints/step-*")}) == 2


def performers(folder):
    """Processes that perform jobs of a study."""
    found = []
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = words.read_bytes().split(b"\0")
        except OSError:
            continue
        ours = b"submitit.core._submit" in line and str(folder / "slurm").encode() in line
        if ours and not line[0].endswith((b"srun", b"sh")):
            found.append(int(words.parts[2]))
    return found


def jobs(folder):
    return {
        path.name.partition(".")[0]: json.loads(path.read_text())["job"]
        for path in (folder / "slurm").glob("*.job.json")
    }


def test_a_killed_job_is_sent_again_and_changes_nothing(file, tmp_path, undisturbed, on):
    folder = tmp_path / "study"
    driver = start(folder, file, on)
    until(lambda: both_saved(folder), driver)
    one, *_ = performers(folder)
    assert kill(one)
    output = ended(driver)
    assert output.count("Lost(") == 1, output
    assert "is gone" in output
    assert records(folder) == undisturbed
    assert jobs(folder) == {}


def test_ctrl_c_stops_jobs_with_a_state_to_go_on_from(file, tmp_path, undisturbed, on):
    folder = tmp_path / "study"
    driver = start(folder, file, on)
    until(lambda: both_saved(folder), driver)
    driver.send_signal(signal.SIGINT)
    driver.communicate(timeout=100)
    assert driver.returncode != 0
    assert not performers(folder)
    assert Study.open(folder).status()["runs"] == {"all": 4, "waiting": 4}
    assert both_saved(folder)
    ended(start(folder, file, "none"))
    assert records(folder) == undisturbed


def test_a_cancelled_job_saves_its_very_step(file, tmp_path, undisturbed):
    folder = tmp_path / "study"
    driver = start(folder, file)
    until(lambda: both_saved(folder), driver)
    key, job = min(jobs(folder).items())
    subprocess.run(["scancel", job], check=True)
    saved = folder / "populations" / key / "checkpoints"
    step = until(lambda: [p.name for p in saved.glob("step-*") if int(p.name[5:]) % 100], driver)
    assert len(step) == 1
    output = ended(driver)
    assert output.count("Lost(") == 1, output
    assert records(folder) == undisturbed


def test_jobs_outlive_their_driver_and_the_next_one_finds_them(file, tmp_path, undisturbed):
    folder = tmp_path / "study"
    driver = start(folder, file)
    until(lambda: both_saved(folder), driver)
    before = jobs(folder)
    kill(driver.pid)
    driver.communicate()
    assert len(performers(folder)) == 2
    output = ended(start(folder, file))
    assert "Lost(" not in output
    assert {path.name.partition("_0_result")[0] for path in folder.glob("slurm/*_result.pkl")} == {
        *before.values()
    }
    assert records(folder) == undisturbed


def test_a_job_whose_time_is_up_goes_back_into_the_queue(file, tmp_path, undisturbed):
    """It takes minutes: SLURM lets a job wait that comes back."""
    folder = tmp_path / "study"
    driver = start(folder, file)
    until(lambda: both_saved(folder), driver)
    job = min(jobs(folder).values())
    subprocess.run(["scancel", "--signal=USR2", job], check=True)
    output = ended(driver)
    assert "Lost(" not in output
    assert (folder / "slurm" / f"{job}_0_log.out").read_text().count("Starting with") == 2
    assert records(folder) == undisturbed


def test_results_of_a_model_arrive_while_its_job_scores_others(images, tmp_path):
    """The job is halted in the middle of scoring: what it has done is in the records already."""
    folder, file = tmp_path / "study", tmp_path / "bars.toml"
    text = study_text(images).replace("seeds = [0, 1]", "seeds = [0, 1, 2, 3, 4, 5]\nmembers = 6")
    metrics = 'metrics = ["dci", "factor_vae", "beta_vae", "explicitness", "sap"]'
    text = text.replace('metrics = ["mig", "sap"]', metrics).partition("[[grid]]")
    file.write_text(f'{text[0]}objective = {{name = "beta_vae", beta = 2}}\n')
    driver = start(folder, file)
    until(lambda: any(p.stat().st_size for p in folder.glob("populations/*/scores.jsonl")), driver)
    jobs = performers(folder)
    for job in jobs:
        os.kill(job, signal.SIGSTOP)
    try:
        done = until(
            lambda: [r for r in Study.open(folder).table() if r["status"] == "done"], driver
        )
        assert 1 <= len(done) < 6
        assert all(row["dci"] is not None and row["sap"] is not None for row in done)
        assert not [*(folder / "slurm").glob("*.answer.json")], "the job has not answered"
    finally:
        for job in jobs:
            os.kill(job, signal.SIGCONT)
    output = ended(driver)
    assert "Finished(" in output
    assert output.count("Done(") == 1
    rows = Study.open(folder).table()
    assert [row["status"] for row in rows] == ["done"] * 6
    assert done == [row for row in rows if row["id"] in {row["id"] for row in done}]
