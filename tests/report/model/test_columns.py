"""Tables on a page: which columns a latent moves, in which units, and how well rows come back."""

import numpy as np
import pandas as pd
import pytest

import unknot
from unknot.report.model.columns import explained_share, measure_columns, reconstruct_rows
from unknot.report.model.latents import measure_latents
from unknot.report.run.page import page, write_pictures

RNG = np.random.default_rng(6)
FRAME = pd.DataFrame(
    RNG.normal(size=(300, 3)) * [2, 50, 0.1] + [10, -200, 1], columns=["acid", "proline", "hue"]
)
SHORT = {"batch": 16, "device": "cpu", "progress": False}


@pytest.fixture
def known():
    """A linear model whose latent 0 is the standardised acid, and latent 1 minus proline."""
    run = unknot.train(FRAME, "vae", "linear", steps=1, net_settings={"latents": 2}, **SHORT)
    state = run.training.population.state()
    encoder, decoder = state["encoder.1.weight"], state["decoder.0.weight"]
    for weights in (encoder, decoder, state["encoder.1.bias"], state["decoder.0.bias"]):
        weights.zero_()
    encoder[0, 0, 0], encoder[0, 1, 1] = 1, -1
    decoder[0, 0, 0], decoder[0, 1, 1] = 1, -1
    state["encoder.1.bias"][0, 2:] = -20
    run.training.population.load(state)
    return run


def test_a_latent_moves_its_column_by_four_deviations_in_the_units_of_the_table(known):
    changes = measure_columns(known, measure_latents(known))
    assert changes.change == pytest.approx(np.array([[4, 0, 0], [0, -4, 0]]), abs=1e-3)
    assert changes.top(0, 1) == [0]
    assert changes.top(1, 1) == [1]
    mean, sd = FRAME.mean().to_numpy(), FRAME.std(ddof=0).to_numpy()
    assert changes.low[0, 0] == pytest.approx(mean[0] - 2 * sd[0], rel=1e-3)
    assert changes.high[0, 0] == pytest.approx(mean[0] + 2 * sd[0], rel=1e-3)
    assert changes.high[1, 1] == pytest.approx(mean[1] - 2 * sd[1], rel=1e-3)
    assert changes.text(0, 0).startswith("acid  ")
    assert " → " in changes.text(0, 0)


def test_what_is_decoded_of_a_column_is_its_share_of_variance(known):
    shares = explained_share(*reconstruct_rows(known))
    assert shares == pytest.approx([1, 1, 0], abs=1e-5)


def test_the_table_of_latents_names_columns(known):
    table = known.explain()
    assert {*table.loc["z0", "moves"].split(",")[0].split()} >= {"acid", "→"}
    assert table.loc["z1", "moves"].startswith("proline")


def test_rows_of_counts_come_back_with_their_own_totals():
    counts = RNG.poisson(np.outer(RNG.integers(10, 100, 80), [0.5, 0.3, 0.2]))
    run = unknot.train(counts, "vae", "linear", likelihood="poisson", steps=2, **SHORT)
    _, decoded = reconstruct_rows(run)
    assert decoded.expm1().sum(1).numpy() == pytest.approx(counts.sum(1), rel=1e-4)


def test_the_page_of_a_table_shows_columns_in_place_of_pictures(known, tmp_path):
    text = page(known)
    assert "Columns that move with each latent" in text
    assert "trained on 300 rows" in text
    assert "Squared error per row, summed over columns" in text
    assert "Mean images" not in text
    assert "image" not in text.split("<section>")[1].replace("data:image", "").replace("<img", "")
    files = {path.name for path in write_pictures(known, tmp_path)}
    assert {"traversals.png", "reconstructions.png", "samples.png"} <= files
    assert "out_of_distribution.png" not in files


@pytest.mark.parametrize("columns", [3, 120])
def test_verbs_of_a_run_draw_tables(columns):
    table = RNG.normal(size=(40, columns))
    run = unknot.train(table, "vae", "linear", steps=1, net_settings={"latents": 2}, **SHORT)
    for picture in (run.traverse(), run.reconstruct(), run.sample(4), run.interpolate(0, 1)):
        assert np.asarray(picture).std() > 0
    assert "data:image/png" in run._repr_html_()


def test_columns_that_never_change_are_no_trouble():
    table = np.column_stack([RNG.normal(size=30), np.full(30, 7.0)])
    run = unknot.train(table, "vae", "linear", steps=1, **SHORT)
    assert np.isnan(explained_share(*reconstruct_rows(run))[1])
    assert "column_0" in run.explain().loc["z0", "moves"]
    assert page(run)


def test_a_run_without_its_data_still_shows_its_columns(tmp_path):
    FRAME.to_csv(tmp_path / "wine.csv", index=False)
    unknot.train(tmp_path / "wine.csv", "vae", "linear", steps=1, out=tmp_path / "run", **SHORT)
    (tmp_path / "wine.csv").unlink()
    run = unknot.load(tmp_path / "run", device="cpu")
    assert run.dataset.columns == ("acid", "proline", "hue")
    files = {path.name for path in write_pictures(run, tmp_path)}
    assert files == {"traversals.png", "traversals.gif", "curves.png"}
    assert run.explain().loc["z0", "moves"].count("→") == 3
