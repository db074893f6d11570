"""What a notebook user sees: short texts, cards, pictures, and a run after Ctrl-C."""

import os
import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

import unknot
from unknot import nets
from unknot.core.errors import ConfigError

IMAGES = (np.arange(40 * 64).reshape(40, 8, 8) * 37 % 256).astype("uint8")
TINY = {"steps": 40, "batch": 8, "log_every": 10, "device": "cpu", "net": nets.Linear(latents=3)}


@pytest.fixture(scope="module")
def run():
    return unknot.train(IMAGES, **TINY)


@pytest.fixture(scope="module")
def many():
    return unknot.train(IMAGES, seeds=range(3), **TINY)


def test_texts_are_short_and_cards_show_the_models(run, many):
    for thing in (run, many, unknot.dataset(IMAGES)):
        assert len(repr(thing)) < 200
        assert "<img" in thing._repr_html_()
    assert "beta_vae (beta 4)" in repr(run)
    assert "step 40 of 40, done" in repr(run)


def test_a_population_is_a_sequence_of_runs(run, many):
    assert len(many) == 3
    assert len(run) == 1
    assert [m.spec.seeds for m in many] == [0, 1, 2]
    assert torch.equal(many[-1].codes(), many.codes()[2])
    assert isinstance(many[1], unknot.Run)
    with pytest.raises(IndexError):
        many[3]


def test_curves_are_data_frames(run, many):
    """Of one model the names are the columns; of several there is a level of models below."""
    assert isinstance(run.curves, pd.DataFrame)
    assert run.curves.index.tolist() == [1, 10, 20, 30, 40]
    assert run.curves["loss"].tolist() == run.training.curves["loss"][:, 0].tolist()
    assert run.validation.empty
    assert many.curves["loss"].shape == (5, 3)
    pd.testing.assert_frame_equal(many[1].curves, many.curves.xs(1, axis=1, level=1))
    held_out = unknot.train(IMAGES, split="rows", validate_every=20, **TINY)
    assert held_out.validation["validation.loss"].index.tolist() == [20, 40]


def test_pictures_have_pixels(run, many, tmp_path):
    pictures = {
        "traverse": run.traverse(),
        "reconstruct": run.reconstruct(),
        "sample": run.sample(5),
        "interpolate": many.interpolate(0, IMAGES[7]),
        "swap": run.swap(0, 7, [0, 2]),
        "curves": run.plot_curves(),
    }
    for name, picture in pictures.items():
        assert np.asarray(picture).std() > 1, name
        assert picture._repr_png_()[:4] == b"\x89PNG"
        assert picture.save(tmp_path / f"{name}.png").stat().st_size > 100
    with pytest.raises(ConfigError, match="from 0 to 2"):
        run.swap(0, 1, 3)


def test_ends_of_an_interpolation_are_reconstructions(run):
    """What `interpolate` draws at its ends is what the model decodes from the two codes."""
    from unknot.report.model import between

    codes = run.codes(torch.tensor([3, 9]))
    ends = torch.cat([between.image_of(run, 3), between.image_of(run, IMAGES[9])])
    torch.testing.assert_close(run.encode(ends), codes)


def test_an_interpolation_of_two_runs_has_the_rows_of_both(run, many, monkeypatch):
    """On the same two images, each row what its model draws alone."""
    from unknot.report.model import between

    ae = unknot.train(IMAGES, "ae", **TINY)
    drawn = []
    monkeypatch.setattr(
        between, "sheet", lambda rows, **_: (drawn.append(rows), np.zeros((1, 1, 3), np.uint8))[1]
    )
    for one, other in ((many, ae), *((one, None) for one in (*many, ae))):
        one.interpolate(0, IMAGES[7], steps=4, other=other)
    (_, *rows), *alone = drawn
    assert [row.lines for row in rows] == [
        *(("beta_vae", f"seed {seed}") for seed in range(3)), ("ae",),
    ]  # fmt: skip
    for row, (_, mine) in zip(rows, alone, strict=True):
        assert np.array_equal(row.images, mine.images)
        assert mine.lines == ("decoded",)
    monkeypatch.undo()
    assert np.asarray(many.interpolate(0, 1, other=ae)).std() > 1
    large = unknot.train(np.zeros((9, 16, 16), "uint8"), net="linear", steps=1, progress=False)
    with pytest.raises(ConfigError, match="of one shape"):
        run.interpolate(0, 1, other=large)
    with pytest.raises(ConfigError, match="other must be of the type Run"):
        run.interpolate(0, 1, other="vae")


def test_explain_names_the_factor_that_a_latent_follows():
    run = unknot.train("xysquares", net="linear", steps=1, lr=1e-2, device="cpu")
    table = run.explain()
    assert [*table.columns[:3]] == ["kl", "active", "factor"]
    shares = table[[*run.dataset.space.names]]
    assert (shares.idxmax(axis=1) == table["factor"]).all()
    assert table["kl"].is_monotonic_decreasing


