"""What is measured to scale values is measured on the training part, and goes with the run."""

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scipy import sparse

import unknot
from unknot.core.errors import DataError
from unknot.core.text import number
from unknot.runs import arrays, config
from unknot.runs.context import training_context
from unknot.samplers.parts.split import RowSplit, rows_in_part

RNG = np.random.default_rng(4)
DEEP = RNG.integers(200, 3_000, (40, 2, 8, 8)).astype(np.uint16)
SPLIT = RowSplit(validation=0.0, test=0.25)
SHORT = {"net": "mlp", "net_settings": {"latents": 2, "hidden": [8]}, "steps": 2, "batch": 8}


def deep_with_bright_tests():
    """Rows that are held out are far brighter than the others."""
    rows = rows_in_part(SPLIT, unknot.dataset(DEEP).space, "test").numpy()
    images = DEEP.copy()
    images[rows] *= 20
    return images, np.setdiff1d(np.arange(40), rows)


def train(data, **options):
    return unknot.train(data, "vae", likelihood="gaussian", device="cpu", **SHORT, **options)


@pytest.fixture(scope="module")
def deep_run(tmp_path_factory):
    """A run of 16-bit images in a file, with a split."""
    folder = tmp_path_factory.mktemp("deep")
    images, rows = deep_with_bright_tests()
    np.save(folder / "cells.npy", images)
    split = {"kind": "rows", "validation": 0.0, "test": 0.25}
    return train(folder / "cells.npy", split=split, out=folder / "run"), images, rows


def test_percentiles_are_those_of_the_training_part(deep_run):
    run, images, rows = deep_run
    low, high = np.percentile(images[rows].transpose(1, 0, 2, 3).reshape(2, -1), (0.1, 99.9), 1)
    assert np.allclose(run.dataset.ends, [low, high])
    expected = (images[rows] - low[:, None, None]) / (high - low)[:, None, None]
    seen = run.dataset.batch(torch.from_numpy(rows))
    assert np.allclose(seen, expected.clip(0, 1), atol=1e-6)
    words = "percentiles 0.1 and 99.9 of the training part for each channel ("
    assert f"{words}{number(low[0])} .. {number(high[0])}; " in run.dataset.summary
    assert run.dataset.summary.count("scaled to") == 1


def test_a_run_keeps_its_scale_with_its_images_and_without(deep_run):
    run, images, _ = deep_run
    again = unknot.load(run.path, device="cpu")
    assert again.dataset.ends == run.dataset.ends
    assert again.dataset.summary == run.dataset.summary
    path = run.path.parent / "cells.npy"
    path.rename(hidden := path.with_name("elsewhere.npy"))
    try:
        alone = unknot.load(run.path, device="cpu")
    finally:
        hidden.rename(path)
    assert not alone.has_data
    codes = run.encode(run.dataset.batch(torch.arange(40)))
    for opened in (run, again, alone):
        assert torch.allclose(opened.encode(images), codes, atol=1e-6)
    with pytest.raises(DataError, match=r"low and high of run\.dataset\.ends"):
        alone.encode(images.astype(np.float32))


def test_other_images_get_the_scale_of_the_run(deep_run, tmp_path):
    run, images, _ = deep_run
    np.save(tmp_path / "some.npy", images[:5] // 2)  # whose own percentiles are others
    others = arrays.other_images(run, tmp_path / "some.npy")
    assert others.ends == run.dataset.ends
    assert torch.allclose(
        run.encode(others.batch(torch.arange(5))), run.encode(images[:5] // 2), atol=1e-6
    )
    np.save(tmp_path / "flat.npy", np.zeros((3, 2, 8, 8), np.uint8))
    with pytest.raises(DataError, match="of the run have more than 8 bits and those given have 8"):
        arrays.other_images(run, tmp_path / "flat.npy")
    flat = train(np.zeros((16, 8, 8), np.uint8))
    (tmp_path / "deep").mkdir()
    Image.fromarray(DEEP[0, 0]).save(tmp_path / "deep" / "0.png")
    with pytest.raises(DataError, match="given have more than 8 bits and of the run have 8"):
        arrays.other_images(flat, tmp_path / "deep")


@pytest.mark.parametrize("kind", ["dense", "sparse", "signals"])
def test_mean_and_deviation_are_those_of_the_training_part(kind):
    values = np.float32(RNG.poisson(0.7, (40, 6)) * RNG.normal(3, 1, (40, 6)))
    rows = rows_in_part(SPLIT, unknot.dataset(DEEP).space, "train").numpy()
    if kind == "signals":
        signals = values.reshape(40, 2, 3)
        data, axes = unknot.dataset(signals, signals=True), (0, 2)
    else:
        data, axes = unknot.dataset(sparse.csr_matrix(values) if kind == "sparse" else values), 0
    run = train(data, split=SPLIT)
    taken = (signals if kind == "signals" else values).astype(np.float64)[rows]
    assert np.allclose(run.dataset.mean, taken.mean(axes), atol=1e-6)
    assert np.allclose(run.dataset.std, taken.std(axes), atol=1e-6)
    assert ", standardised by the training part" in run.dataset.summary
    whole = train(run.dataset)  # the dataset of one run may be another's
    assert (whole.dataset.mean, whole.dataset.std) == (data.mean, data.std)
    assert whole.dataset.summary == data.summary


def test_standardised_images_take_the_moments_of_the_training_part():
    images = RNG.integers(0, 256, (40, 3, 8, 8), dtype=np.uint8)
    data = unknot.dataset(images, standardize=True)
    run = train(data, split=SPLIT)
    taken = images[rows_in_part(SPLIT, data.space, "train")] / 255
    assert np.allclose(run.dataset.mean, taken.mean((0, 2, 3)), atol=1e-6)
    assert np.allclose(run.dataset.std, taken.std((0, 2, 3)), atol=1e-6)


def test_what_is_published_or_switched_off_is_not_measured(tmp_path):
    pd.DataFrame(RNG.normal(5, 2, (40, 3))).to_csv(tmp_path / "x.csv", index=False)
    plain = {"name": str(tmp_path / "x.csv"), "standardize": False}
    published = {"name": "xysquares", "standardize": True}
    for data in (plain, published):
        objective = {"name": "vae", "likelihood": "gaussian"}
        spec = config.spec({"data": data, "split": "rows", "objective": objective})
        dataset = spec.data.settings.load()
        scaled = training_context(spec, "cpu").dataset
        assert (scaled.mean, scaled.std) == (dataset.mean, dataset.std)


def test_a_run_from_before_keeps_the_scale_that_it_was_trained_with(deep_run):
    """Its record has no low and high: it was scaled by all rows."""
    from unknot.runs.description import describe, scale_as_trained

    run, images, _ = deep_run
    data = unknot.dataset(images)
    record = {k: v for k, v in describe(data, run.spec).items() if k not in ("low", "high")}
    assert scale_as_trained(data, record, SPLIT).ends == data.ends
