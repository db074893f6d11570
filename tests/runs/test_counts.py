"""Tables of counts: from the file to what a run says of them."""

import numpy as np
import pandas as pd
import pytest
import torch

import unknot
from unknot.core.errors import DataError
from unknot.nets import MLP
from unknot.runs import config

RNG = np.random.default_rng(3)
COUNTS = RNG.poisson(RNG.gamma(2, 3, size=(1, 5)), size=(60, 5))
FRAME = pd.DataFrame(COUNTS, columns=[f"gene_{i}" for i in range(5)])
SHORT = {"steps": 4, "batch": 8, "device": "cpu", "progress": False}


def test_counts_are_offered_and_never_taken_without_being_asked_for(tmp_path):
    assert "looks like counts: consider likelihood=poisson" in unknot.dataset(FRAME).summary
    for other in (FRAME + 0.5, FRAME - 1, (FRAME > 3).astype(int)):
        assert "counts" not in unknot.dataset(other).summary
    FRAME.to_csv(tmp_path / "cells.csv", index=False)
    table = {"data": str(tmp_path / "cells.csv")}
    usual = config.spec(table)
    assert (usual.objective.settings.likelihood, usual.data.settings.standardize) == (
        "gaussian",
        True,
    )
    counted = config.spec({**table, "objective": {"likelihood": "poisson"}})
    assert counted.data.settings.standardize is False
    assert config.spec(counted.table()) == counted


def test_batches_are_logarithms_and_come_back_as_counts():
    run = unknot.train(FRAME, "vae", likelihood="poisson", **SHORT)
    x = run.dataset.batch(torch.arange(60))
    assert np.allclose(x[..., 0, 0], np.log1p(COUNTS), atol=1e-6)
    assert np.allclose(run.dataset.unit(x)[..., 0, 0], COUNTS, atol=1e-4)
    median = np.sort(COUNTS.sum(1))[29]
    text = f"60 rows of 5 columns, counts (median total {median}) as log1p"
    assert run.dataset.summary == text
    counts = run.dataset.unit(run.decode(run.codes()))
    assert torch.allclose(counts.sum(1), torch.tensor(run.dataset.row_total))
    assert torch.allclose(run.encode(COUNTS.astype(np.float32)), run.codes(), atol=1e-6)
    assert torch.allclose(run.encode(COUNTS), run.codes(), atol=1e-6)


def test_a_run_of_counts_is_resumed_and_loaded_bit_for_bit(tmp_path):
    common = {"likelihood": "negative_binomial", "checkpoint_every": 5, **SHORT, "steps": 10}
    FRAME.to_csv(tmp_path / "cells.csv", index=False)
    whole = unknot.train(tmp_path / "cells.csv", "beta_tcvae", **common)
    stopped = unknot.train(
        tmp_path / "cells.csv",
        "beta_tcvae",
        out=tmp_path / "run",
        callback=lambda run, _: run.step >= 5,
        **{**common, "log_every": 5},
    )
    assert stopped.status == "stopped"
    again = unknot.resume(tmp_path / "run", device="cpu", progress=False)
    mine, theirs = again.training.weights(), whole.training.weights()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert bool(mine["decoder.6.weight"].all())
    loaded = unknot.load(tmp_path / "run", device="cpu")
    assert torch.equal(loaded.codes(), whole.codes())
    (tmp_path / "cells.csv").unlink()
    alone = unknot.load(tmp_path / "run", device="cpu")
    assert torch.equal(alone.encode(COUNTS), loaded.encode(COUNTS))
    assert torch.equal(alone.decode(torch.zeros(1, 10)), loaded.decode(torch.zeros(1, 10)))


def test_dispersions_are_recovered():
    """Forty columns of one mean each, so that nothing but the dispersion makes rows differ."""
    dispersion = np.array([0.5, 2.0, 8.0, 100.0] * 10)
    means = RNG.uniform(20, 60, size=40)
    counts = RNG.negative_binomial(dispersion, dispersion / (dispersion + means), size=(1500, 40))
    run = unknot.train(
        counts,
        "vae",
        MLP(latents=1, hidden=()),
        likelihood="negative_binomial",
        lr=0.02,
        **{**SHORT, "steps": 700, "batch": 256},
    )
    learnt = run.decoder[-1].log_dispersion.exp().detach().numpy().reshape(10, 4)
    assert np.median(learnt, axis=0)[:3] == pytest.approx(dispersion[:3], rel=0.15)
    assert np.median(learnt[:, 3]) > 40


@pytest.mark.parametrize("likelihood", ["poisson", "negative_binomial"])
def test_what_is_no_count_is_refused(likelihood):
    options = {"likelihood": likelihood, **SHORT}
    with pytest.raises(DataError, match=r"column 'gene_0' has −1 in row 2"):
        unknot.train(FRAME.astype(int).where(FRAME.index.to_series().ne(2), -1), "vae", **options)
    with pytest.raises(DataError, match=r"column 'gene_0' has 0\.5 in row 0"):
        unknot.train(FRAME * 0 + 0.5, "vae", **options)
    with pytest.raises(DataError, match="has images"):
        unknot.train("xysquares", "vae", **options)
    run = unknot.train(FRAME, "vae", **options)
    with pytest.raises(DataError, match="whole numbers from 0"):
        run.encode(COUNTS - 100)


def test_metrics_that_decode_score_counts():
    run = unknot.train(FRAME, "vae", likelihood="poisson", **SHORT)
    values = {k: v for record in run.score("elbo", "recon") for k, v in record.values.items()}
    x = run.dataset.batch(torch.arange(60))
    counts = run.dataset.unit(run.decode(run.codes())) / run.dataset.row_total
    mean = counts[..., 0, 0] * torch.from_numpy(COUNTS.sum(1, keepdims=True))
    assert values["recon.mse"] == pytest.approx(
        float((mean.log1p() - x[..., 0, 0]).square().sum(1).mean()), rel=1e-4
    )
    assert values["elbo.reconstruction"] == pytest.approx(-values["recon"], rel=0.2)
