"""Kinds of factors travel with codes: scores of an encoded file are those of the run."""

import numpy as np
import pandas as pd
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
    same_scores(run, tmp_path / "codes.npz")


def test_labels_of_all_kinds_with_gaps_travel(tmp_path):
    """Text, numbers with fractions and angles, some of them missing, beside a table of numbers."""
    n = 240
    frame = pd.DataFrame(RNG.normal(size=(n, 5)), columns=[*"abcde"])
    frame["sort"] = np.where(frame.a > 0, "red", np.where(frame.b > 0, "dry", "old"))
    frame["dose"] = frame.c + 0.1 * RNG.normal(size=n)
    frame["angle"] = np.floor((frame.d * 40) % 8)
    frame["count"] = np.clip(frame.e * 2 + 4, 0, 8).round()
    frame.loc[:20, "sort"] = None
    frame.loc[200:, "dose"] = None
    labels = ["sort", "dose", "angle", "count"]
    data = unknot.dataset(frame, labels=labels, kinds=["angle=cyclic"])
    assert data.space.kinds == ("nominal", "continuous", "cyclic", "ordered")
    run = unknot.train(
        data, "vae", "linear", steps=60, batch=16, lr=1e-2, device="cpu", progress=False,
        net_settings={"latents": 4},
    )  # fmt: skip
    scores = same_scores(run, tmp_path / "codes.npz")
    remarks = {remark for name in scores for remark in scores[name].remarks}
    assert {"21 of 240 rows lack sort", "40 of 240 rows lack dose"} <= remarks
    assert "dose in 20 quantile bins" in remarks


def same_scores(run, file):
    """Scores of a run, after they were found to be those of the codes that it wrote."""
    arrays.write(run, arrays.rows_to_encode(run.dataset, None), file, on_rows=lambda _: None)
    data = arrays.read(file)
    names = code_metrics()
    table = evaluate(data.codes, data.factors, logvar=data.logvars, test=data.test)
    records = {r.metric: r for r in run.score() if r.metric in names}
    assert len(table) > 15
    assert {*table} == {*records}
    for name in table:
        assert table[name].values == pytest.approx(records[name].values, rel=1e-4, abs=1e-4), name
        assert {*table[name].remarks} == {*records[name].remarks}, name
    return table
