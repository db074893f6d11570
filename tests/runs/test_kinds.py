"""Kinds of factors travel with codes: scores of an encoded file are those of the run."""

import numpy as np
import pytest

import unknot
from unknot.metrics import evaluate
from unknot.metrics.parts.evaluation import code_metrics
from unknot.runs import arrays

RNG = np.random.default_rng(0)


def images(factors):
    """Blobs whose place and shade follow three factors."""
    shape, x, y = factors.T
    grid = np.arange(8)
    pixels = np.exp(-((grid[None, None] - x[:, None, None]) ** 2) / 2) * np.exp(
        -((grid[None, :, None] - y[:, None, None]) ** 2) / (1 + shape[:, None, None])
    )
    return (pixels * 255).astype(np.uint8)


def train(path, factors, kinds):
    np.savez(path, images=images(factors), factors=factors, kinds=kinds)
    return unknot.train(
        path, "beta_vae", "linear", steps=60, batch=16, lr=1e-2, device="cpu",
        net_settings={"latents": 3},
    )  # fmt: skip


GRID = np.indices((3, 6, 6)).reshape(3, -1).T
SOME = RNG.permutation(np.concatenate([GRID, GRID]))[:150]


@pytest.mark.parametrize("factors", [GRID, SOME], ids=["grid", "table"])
def test_scores_of_an_encoded_file_are_those_of_the_run(tmp_path, monkeypatch, factors):
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))
    run = train(tmp_path / "own.npz", factors, ["nominal", "ordered", "ordered"])
    assert run.dataset.space.is_grid == (factors is GRID)
    file = tmp_path / "codes.npz"
    arrays.write(run, arrays.rows_to_encode(run.dataset, None), file, on_rows=lambda _: None)
    data = arrays.read(file)
    names = code_metrics()
    table = evaluate(data.codes, data.factors, logvar=data.logvars, test=data.test)
    records = {r.metric: r for r in run.score() if r.metric in names}
    assert len(table) > 15
    assert {*table} == {*records}
    for name in table:
        assert table[name].values == pytest.approx(records[name].values, rel=1e-4, abs=1e-4), name
