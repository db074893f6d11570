"""Studies in two stages: runs that take a setting from the result of another run."""

import json

import pytest
import torch
from studies.bars import inline, records, run_inline, study_text

import unknot
from unknot.core.errors import ConfigError
from unknot.runs.spec import TrainSpec
from unknot.runs.training import Stopped
from unknot.studies.execute import driver, rebuild
from unknot.studies.execute.events import Done
from unknot.studies.execute.machine import machine
from unknot.studies.file.study_file import StudyFile
from unknot.studies.merge import merge
from unknot.studies.plan import plan, shards
from unknot.studies.study import Study

FORMULA = "= result('l_vae').beta_hat"
STAGES = f"""
        [[grid]]
        objective = {{name = "l_vae"}}
        [[grid]]
        objective = {{name = "beta_vae", likelihood = "sigmoid_gaussian", beta = "{FORMULA}"}}
"""


def two_stages(images, **changes):
    text = study_text(images, steps=20).partition("[[grid]]")[0] + STAGES
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def planned(text):
    return plan(StudyFile.parse(text))


@pytest.fixture(scope="module")
def whole(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stages") / "whole"
    run_inline(folder, two_stages(images))
    return folder


def rows_of(folder, objective):
    return [row for row in Study.open(folder).table() if row["objective"] == objective]


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
def test_a_run_trains_with_what_the_source_of_its_seed_gave(whole, images):
    """The frozen run is, in every bit, `unknot.train` with the last beta_hat as beta."""
    sources, frozen = rows_of(whole, "l_vae"), rows_of(whole, "beta_vae")
    assert [row["seed"] for row in frozen] == [row["seed"] for row in sources] == [0, 1]
    assert sources[0]["beta_hat"] != sources[1]["beta_hat"]
    for source, row in zip(sources, frozen, strict=True):
        assert row["objective.beta"] == FORMULA
        assert row["value.objective.beta"] == source["beta_hat"]
        assert row["mig"] is not None
        alone = unknot.train(
            *("arrays", "beta_vae", "linear"),
            data_settings={"path": str(images)},
            net_settings={"latents": 3},
            beta=float(Study.open(whole).curves(source["id"])["beta_hat"][-1]),
            likelihood="sigmoid_gaussian",
            steps=20,
            batch=8,
            log_every=25,
            seeds=row["seed"],
            device="cpu",
        )
        run = Study.open(whole).run(row["id"], device="cpu")
        assert torch.equal(run.codes(), alone.codes())
        assert run.spec.objective == alone.spec.objective
        assert run.spec.ids() == [row["id"]] != alone.spec.ids()


def test_ids_come_from_formula_and_source_and_not_from_the_value(images):
    ids = [run.id for run in planned(two_stages(images)).runs]
    blanks = FORMULA.replace(" ", "").replace("'", '\\"')
    assert [run.id for run in planned(two_stages(images, **{FORMULA: blanks})).runs] == ids
    twice = [r.id for r in planned(two_stages(images, **{FORMULA: f"= 2 * {FORMULA[2:]}"})).runs]
    other = '"l_vae", penalty = "log"'
    source = [run.id for run in planned(two_stages(images, **{'"l_vae"': other})).runs]
    assert twice[:2] == ids[:2]
    assert {*ids}.isdisjoint([*twice[2:], *source])


def test_the_plan_before_and_after(images, tmp_path, whole):
    new = planned(two_stages(images))
    assert new.waits() == {"l_vae": 2}
    assert [run.seed for run in new.runs] == [0, 1, 0, 1]
    more = f'{two_stages(images)}\n[[grid]]\nobjective = {{name = "beta_vae", '
    more += 'likelihood = "sigmoid_gaussian", beta = [2, 4]}'
    sizes = [len(shard.runs) for shard in shards(planned(more), members=16)]
    assert sizes == [2, 2, 4], "runs that wait hold up others of the same shape"
    before, after = tmp_path / "before", Study.open(whole).status()
    with pytest.raises(Stopped):
        run_inline(before, two_stages(images), watch=lambda _: stop())
    assert Study.open(before).status()["waits"] == {"l_vae": 2}
    assert after["waits"] == {}
    assert after["runs"] == {"all": 4, "done": 4}


def stop():
    raise Stopped


def test_a_study_killed_between_its_stages_goes_on_to_the_same(images, tmp_path, whole):
    folder, heard = tmp_path / "study", []

    def kill_after_the_first(event):
        raise Stopped  # the first population is recorded, the second has not begun

    with pytest.raises(Stopped):
        run_inline(folder, two_stages(images), watch=kill_after_the_first)
    assert [row["status"] for row in Study.open(folder).table()] == ["done"] * 2 + ["waiting"] * 2
    run_inline(folder, watch=heard.append)
    assert [type(event) for event in heard] == [Done]
    assert records(folder) == records(whole)
    run_inline(folder, watch=heard.append)
    assert len(heard) == 1


def test_a_source_that_diverged_leaves_its_own_seed_untrained(images, tmp_path, whole):
    folder = tmp_path / "study"

    def one_lost(tasks):
        for event in inline(tasks):
            for member in event.outcome.members:
                if member["id"] == rows_of(whole, "l_vae")[1]["id"]:
                    member.update(status="diverged", diverged_at=7)
            yield event

    driver.run(folder, StudyFile.parse(two_stages(images)), device="cpu", workers=1, pool=one_lost)
    good, bad = rows_of(folder, "beta_vae")
    assert (good["status"], bad["status"]) == ("done", "failed")
    assert good["loss"] == rows_of(whole, "beta_vae")[0]["loss"]
    source = rows_of(whole, "l_vae")[1]["id"]
    assert bad["error"] == f"objective.beta of seed 1 is taken from run {source}, which diverged."
    before = records(folder)
    run_inline(folder)
    assert records(folder) == before


def test_a_result_that_is_not_there_is_named_and_scores_are_results(images, tmp_path):
    study = run_inline(tmp_path / "a", two_stages(images, beta_hat="beta_hut"))
    errors = {row["error"] for row in study.table() if row["objective"] == "beta_vae"}
    assert len(errors) == 2
    assert all("has no result 'beta_hut'; did you mean 'beta_hat'?" in text for text in errors)
    study = run_inline(tmp_path / "b", two_stages(images, **{".beta_hat": ".mig + batch"}))
    sources = [row["mig"] + 8 for row in study.table() if row["objective"] == "l_vae"]
    assert [r["value.objective.beta"] for r in rows_of(tmp_path / "b", "beta_vae")] == sources


def test_records_that_are_rebuilt_or_merged_keep_the_values(images, tmp_path, whole):
    for seed in (0, 1):
        run_inline(tmp_path / f"{seed}", two_stages(images, **{"[0, 1]": f"[{seed}]"}))
    merge([tmp_path / "0", tmp_path / "1"], tmp_path / "merged")
    apart = [*("population", "member", "seconds")]
    rows = [
        [{k: v for k, v in row.items() if k not in apart} for row in Study.open(folder).table()]
        for folder in (tmp_path / "merged", whole)
    ]
    assert rows[0] == rows[1]
    before, heard = records(tmp_path / "merged"), []
    (tmp_path / "merged" / "study.db").unlink()
    rebuild.rebuild(tmp_path / "merged", machine)
    facts = Study.open(tmp_path / "merged").store.facts()
    assert len(json.loads(facts["results"])) == 2
    run_inline(tmp_path / "merged", watch=heard.append)
    assert records(tmp_path / "merged") == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("result('l_vae')", "result('l_vea')", "In grid 2: .* names l_vea, .*l_vae"),
        ("result('l_vae')", "result(3)", "written result"),
        ("beta = ", "likelihoood = 1, beta = ", "likelihoood"),
        ('beta = "= ', 'beta = "= objective.gamma * ', "objective.gamma, which is not set"),
        ("result('l_vae').beta_hat", "result('l_vae')", "is not a formula"),
        ("result('l_vae').beta_hat", "result('l_vae').a + result('vae').b", "of one source"),
        ("steps = 20", "steps = \"= result('l_vae').loss\"", "steps cannot be taken from a result"),
    ],
)
def test_what_cannot_be_planned(images, old, new, message):
    text = two_stages(images)
    if old.startswith("steps"):
        text = text.replace('name = "beta_vae",', f'name = "beta_vae", beta = 1}}\n{new}\n#')
    with pytest.raises(ConfigError, match=message):
        planned(text.replace(old, new))


