"""Scores of a run: which there are, what is kept of them, and what is not computed again."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import unknot
from unknot.core.errors import ConfigError, DataError, StoreError
from unknot.core.objective import Net
from unknot.core.posterior import Posterior
from unknot.metrics import elbo, kl_per_dimension
from unknot.metrics.parts import evaluation
from unknot.runs import evaluate
from unknot.runs import records as kept
from unknot.runs.evaluate import ScoringRequest
from unknot.runs.metric_names import model_metrics
from unknot.runs.records import Record

QUICK = ["mig", "kl_per_dimension", "aggregate_posterior", "elbo", "log_likelihood"]


@pytest.fixture(scope="module")
def trained(options):
    return unknot.train(**options, seeds=[0, 1])


def by_name(records):
    return {record.metric: record for record in records}


def test_every_member_gets_its_records(trained):
    first, second = map(by_name, evaluate.evaluate(trained, metrics=QUICK))
    assert list(first) == list(second) == QUICK
    assert [first["mig"].seed, second["mig"].seed] == [0, 1]
    assert first["elbo"].values["elbo"] != second["elbo"].values["elbo"]
    q = trained.posteriors(torch.arange(64))
    for i, found in enumerate((first, second)):
        truth = kl_per_dimension(q.mean[i], logvar=q.logvar[i])
        assert found["kl_per_dimension"].values == pytest.approx(dict(truth.values))
        kept = found["kl_per_dimension"].parts["per_code"]
        assert kept == pytest.approx(truth.parts["per_code"].tolist())


def test_a_member_scores_as_a_lone_run(options, trained):
    alone = by_name(*evaluate.evaluate(unknot.train(**options, seeds=1), metrics=QUICK))
    beside = by_name(list(evaluate.evaluate(trained, metrics=QUICK))[1])
    for name in QUICK:
        assert alone[name].values == pytest.approx(beside[name].values, rel=1e-6), name


def test_the_bounds_are_in_order_and_near_the_loss_of_training(options):
    run = unknot.train(**{**options, "steps": 300, "lr": 1e-2}, objective="vae")
    (records,) = evaluate.evaluate(run, metrics=["elbo", "log_likelihood"])
    bounds = by_name(records)
    bound, better = (bounds[n].values[n] for n in ("elbo", "log_likelihood"))
    assert bound < better < 0
    assert -bound == pytest.approx(run.training.curves["loss"][-1].item(), rel=0.2)
    assert bounds["elbo"].protocol["rows"] == 64


def test_scores_that_do_not_apply_are_told_with_the_reason(options):
    run = unknot.train(**options)
    done = []
    wanted = ScoringRequest(model_metrics(), "carbonneau", strict=False)
    (model,) = evaluate.models(run.training, wanted)
    found = evaluate.score(model, wanted, on_score=lambda: done.append(None))
    skipped = by_name(record for record in found if not record.applies)
    for name in ("log_likelihood", "kl_decomposition"):
        assert "has no protocol 'carbonneau'" in skipped[name].remarks[0]
        assert (skipped[name].values, skipped[name].protocol["name"]) == ({}, "carbonneau")
    assert [record.metric for record in found] == wanted.metrics
    assert len(done) == len(wanted.metrics)
    (records,) = evaluate.evaluate(run, protocol="carbonneau", strict=False)
    assert records == [record for record in found if record.applies]
    for metrics in (["log_likelihood"], None):
        with pytest.raises(ConfigError, match="has no protocol 'carbonneau'"):
            list(evaluate.evaluate(run, protocol="carbonneau", metrics=metrics))
    with pytest.raises(ConfigError, match="did you mean 'study2019'"):
        list(evaluate.evaluate(run, protocol="study2018"))


def test_images_without_factors_have_scores_of_codes_alone(options, tmp_path):
    """Their row numbers are no factors: a code that tells each image apart would be perfect."""
    file = tmp_path / "bare.npz"
    np.savez(file, images=np.random.default_rng(0).integers(0, 255, (60, 8, 8), dtype=np.uint8))
    run = unknot.train(**{**options, "data_settings": {"path": str(file)}})
    (records,) = evaluate.evaluate(run, strict=False)
    alone = {"active_units", "gaussian_tc", "mutual_info_score", "wasserstein_tc"}
    posteriors = {"aggregate_posterior", "kl_decomposition", "kl_per_dimension"}
    posteriors |= {"elbo", "log_likelihood"}
    assert {record.metric for record in records} == alone | posteriors | {"ima_contrast"}
    with pytest.raises(ConfigError, match="the data has none; give labels"):
        list(evaluate.evaluate(run, metrics=["beta_vae"]))


def test_an_objective_without_a_posterior_of_its_own_has_no_bound(options):
    run = unknot.train(**options, objective="ae")
    with pytest.raises(ConfigError, match="elbo needs posteriors that the decoder was trained"):
        list(evaluate.evaluate(run, metrics=["elbo"]))


def test_known_scores_are_not_computed_again(trained, monkeypatch):
    before = list(evaluate.evaluate(trained, metrics=QUICK))
    known = [record for own in before for record in own]
    known.append(replace(known[0], metric="of_a_package_that_is_gone"))
    called = []
    whole = evaluation.score_codes

    def counted(metric, *args):
        called.append(metric)
        return whole(metric, *args)

    monkeypatch.setattr(evaluation, "score_codes", counted)
    assert list(evaluate.evaluate(trained, metrics=QUICK, stored=known)) == before
    assert called == []
    changes = (
        {"seed": 1, "stored": known},
        {"protocol": "study2019", "stored": known},
        {"stored": [replace(r, unknot="0.0") for r in known]},
        {"stored": [replace(r, protocol={**r.protocol, "version": 0}) for r in known]},
        {"stored": [replace(r, id="another") for r in known]},
    )
    for change in changes:
        called.clear()
        list(evaluate.evaluate(trained, metrics=["mig"], **change))
        assert called == ["mig", "mig"], change


def test_a_diverged_member_is_left_out_and_does_not_stop_the_others(trained):
    lost = replace(trained, training=replace(trained.training, diverged={0: 20}))
    (records,) = evaluate.evaluate(lost, metrics=["mig", "elbo"])
    assert {record.seed for record in records} == {1}
    gone = replace(trained, training=replace(trained.training, diverged={0: 20, 1: 20}))
    with pytest.raises(DataError, match="all of them diverged"):
        list(evaluate.evaluate(gone))


def test_records_are_read_back_and_older_ones_too(trained, tmp_path):
    (records, _) = evaluate.evaluate(trained, metrics=["mig", "elbo"])
    assert kept.append(tmp_path, [*records, records[0]]) == 2
    assert kept.append(tmp_path, records) == 0
    assert kept.read(tmp_path) == records
    file = tmp_path / "scores.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        del line["parts"], line["check"]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert [record.parts for record in kept.read(tmp_path)] == [{}, {}]
    assert kept.read(tmp_path)[0] == Record(**{**vars(records[0]), "parts": {}})
    file.write_text("{}")
    with pytest.raises(StoreError, match="is damaged"):
        kept.read(tmp_path)


@pytest.mark.parametrize("sigma", ["learnt", "analytic"])
def test_a_sigma_vae_is_scored_with_its_own_sigma(options, tmp_path, sigma):
    """The density of that normal, from the squared error that a variance of 1/2 gives away."""
    run = unknot.train(
        **options, objective="sigma_vae", sigma=sigma, seeds=[0, 1], out=tmp_path / "run"
    )
    pixels = run.dataset.shape[1] * run.dataset.shape[2]
    x = run.dataset.batch(torch.arange(len(run.dataset)))
    population = run.training.population
    for source in (run, unknot.load(tmp_path / "run", device="cpu")):
        for member, records in enumerate(evaluate.evaluate(source, metrics=["elbo"])):
            net = Net(lambda x, m=member: _member(population.encode(x), m),
                      lambda z, m=member: population.decode(z.expand(2, *z.shape))[m])  # fmt: skip
            at_half = elbo(net, x, likelihood="sigmoid_gaussian").values["elbo.reconstruction"]
            error = -at_half - 0.5 * pixels * math.log(math.pi)
            if sigma == "learnt":  # and bent to its floor
                held = float(population.state()["extra.log_sigma"][member])
                deviation = math.exp(-6 + math.log1p(math.exp(held + 6)))
            else:
                deviation = math.sqrt(error / pixels)
            expected = -pixels * math.log(deviation * math.sqrt(2 * math.pi))
            expected -= error / (2 * deviation**2)
            (record,) = records
            assert record.values["elbo.reconstruction"] == pytest.approx(expected, rel=1e-5)
            assert record.values["elbo.reconstruction"] != pytest.approx(at_half, rel=1e-2)
            assert record.remarks == [f"the model's own variance of pixels, {deviation**2:.4g}"]


def _member(q, member):
    return Posterior(q.mean[member], q.logvar[member])


def test_the_literal_sigma_is_no_density(options):
    run = unknot.train(**options, objective="sigma_vae", form="literal")
    with pytest.raises(ConfigError, match=r"^elbo needs the density of a Gaussian: the literal"):
        list(evaluate.evaluate(run, metrics=["elbo"]))
