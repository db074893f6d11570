"""What the pool of SLURM hears of its jobs by the disk, without SLURM and submitit."""

import json
from types import SimpleNamespace

import pytest
from studies.bars import CORES, records, study_text

import unknot
from unknot.core.files import write_whole
from unknot.runs.training import Stopped
from unknot.studies.execute import driver, finished_models, slurm_pool
from unknot.studies.execute.events import Done, Finished
from unknot.studies.execute.run_task import run_population_task, run_remote_task
from unknot.studies.file.study_file import StudyFile
from unknot.studies.study import Study


class OneJobAtATime(slurm_pool.SlurmPool):
    """Jobs that train and score one of their models, and end when they are told to."""

    def __init__(self, tasks):
        super().__init__({}, tasks, workers=1, cluster="local")

    def _submit_array(self, tasks):
        said = []
        for task in tasks:
            with pytest.raises(Stopped):
                run_population_task(
                    task,
                    tell=lambda phase, n: said.append((phase, n)),
                    stop=lambda: said[-1] == ("score", 3),  # one model of two metrics, and a half
                )
        return [SimpleNamespace(job_id=task.key, done=lambda: False) for task in tasks]

    def end(self, key):
        """Do the rest of a job."""
        self.folder.mkdir(exist_ok=True)
        fact = run_remote_task(
            self.sent[key].task, unknot.__version__, tell=lambda *_: None, stop=lambda: False
        )
        write_whole(self.folder / f"{key}.answer.json", json.dumps(fact).encode())


def test_results_of_a_model_arrive_while_its_job_scores_others(
    images, tmp_path, undisturbed, monkeypatch
):
    for module, name in ((slurm_pool, "PAUSE"), (slurm_pool, "LOOK"), (finished_models, "PAUSE")):
        monkeypatch.setattr(module, name, 0.0)
    folder, pools, heard, seen = tmp_path / "study", [], [], []

    def pool(tasks):
        with OneJobAtATime(tasks) as jobs:
            pools.append(jobs)
            yield from jobs.events()

    def watch(event):
        heard.append(event)
        if isinstance(event, Finished):
            seen.append([row for row in Study.open(folder).table() if row["status"] == "done"])
            pools[0].end(event.key)

    study = StudyFile.parse(study_text(images))
    driver.run(folder, study, device="cpu", workers=CORES, pool=pool, watch=watch)
    ends = [event for event in heard if isinstance(event, Finished | Done)]
    assert len(pools[0].places) == 2
    for key in pools[0].places:
        of_job = [type(event) for event in ends if event.key == key]
        assert of_job == [Finished, Done], "before the job ends, and once"
    assert all(event.models == 1 for event in ends if isinstance(event, Finished))
    final = {row["id"]: row for row in Study.open(folder).table()}
    assert all(rows for rows in seen)
    assert all(row == final[row["id"]] for rows in seen for row in rows)
    assert {row["status"] for row in final.values()} == {"done"}
    assert records(folder) == records(undisturbed)
