"""Studies performed in this process: what comes out, what is done again, and what is refused."""

import json
import shutil
from dataclasses import asdict

import pytest
import torch
from studies.bars import CORES, STEPS, inline, records, run_inline, study_text

import unknot
from unknot.core.errors import ConfigError, StoreError
from unknot.runs import evaluate
from unknot.runs import records as kept
from unknot.runs.training import Stopped
from unknot.studies import export
from unknot.studies.execute import driver, run_task
from unknot.studies.execute.events import Done, Failed, Finished, Progress
from unknot.studies.execute.local import LocalPool
from unknot.studies.execute.machine import Machine
from unknot.studies.execute.overlap import OverlapPool
from unknot.studies.execute.run_task import run_population_task
from unknot.studies.execute.task import Outcome, Task
from unknot.studies.file.study_file import StudyFile
from unknot.studies.study import Study


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
        for name, rows in alone.training.curves.values.items():
            assert torch.equal(torch.stack(rows), member.training.curves[name])
            assert torch.equal(member.training.curves[name], study.curves(row["id"])[name])
        (scored,) = evaluate.evaluate(alone, metrics=["mig", "sap"])
        assert {k: v for r in scored for k, v in r.values.items()} == {
            name: row[name] for name in ("mig", "sap")
        }
        assert row["loss"] == float(alone.training.curves["loss"][-1])


def test_the_folder_has_no_place_for_each_run_and_nothing_that_only_training_needs(undisturbed):
    assert {path.name for path in undisturbed.iterdir()} == {
        *(".lock", "study.toml", "study.db", "study.db.sha256", "populations")
    }
    populations = list((undisturbed / "populations").iterdir())
    assert len(populations) == 2
    for population in populations:
        assert {path.name for path in population.iterdir()} == {
            *(".lock", "weights.safetensors", "curves.safetensors"),
            *("status.json", "scores.jsonl"),
        }


def test_a_model_can_be_taken_out_as_a_run_folder(undisturbed, tmp_path):
    study = Study.open(undisturbed)
    name = study.table()[3]["id"]
    folder = export.extract(study, name, tmp_path / "one", device="cpu")
    loaded = unknot.load(folder, device="cpu")
    assert torch.equal(loaded.codes(), study.run(name, device="cpu").codes())
    assert [record.id for record in kept.read(folder)] == [name, name]
    with pytest.raises(StoreError, match="already holds a run"):
        export.extract(study, name, tmp_path / "one", device="cpu")


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
        export.extract(study, row["id"], tmp_path / row["id"], device="cpu")
    assert (population / ".scores.jsonl.99999").exists()


def test_a_folder_whose_file_was_edited_is_refused_unless_told(images, tmp_path):
    folder = tmp_path / "study"
    run_inline(folder, study_text(images, steps=20))
    file = folder / "study.toml"
    file.write_text(file.read_text().replace("beta = 2", "beta = 3"))
    with pytest.raises(ConfigError, match="adds 2 runs, drops 2 runs"):
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
    ((remark,),) = set(study.store.db.execute("SELECT remark FROM scores WHERE value IS NULL"))
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
    key = opened.populations()[0].key
    task = driver.task.from_store(opened, key, device="cpu", threads=1)
    assert Task.from_json(task.json()) == task
    outcome = run_population_task(task)  # all is there already: nothing is trained
    assert Outcome(**json.loads(json.dumps(asdict(outcome)))) == outcome


def test_workers_that_share_a_gpu_share_the_cores_when_they_score(images, tmp_path, monkeypatch):
    seen = []
    take = lambda tasks, pool, **_: iter(seen.append((tasks, pool)) or ())  # noqa: E731
    monkeypatch.setattr(driver, "local", take)
    monkeypatch.setattr("unknot.studies.execute.score_models.cores", lambda: 16)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    study = StudyFile.parse(study_text(images))
    # Of 4 populations: beside 3 workers, each leaves a core to who trains.
    cases = ("a", 3, 4, OverlapPool), ("b", 5, 3, LocalPool), ("c", 20, 1, LocalPool)
    for name, workers, processes, kind in cases:
        here = Machine("cuda", workers, None)
        driver.run(tmp_path / name, study, machine=lambda *_, here=here, **__: here)
        tasks, pool = seen[-1]
        assert {task.processes for task in tasks} == {processes}
        assert pool is kind


def test_a_plan_of_another_version_is_noticed(undisturbed):
    opened = Study.open(undisturbed).store
    key = opened.populations()[0].key
    task = driver.task.from_store(opened, key)
    task.members[0]["id"] = "0" * 12
    with pytest.raises(StoreError, match="another version"):
        task.specs()


