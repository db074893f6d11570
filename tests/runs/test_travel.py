"""Runs that travel: a folder is enough to encode, decode and draw; its data can be bound again."""

import shutil

import numpy as np
import pytest
import torch

import unknot
from unknot.cli.main import app
from unknot.core.errors import ConfigError, DataError, ShapeError, StoreError


@pytest.fixture(scope="module")
def home(options, tiny, tmp_path_factory):
    """A run beside its data: two models."""
    home = tmp_path_factory.mktemp("home")
    shutil.copy(tiny, home / "mine.npz")
    settings = {**options, "data_settings": {"path": str(home / "mine.npz")}}
    return home, unknot.train(**settings, seeds=[0, 5], out=home / "run")


@pytest.fixture
def abroad(home, tmp_path):
    """The folder of the run without its data, on another machine."""
    (home[0] / "mine.npz").rename(tmp_path / "kept.npz")
    yield shutil.copytree(home[0] / "run", tmp_path / "abroad" / "run")
    shutil.copy(tmp_path / "kept.npz", home[0] / "mine.npz")


def pictures(path):
    with np.load(path) as arrays:
        return arrays["images"]


def test_a_run_encodes_and_decodes_without_its_data(home, abroad, tmp_path):
    run = unknot.load(abroad, device="cpu")
    assert not run.has_data
    assert run.dataset.shape == (1, 8, 8)
    assert run.dataset.space == home[1].dataset.space
    images = pictures(tmp_path / "kept.npz")
    codes = run.encode(images)
    assert torch.equal(codes, home[1].encode(images))
    assert torch.equal(run.decode(codes), home[1].decode(codes))
    with pytest.raises(DataError, match=r"opened without its images .*--data PATH"):
        run.codes()


def test_pictures_without_data_are_samples_and_traversals(abroad, tmp_path):
    app(["show", str(abroad), "--out", str(tmp_path / "page")], standalone_mode=False)
    names = {path.name for path in (tmp_path / "page").iterdir()}
    assert names == {"traversals.png", "traversals.gif", "samples.png", "curves.png"}


def test_data_is_bound_again_by_its_path_and_others_are_refused(home, abroad, tmp_path):
    run = unknot.load(abroad, device="cpu", data=tmp_path / "kept.npz")
    assert run.has_data
    assert torch.equal(run.codes(), home[1].codes())
    np.savez(tmp_path / "other.npz", images=pictures(tmp_path / "kept.npz")[::-1])
    with pytest.raises(StoreError, match="no longer those that were trained on"):
        unknot.load(abroad, device="cpu", data=tmp_path / "other.npz")
    words = ["evaluate", str(abroad), "--metrics", "mig", "--data", str(tmp_path / "kept.npz")]
    app(words, standalone_mode=False)
    assert (abroad / "scores.jsonl").exists()


def test_data_that_moved_together_with_the_run_is_found(abroad, tmp_path):
    shutil.copy(tmp_path / "kept.npz", tmp_path / "abroad" / "mine.npz")
    assert unknot.load(abroad, device="cpu").has_data


def test_images_come_in_many_forms_and_codes_are_the_same(home, tiny):
    run, images = home[1], pictures(tiny)
    floats = images.astype(np.float32) / 255
    codes = run.codes()
    for form in (
        images,
        images[:, None],
        images[..., None],
        torch.from_numpy(images),
        floats,
        torch.from_numpy(floats)[:, None],
    ):
        torch.testing.assert_close(run.encode(form), codes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.astype(np.float32), r"must lie in \[0, 1\]; these lie in \[0, 255\]"),
        (lambda x: x.astype(np.int64), "are uint8 .*got torch.int64"),
        (lambda x: x / 255 - 0.5, r"must lie in \[0, 1\]"),
        (lambda x: np.where(x > 0, np.nan, 0.0), "NaN"),
        (lambda x: x.astype("U1"), "whole numbers 0 .. 255 or floats"),
        (lambda x: x.tolist(), "arrays of NumPy or PyTorch; got list"),
    ],
)
def test_values_that_are_no_pixels_are_refused(home, tiny, change, message):
    with pytest.raises(DataError, match=message):
        home[1].encode(change(pictures(tiny)))


@pytest.mark.parametrize(
    ("shape", "hint"),
    [((2, 9, 9), "Resize them to 8 x 8"), ((2, 3, 8, 8), "1 channel"), ((8, 8), r"images\[None\]")],
)
def test_shapes_that_do_not_fit_come_with_a_hint(home, shape, hint):
    with pytest.raises(ShapeError, match=hint):
        home[1].encode(np.zeros(shape, np.uint8))


def test_encoder_and_decoder_are_plain_modules(home, tiny):
    many = home[1]
    with pytest.raises(ConfigError, match=r"2 models; take one with run\.member\(0\)\.encoder"):
        _ = many.encoder
    run = many.member(1)
    x = run.dataset.batch(torch.arange(8))
    with torch.no_grad():
        mean, _ = run.encoder(x).chunk(2, dim=1)
        images = run.decoder(mean).sigmoid()
    torch.testing.assert_close(mean, many.encode(x)[1])
    torch.testing.assert_close(images, run.decode(mean))
    assert not run.encoder.training
    with torch.no_grad():
        next(run.encoder.parameters()).zero_()  # a copy: the run stays as it is
    torch.testing.assert_close(run.encode(x), mean)
    with pytest.raises(
        ConfigError, match="number of a model must be a whole number from 0 to 1; got 2"
    ):
        many.member(2)


def test_other_images_are_encoded_by_the_command(abroad, tmp_path):
    """In their own size, which is not that of the run."""
    images = pictures(tmp_path / "kept.npz")[:5]
    np.save(tmp_path / "same.npy", images)
    np.savez(tmp_path / "large.npz", images=images.repeat(2, 1).repeat(2, 2))
    codes = []
    for name in ("same.npy", "large.npz"):
        words = ["encode", str(abroad), str(tmp_path / name), "--out", str(tmp_path / "codes.npz")]
        app([*words, "--device", "cpu", "--force"], standalone_mode=False)
        with np.load(tmp_path / "codes.npz") as arrays:
            assert "factors" not in arrays
            codes.append(arrays["codes"])
    assert codes[0].shape == (2, 5, 3)
    run = unknot.load(abroad, device="cpu")
    np.testing.assert_allclose(codes[0], run.encode(images).numpy(), atol=1e-5)
    np.testing.assert_allclose(codes[1], codes[0], atol=0.05)


def test_a_model_without_its_data_can_be_saved_again(abroad, tmp_path):
    run = unknot.load(abroad, device="cpu").member(0)
    run.save(tmp_path / "one")
    again = unknot.load(tmp_path / "one", device="cpu", data=tmp_path / "kept.npz")
    assert again.has_data
