"""What is computed again agrees with a true record, and shows a false one."""

import json
import math
import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from unknot.cli.main import app
from unknot.core.checksums import facts_sum
from unknot.core.errors import StoreError, UnknotError
from unknot.engine.checkpoint import unpack_tensors, write_tensors
from unknot.runs import records, status
from unknot.studies.archive.writing import write_archive
from unknot.studies.recompute import Recomputed, rescore, retrain, sample, stored_models


def check(*words):
    done = CliRunner().invoke(app, ["check", *map(str, words)])
    return done.exit_code, done.stdout


def test_scores_and_a_training_come_out_the_same_to_the_bit(undisturbed):
    model = stored_models(undisturbed)[1]
    numbers = [*rescore(model, "cpu"), *retrain(model, "cpu")]
    assert {number.kind for number in numbers} == {"score", "logged value", "weights"}
    assert {"mig", "sap"} <= {number.name for number in numbers}
    assert {number.id for number in numbers} == {model.id}
    assert all(number.reason == "" for number in numbers)
    assert max(number.difference for number in numbers) < 1e-12


def test_a_false_record_with_a_good_checksum_is_found(undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path / "study")
    model = stored_models(tmp_path / "study")[0]
    path = model.folder.path / records.FILE
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["check"]
        if line["id"] == model.id and line["metric"] == "mig":
            line["values"]["mig"] += 0.02
    sealed = [json.dumps({**x, "check": facts_sum(x)[: records.CHECK]}) + "\n" for x in lines]
    path.write_text("".join(sealed))
    wrong = [number.name for number in rescore(model, "cpu") if number.differs(0.01)]
    assert wrong == ["mig"]
    assert check(tmp_path / "study")[0] == 0  # which only compares files with their checksums
    code, out = check(tmp_path / "study", "--rescore", 4, "--device", "cpu")
    assert (code, "DIFFERS" in out) == (2, True)
    assert check(tmp_path / "study", "--rescore", 4, "--device", "cpu", "--tolerance", 0.1)[0] == 0


def test_an_archive_in_half_precision_agrees_within_the_tolerance(undisturbed, tmp_path):
    write_archive(undisturbed, tmp_path / "study.zip")
    code, out = check(tmp_path / "study.zip", "--rescore", 2, "--retrain", 1, "--device", "cpu")
    assert code == 0
    assert out.count("agree within 0.01") == 2
    assert "not judged" not in out
    code, out = check(tmp_path / "study.zip", "--rescore", 1, "--json", "--device", "cpu")
    facts = json.loads(out)
    assert (code, facts["faults"]) == (0, [])
    assert {row["name"] for row in facts["recomputed"]} == {"mig", "sap"}


def test_a_training_elsewhere_is_shown_and_not_judged(undisturbed, tmp_path, monkeypatch):
    model = stored_models(undisturbed)[0]
    monkeypatch.setattr(
        "unknot.studies.recompute.versions", lambda _: {"unknot": "9", "torch": "9", "threads": 64}
    )
    numbers = [*retrain(model, "cpu")]
    assert {number.reason.count(" here") for number in numbers} == {3}
    assert not any(number.differs(0.0) for number in numbers)


def test_a_number_that_is_gone_differs():
    gone = Recomputed("a", 0, "score", "mig", "unknot", 0.5, None)
    assert gone.differs(1.0)
    assert not replace(gone, reason="no images").differs(0.0)


def test_weights_that_are_not_there_are_said_and_not_judged(undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path / "study")
    model = stored_models(tmp_path / "study")[0]
    records.append(model.folder.path, [replace(model.records()[0], step=7)])
    earlier = [number for number in rescore(model, "cpu") if number.step == 7]
    assert {number.reason for number in earlier} == {"weights of step 7 are not there by number"}


def test_a_training_that_was_followed_is_trained_again_without_a_tracker(undisturbed):
    model = stored_models(undisturbed)[0]
    followed = replace(model, specs=[replace(s, track=("tensorboard",)) for s in model.specs])
    assert max(number.difference for number in retrain(followed, "cpu")) < 1e-12


def test_models_are_chosen_by_the_seed(undisturbed):
    stored = stored_models(undisturbed)
    chosen = [tuple(model.id for model in sample(stored, 2, seed)) for seed in range(12)]
    assert len({*chosen}) > 2
    assert chosen[0] == tuple(model.id for model in sample(stored, 2, 0))
    assert [model.id for model in sample(stored, 99, 3)] == [model.id for model in stored]
    with pytest.raises(StoreError, match="no trained model"):
        sample([], 1, 0)


@pytest.mark.parametrize(
    ("recorded", "again", "difference"),
    [(0.5, 0.25, 0.25), (200.0, 100.0, 0.5), (math.nan, math.nan, 0.0), (0.5, math.nan, math.inf)],
)
def test_differences(recorded, again, difference):
    number = Recomputed("a", 0, "score", "mig", "unknot", recorded, again)
    assert number.difference == difference
    assert number.differs(0.3) == (difference > 0.3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.zip", "--repair"), "An archive is not mended"),
        (("none.zip", "--rescore", "1"), "archive without weights"),
        (("gone.zip",), "There is no folder and no archive"),
    ],
)
def test_what_cannot_be_checked(undisturbed, tmp_path, words, said):
    write_archive(undisturbed, tmp_path / "none.zip", weights="none")
    with pytest.raises(UnknotError, match=said):
        app(["check", str(tmp_path / words[0]), *words[1:]], standalone_mode=False)


def test_weights_of_a_training_are_compared_to_the_bit(undisturbed, tmp_path):
    (same,) = (n for n in retrain(stored_models(undisturbed)[1], "cpu") if n.kind == "weights")
    assert (same.bits, same.again) == (True, 0.0)
    shutil.copytree(undisturbed, tmp_path / "study")
    model = stored_models(tmp_path / "study")[1]
    weights = unpack_tensors(model.folder.weights_file.read_bytes(), model.folder.weights_file)
    name = max(weights)
    weights[name][model.member].flatten()[0] += 0.5
    write_tensors(model.folder.weights_file, weights, {})
    record = model.folder.record()
    status.write(model.folder.path, {**record, "files": status.final_files(model.folder.path)})
    (other,) = (n for n in retrain(model, "cpu") if n.kind == "weights")
    assert (other.bits, other.name) == (False, f"weights ({name})")
    assert other.again == pytest.approx(0.5, abs=1e-6)
    assert other.differs(0.01)


@pytest.mark.parametrize(
    ("weights", "said"),
    [("half", "equal to the bit"), ("none", "not compared: the archive has no")],
)
def test_weights_of_an_archive_are_compared_in_its_precision(undisturbed, tmp_path, weights, said):
    write_archive(undisturbed, tmp_path / "study.zip", weights=weights)
    code, out = check(tmp_path / "study.zip", "--retrain", 1, "--device", "cpu")
    assert code == 0
    assert f": {said}" in out