def test_names_of_sources_are_computed_once(images, monkeypatch):
    """A plan of many seeds would take the square of their number otherwise."""
    ids, named = TrainSpec.ids, []
    monkeypatch.setattr(TrainSpec, "ids", lambda s: named.append(len(s.seed_list)) or ids(s))
    seeds = 100
    new = planned(f"{two_stages(images)}".replace("seeds = [0, 1]", f'seeds = "0..{seeds - 1}"'))
    assert len(new.runs) == 2 * seeds
    assert sum(named) < 8 * seeds


def test_of_several_sources_one_is_that_of_the_run_s_own_settings_or_named(images):
    """Two L-VAEs differ in a setting: shared with the run, it decides; else a word has to."""
    axis = two_stages(images).replace("[[grid]]", "[across]\nbatch = [4, 8]\n[[grid]]", 1)
    new = planned(axis)
    batches = {run.id: new.configurations[run.configuration].batch for run in new.runs}
    of_runs = [(spec.batch, o.source) for spec in new.configurations for o in spec.origins]
    assert len(of_runs) == 4
    assert all(batches[source] == batch for batch, source in of_runs)
    penalties = 'objective.name = "l_vae"\nobjective.penalty = ["square", "log"]'
    text = two_stages(images).replace('objective = {name = "l_vae"}', penalties)
    with pytest.raises(ConfigError, match=r"differ in objective\.penalty; name one"):
        planned(text)
    named = planned(text.replace("'l_vae'", "'l_vae penalty=log'"))
    sources = {o.source for spec in named.configurations for o in spec.origins}
    assert sources == {*named.configurations[1].ids()}
