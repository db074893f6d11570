"""Tables of numbers: what is read, that they train, and what needs pixels."""

import numpy as np
import pandas as pd
import pytest
import torch

import unknot
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.labels import clean_names
from unknot.runs import arrays, config

RNG = np.random.default_rng(2)
VALUES = (RNG.normal(size=(40, 3)) * [1, 100, 1e-3] + [5, -300, 0]).astype(np.float32)
FRAME = pd.DataFrame(VALUES, columns=["height", "weight", "dose"])


def write(folder, kind):
    path = folder / f"cells.{kind}"
    if kind == "npy":
        np.save(path, VALUES)
    elif kind == "npz":
        np.savez(path, values=VALUES)
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        FRAME.assign(batch="a").to_parquet(path)
    else:
        FRAME.assign(batch="a").to_csv(path, sep="\t" if kind == "tsv" else ",", index=False)
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "npy", "npz", "parquet"])
def test_files_of_numbers_are_standardised_and_can_be_put_back(tmp_path, kind):
    data = unknot.dataset(write(tmp_path, kind))
    x = data.batch(torch.arange(40))
    assert x.shape == (40, 3, 1, 1)
    assert torch.allclose(x.mean(0), torch.zeros(3, 1, 1), atol=1e-5)
    assert torch.allclose(x.std(0, unbiased=False), torch.ones(3, 1, 1), atol=1e-5)
    assert np.allclose(data.unit(x)[..., 0, 0], VALUES, rtol=1e-4, atol=1e-4)
    text = "40 rows of 3 columns, standardised"
    left_out = ", left out as no numbers: batch"
    assert data.summary == text + ("" if kind.startswith("np") else left_out)
    assert data.columns[0] == ("column_0" if kind.startswith("np") else "height")


def test_the_same_numbers_are_the_same_run_wherever_they_are(tmp_path):
    spec = config.spec({"data": str(write(tmp_path, "csv"))})
    assert (spec.data.name, spec.net.name) == ("vectors", "mlp")
    assert spec.objective.settings.likelihood == "gaussian"
    (tmp_path / "other").mkdir()
    assert config.spec({"data": str(write(tmp_path / "other", "csv"))}).ids() == spec.ids()
    assert config.spec(spec.table()) == spec


def test_a_table_trains_better_than_its_mean_and_is_loaded_again(tmp_path):
    hidden = RNG.normal(size=(200, 2))
    table = pd.DataFrame(hidden @ RNG.normal(size=(2, 8)), columns=[*"abcdefgh"])
    common = {"steps": 300, "batch": 64, "lr": 3e-3, "device": "cpu", "beta": 0.1}
    run = unknot.train(table, out=tmp_path / "run", **common)
    assert run.spec.net.name == "mlp"
    x = run.dataset.batch(torch.arange(200))
    error = (run.decode(run.codes()) - x).square().mean()
    assert error < 0.3  # 1 if every row were the mean
    again = unknot.load(tmp_path / "run", device="cpu", data=table)
    assert torch.equal(again.codes(), run.codes())
    codes = again.encode(table.to_numpy(np.float32))
    assert torch.allclose(codes, run.codes(), atol=1e-5)


def test_a_column_of_one_value_is_not_divided():
    data = unknot.dataset(np.column_stack([np.arange(5.0), np.full(5, 7.0)]))
    assert (data.batch(torch.arange(5))[:, 1] == 0).all()
    raw = unknot.dataset(VALUES, standardize=False, limit=4)
    assert np.array_equal(raw.batch(torch.arange(4))[..., 0, 0], VALUES[:4])