def test_scores_are_a_table_under_named_protocols(many):
    scores = many.score("active_units", "kl_per_dimension")
    table = scores.table()
    assert {"metric", "seed", "value", "protocol"} <= {*table.columns}
    assert set(table["seed"]) == {0, 1, 2}
    assert "active_units" in scores._repr_html_()


def test_one_score_of_one_model_is_a_number(many):
    one = many[1].score("active_units")
    assert float(one) == one.table()["value"].iloc[0]
    with pytest.raises(ConfigError, match="here are 3"):
        float(many.score("active_units"))
    one[0] = replace(one[0], values={}, remarks=["all latents are constant"])
    with pytest.raises(ConfigError, match="undefined: all latents are constant"):
        float(one)


def test_ctrl_c_returns_the_run_and_resume_ends_as_one_that_was_not_stopped(run, tmp_path, capsys):
    def interrupt(now):
        if now.step == 20:
            os.kill(os.getpid(), signal.SIGINT)

    stopped = unknot.train(IMAGES, watch=interrupt, **TINY)
    assert (stopped.status, stopped.step) == ("stopped", 20)
    assert "run.resume()" in capsys.readouterr().err
    stopped.save(tmp_path / "stopped")
    for resumed in (unknot.resume(tmp_path / "stopped", data=IMAGES), stopped.resume()):
        assert resumed.status == "done"
        assert torch.equal(resumed.codes(), run.codes())
    in_folder = unknot.train(IMAGES, watch=interrupt, out=tmp_path / "run", **TINY)
    assert in_folder.step == 20
    assert torch.equal(in_folder.resume().codes(), run.codes())


def test_a_notebook_bar_says_how_far_training_is(monkeypatch):
    """With a stand-in for IPython, whose display is all that the bar needs."""
    import sys
    import types

    from unknot.api import progress

    texts = []
    handle = types.SimpleNamespace(update=texts.append)
    display = types.SimpleNamespace(display=lambda *_, **__: handle, HTML=str)
    shell = type("ZMQInteractiveShell", (), {})()
    fake = types.SimpleNamespace(display=display, get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setattr(progress, "PAUSE", 0)
    unknot.train(IMAGES, **TINY)
    assert "40/40 steps" in texts[-1]
    assert "recon" in texts[-1]
    count = len(texts)
    unknot.train(IMAGES, progress=False, **TINY)
    assert len(texts) == count


def test_the_first_reading_has_a_bar_that_a_second_one_has_not(monkeypatch, tmp_path, capsys):
    """With a stand-in for IPython, and clocks that make every picture take a second."""
    import sys
    import types

    from PIL import Image

    from unknot.api import progress

    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "photos"
    folder.mkdir()
    for i, pixels in enumerate(IMAGES):
        Image.fromarray(pixels).save(folder / f"{i}.png")
    texts = []
    handle = types.SimpleNamespace(update=texts.append)
    places = []

    def place(*_, **__):
        places.append(handle)
        return handle

    display = types.SimpleNamespace(display=place, HTML=str)
    shell = type("ZMQInteractiveShell", (), {})()
    fake = types.SimpleNamespace(display=display, get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setattr(progress, "PAUSE", 0)
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr("unknot.data.parts.picture_files.CHUNK", 10)
    unknot.dataset(folder, progress=False)
    assert texts == []
    unknot.dataset(folder, size=16)
    assert any("images read" in text for text in texts)
    texts.clear()
    assert len(places) == 1
    unknot.dataset(folder, size=16)
    assert texts == []
    assert len(places) == 1, "nothing is left in a cell where nothing was shown"
    unknot.train(folder, **{**TINY, "net": nets.Linear(latents=3), "steps": 1})
    assert "40 images, 8 x 8 x 1" in capsys.readouterr().err


def test_a_run_says_what_was_decided_about_data_of_its_own(capsys):
    unknot.train(np.linspace(0, 900, 640).reshape(10, 8, 8), **TINY)
    assert "scaled to 0 .. 1" in capsys.readouterr().err
    unknot.train(IMAGES, progress=False, **TINY)
    assert capsys.readouterr().err == ""


def test_scores_of_a_run_have_intervals_where_metrics_can(tmp_path):
    run = unknot.train("soft_squares", net="linear", steps=1, device="cpu", progress=False)
    scores = run.score("mig", "sap@study2019", "active_units", interval=0.9)
    table = scores.table().set_index("metric")
    own = unknot.metrics.mig(run.representations()[0], interval=0.9)
    assert table.loc["mig", ["low", "high"]].tolist() == list(own.interval)
    assert table.loc["mig", "low"] <= table.loc["mig", "value"] <= table.loc["mig", "high"]
    assert "low" not in run.score("mig").table()
    with pytest.raises(ConfigError, match="interval is a level"):
        run.score("mig", interval=95)
