"""Scores of a part of the data: rows of that part alone, said in the record."""

import json

import pytest
import torch

import unknot
from unknot.core.errors import ConfigError
from unknot.losses import reconstruction
from unknot.runs import records


@pytest.fixture(scope="module")
def trained(tiny):
    return unknot.train(
        "arrays",
        "beta_vae",
        "linear",
        steps=40,
        batch=8,
        lr=1e-2,
        seeds=[0, 1],
        device="cpu",
        split={"kind": "rows", "validation": 0.25, "test": 0.25},
        data_settings={"path": str(tiny)},
        net_settings={"latents": 3},
    )


def test_the_test_error_is_that_of_test_images(trained):
    rows = trained.rows("test")
    assert len(rows) == 16
    scores = trained.score("recon", part="test")
    assert [(s.metric, s.part) for s in scores] == [("recon", "test")] * 2
    x = trained.dataset.batch(rows)
    decoded = trained.training.population.decode(trained.encode(x))
    expected = reconstruction("bernoulli", decoded, x.expand_as(decoded))
    off = decoded.sigmoid() - x
    squared, absolute = off.square().sum((2, 3, 4)).mean(1), off.abs().flatten(1).mean(1)
    pixels = x[0].numel()
    for i, score in enumerate(scores):
        assert score.values["recon"] == pytest.approx(float(expected[i]), rel=1e-5)
        assert score.values["recon.mse"] == pytest.approx(float(squared[i]), rel=1e-5)
        assert score.values["recon.per_pixel"] == pytest.approx(score.values["recon"] / pixels)
        assert score.values["recon.squared"] == pytest.approx(float(squared[i]) / pixels, rel=1e-5)
        assert score.values["recon.absolute"] == pytest.approx(float(absolute[i]), rel=1e-5)


def test_a_metric_of_a_part_is_that_of_its_arrays(trained):
    rows = trained.rows("train")
    factors = trained.dataset.space.factors(rows)
    for i, score in enumerate(trained.score("mig", part="train")):
        expected = unknot.metrics.mig(trained.codes(rows)[i], factors)
        assert score.values["mig"] == pytest.approx(float(expected))
        assert score.part == "train"


def test_all_scores_of_a_part_are_there_or_left_out(trained):
    names = {score.metric for score in trained.score(part="train")}
    assert {"recon", "mig", "dci", "elbo", "active_units"} <= names


def test_a_record_of_a_part_is_kept_apart(trained, tmp_path):
    everything, part = trained.score("mig"), trained.score("mig", part="train")
    assert records.append(tmp_path, [*everything, *part]) == 4
    assert records.append(tmp_path, [*everything, *part]) == 0
    lines = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert ["part" in line for line in lines] == [False, False, True, True]
    assert records.read(tmp_path) == [*everything, *part]


def test_training_never_sees_the_rows_held_out(trained):
    """The gradient of a pixel that is on in test images alone is nothing but its bias towards 0."""
    context = trained.training.context
    rows = context.rows(trained.spec.objective.settings)(torch.arange(99), torch.tensor(0))
    assert {*rows.flatten().tolist()} == {*trained.rows("train").tolist()}


def test_a_run_without_a_split_has_no_parts(options):
    run = unknot.train(**{**options, "steps": 1})
    with pytest.raises(ConfigError, match="trained on all rows"):
        run.score("mig", part="test")


def test_a_part_that_is_none_is_refused_with_the_nearest(trained):
    with pytest.raises(ConfigError, match="did you mean 'test'"):
        trained.score("mig", part="tests")


def test_a_split_is_in_the_file_and_in_the_id_and_only_then(options):
    plain = unknot.train(**{**options, "steps": 1})
    split = unknot.train(**{**options, "steps": 1}, split="rows")
    assert "split" not in plain.spec.table()
    assert split.spec.table()["split"] == {
        "kind": "rows", "validation": 0.1, "test": 0.1, "seed": 0
    }  # fmt: skip
    assert plain.spec.ids() != split.spec.ids()