def test_what_is_refused(tmp_path):
    gaps = FRAME.copy()
    gaps.loc[3, "weight"] = None
    with pytest.raises(DataError, match="Column 'weight' of the table has missing"):
        unknot.dataset(gaps)
    with pytest.raises(DataError, match="no columns of numbers"):
        unknot.dataset(FRAME[["dose"]].astype(str))
    with pytest.raises(ConfigError, match="did you mean 'limit'"):
        unknot.dataset(VALUES, limits=3)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="no table that can be read"):
        unknot.dataset(tmp_path / "empty.csv")
    with pytest.raises(ShapeError, match="choose a net that takes them: linear, mlp"):
        unknot.train(FRAME, net="conv", steps=1, device="cpu")
    with pytest.raises(ConfigError, match="likelihood bernoulli does not allow"):
        unknot.train(FRAME, likelihood="bernoulli", steps=1, device="cpu")


def test_rows_of_a_data_frame_are_encoded_by_the_names_of_their_columns():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=[*"abc"])
    run = unknot.train(frame, steps=2, batch=4, progress=False)
    codes = run.encode(frame.to_numpy())
    assert torch.equal(run.encode(frame[["c", "a", "b"]]), codes)
    with pytest.raises(DataError, match="no column 'b'"):
        run.encode(frame[["a", "c"]])
    with pytest.raises(DataError, match="missing or infinite"):
        run.encode(frame.assign(b=np.nan))


def test_rows_of_another_file_are_encoded_as_those_in_memory(tmp_path):
    run = unknot.train(FRAME, steps=2, batch=4, progress=False)
    FRAME[:5][["dose", "height", "weight"]].assign(note="x").to_csv(tmp_path / "more.csv")
    np.save(tmp_path / "more.npy", VALUES[:5])
    for name in ("more.csv", "more.npy"):
        rows = arrays.other_images(run, tmp_path / name)
        codes = run.posteriors(torch.arange(5), dataset=rows, on_rows=lambda _: None).mean
        assert torch.allclose(codes.squeeze(), run.encode(VALUES[:5]), atol=1e-5)
    FRAME[["dose"]].to_csv(tmp_path / "few.csv")
    with pytest.raises(DataError, match="no column 'height'"):
        arrays.other_images(run, tmp_path / "few.csv")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1.5,2\n3,4\n", "first line has numbers"),
        ("a,b\n1,2\n3,4\n5,n/e\n", "Column 'b' of .* also text, such as n/e"),
        ("a;b\n1,5;2\n", "longer than its first line.* separate cells by commas"),
        ("a,b\n", "no rows"),
        ("a\nx\n", "no columns of numbers"),
    ],
)
def test_a_text_that_is_no_table_is_told_why(tmp_path, text, words):
    (tmp_path / "cells.csv").write_text(text)
    with pytest.raises(DataError, match=words):
        unknot.dataset(tmp_path / "cells.csv")


def test_headers_are_cleaned_and_the_change_is_said():
    names = ["cell\narea", "x" * 200, "cell area", ""]
    frame = pd.DataFrame(RNG.normal(size=(20, 4)), columns=names)
    data = unknot.dataset(frame)
    assert data.columns == ("cell area", "x" * 60, "cell area 2", "column 4")
    assert r"'cell\narea' is called 'cell area', " in data.summary
    assert "'cell area' is called 'cell area 2'" in data.summary
    assert "called" not in unknot.dataset(frame.set_axis([*"abcd"], axis=1)).summary
    run = unknot.train(data, steps=2, batch=4, device="cpu", latents=2, progress=False)
    assert torch.equal(run.encode(frame), run.encode(frame.to_numpy()))
    turned = frame.set_axis([*data.columns], axis=1).iloc[:, ::-1]
    assert torch.equal(run.encode(turned), run.codes())


def test_thousands_of_equal_headers_are_told_apart_quickly():
    names, changes = clean_names(["gene"] * 20_000)
    assert len({*names}) == 20_000
    assert names[-1] == "gene 20000"
    assert changes.endswith("and 19,994 more")


def test_a_first_line_of_whole_numbers_is_said_to_be_the_names(tmp_path):
    file = tmp_path / "cells.csv"
    file.write_text("1,2\n3,4\n5,7\n")
    summary = unknot.dataset(file, progress=False).summary
    assert "2 rows of 2 columns" in summary
    assert "columns are called 1, 2" in summary