def test_a_stop_leaves_a_checkpoint_of_the_very_step(images, tmp_path, undisturbed):
    folder = tmp_path / "study"
    text = study_text(images)
    steps = []

    def stopping(tasks):
        with pytest.raises(Stopped):
            run_population_task(
                tasks[0], tell=lambda _, step: steps.append(step), stop=lambda: steps[-1] > 50
            )
        yield from ()

    driver.run(folder, StudyFile.parse(text), device="cpu", workers=CORES, pool=stopping)
    ((saved,),) = [sorted(p.glob("step-*"))[-1:] for p in folder.glob("populations/*/checkpoints")]
    assert saved.name == f"step-{steps[-1]:09d}"
    run_inline(folder)
    assert records(folder) == records(undisturbed)


def test_scoring_can_be_stopped_and_goes_on(images, tmp_path, undisturbed):
    folder, done = tmp_path / "study", []

    def stopping(tasks):
        with pytest.raises(Stopped):
            run_population_task(
                tasks[0],
                tell=lambda phase, n: done.append((phase, n)),
                stop=lambda: done[-1] == ("score", 3),
            )
        yield from ()

    study = StudyFile.parse(study_text(images))
    driver.run(folder, study, device="cpu", workers=CORES, pool=stopping)
    ((first, _),) = [
        path.read_text().splitlines() for path in folder.glob("populations/*/scores.jsonl")
    ]
    assert '"mig"' in first
    run_inline(folder)
    assert records(folder) == records(undisturbed)


def test_results_of_a_model_are_there_as_soon_as_it_has_its_scores(images, tmp_path, undisturbed):
    folder, said, seen, heard = tmp_path / "study", [], [], []

    def looked_at_while_it_scores(tasks):
        first, *others = tasks
        with pytest.raises(Stopped):
            run_population_task(
                first,
                tell=lambda phase, n: said.append((phase, n)),
                stop=lambda: said[-1] == ("score", 3),  # one model of two metrics, and a half
            )
        yield Progress(first.key, "score", 3)
        seen.extend(Study.open(folder).table())
        yield Progress(first.key, "score", 3)
        yield from inline([first, *others])

    study = StudyFile.parse(study_text(images))
    pool, watch = looked_at_while_it_scores, heard.append
    driver.run(folder, study, device="cpu", workers=CORES, pool=pool, watch=watch)
    assert [row["status"] for row in seen].count("done") == 1
    (row,) = [row for row in seen if row["status"] == "done"]
    assert row == next(other for other in Study.open(folder).table() if other["id"] == row["id"])
    assert [event.models for event in heard if isinstance(event, Finished)] == [1], "said once"
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


def test_chosen_steps_are_scored_without_training_twice_and_tables_show_the_last(images, tmp_path):
    """A run of so many steps has the scores that the longer one has at that step."""
    plain, often = tmp_path / "plain", tmp_path / "often"
    run_inline(plain, study_text(images, 30))
    run_inline(often, "score_every = 15\n" + study_text(images, 30))
    studies = [Study.open(folder) for folder in (plain, often)]
    tables = [
        [{k: v for k, v in row.items() if k != "seconds"} for row in study.table()]
        for study in studies
    ]
    assert tables[0] == tables[1]
    assert [study.store.scored_steps() for study in studies] == [[], [15]]
    short = tmp_path / "short"
    run_inline(short, study_text(images, 15))
    expected = [(row["mig"], row["sap"]) for row in Study.open(short).table()]
    assert [(row["mig"], row["sap"]) for row in studies[1].table(step=15)] == expected
    # A metric that is added later scores the weights that were kept.
    text = "score_every = 15\n" + study_text(images, 30).replace('"sap"]', '"sap", "irs"]')
    run_inline(often, text, update=True)
    assert all(row["irs"] is not None for row in Study.open(often).table(step=15))


def test_a_folder_that_vanishes_under_its_population_is_said(tmp_path, images, monkeypatch):
    score = run_task._scores

    def lose(task, training, folder, tell, stop):
        yield from score(task, training, folder, tell, stop)
        shutil.rmtree(folder)

    monkeypatch.setattr(run_task, "_scores", lose)
    said = []

    def pool(tasks):
        for event in inline(tasks):
            said.append(str(event))
            yield event

    text = StudyFile.parse(study_text(images, steps=2))
    driver.run(tmp_path / "study", text, device="cpu", workers=CORES, pool=pool)
    assert said
    assert all("status.json is gone; another command" in words for words in said)
