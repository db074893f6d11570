"""The user's own arrays: what is taken, and what is refused with which words."""

import contextlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.core.errors import DataError, ShapeError
from unknot.data.arrays import Arrays

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (12, 8, 10, 3), dtype=np.uint8)
GRID = np.array([(a, b) for a in range(3) for b in range(4)])


@pytest.fixture
def save(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "own.npz", **arrays)
        return Arrays(str(tmp_path / "own.npz"))

    return write


def bytes_of(data):
    return (data.batch(torch.arange(len(data))) * 255).round().byte().numpy()


def test_without_factors_there_is_one_nominal_index(save):
    data = save(images=IMAGES).load()
    assert (data.space.names, data.space.sizes) == (("index",), (12,))
    assert data.space.kinds == ("nominal",)
    assert np.array_equal(bytes_of(data), IMAGES.transpose(0, 3, 1, 2))


@given(st.permutations(range(12)))
def test_rows_are_sorted_into_grid_order(tmp_path_factory, order):
    path = tmp_path_factory.getbasetemp() / "order.npz"
    order = np.array(order)
    factors = GRID[order] * [10, -5] + [3, 0]  # any integers; the second column is reversed
    np.savez(path, images=IMAGES[order], factors=factors, names=["size", "place"])
    data = Arrays(str(path)).load()
    assert (data.space.names, data.space.sizes) == (("size", "place"), (3, 4))
    expected = IMAGES.reshape(3, 4, 8, 10, 3)[:, ::-1].reshape(IMAGES.shape)
    assert np.array_equal(bytes_of(data), expected.transpose(0, 3, 1, 2))


def test_names_may_be_left_out_and_unknown_arrays_stay_closed(save):
    extra = np.array([{}], dtype=object)
    data = save(images=IMAGES, factors=GRID.astype(np.uint8), extra=extra).load()
    assert data.space.names == ("factor_0", "factor_1")
    assert data.space.kinds == ("ordered", "ordered")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"pictures": IMAGES, "x": IMAGES}, "needs an array 'images'; it holds pictures, x."),
        ({"images": IMAGES[:0]}, "no images"),
        ({"images": np.array(3.0)}, "Expected images"),
        ({"images": np.full((12, 8, 8), np.nan)}, "NaN"),
        ({"images": np.full((12, 8, 8), np.inf)}, "infinite"),
        ({"images": np.full((12, 8, 8), 1.5)}, "must lie in"),
        ({"images": IMAGES.astype(np.int64)}, "uint8 or float; .* holds int64"),
        ({"images": IMAGES.astype(np.complex64)}, "uint8 or float; .* holds complex64"),
        ({"images": np.array(["a", "b"])[:, None, None]}, "uint8 or float"),
        ({"images": np.array([{}], dtype=object)}, "plain arrays"),
        ({"images": IMAGES, "factors": GRID[:11]}, r"integers \[12, f\].* got int64 \(11, 2\)"),
        ({"images": IMAGES, "factors": GRID.astype(float)}, "integers .* got float64"),
        ({"images": IMAGES, "factors": GRID[:, 0]}, "integers"),
        ({"images": IMAGES, "factors": np.array(1)}, "integers"),
        ({"images": IMAGES, "factors": GRID[:, :0]}, r"integers .* got int64 \(12, 0\)"),
        ({"images": IMAGES[:11], "factors": GRID[:11]}, "makes 12 points, and 11 rows"),
        ({"images": IMAGES, "factors": GRID[[*range(11), 0]]}, "11 of them different"),
        ({"images": IMAGES, "factors": GRID, "names": ["a"]}, "2 strings"),
        ({"images": IMAGES, "factors": GRID, "names": [1, 2]}, "2 strings"),
        ({"images": IMAGES, "factors": GRID, "names": ["a", "a"]}, "differ from each other"),
        (
            {"images": IMAGES, "factors": GRID, "names": np.array(["a", None], dtype=object)},
            "plain arrays",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(save, arrays, message):
    with pytest.raises((DataError, ShapeError), match=message) as caught:
        save(**arrays).load()
    assert "\n" not in str(caught.value)


@given(st.integers(0, 100_000), st.integers(1, 255))
def test_an_altered_byte_is_refused_or_harmless(tmp_path_factory, at, mask):
    path = tmp_path_factory.getbasetemp() / "altered.npz"
    np.savez_compressed(path, images=IMAGES, factors=GRID)
    raw = bytearray(path.read_bytes())
    raw[at % len(raw)] ^= mask
    path.write_bytes(raw)
    with contextlib.suppress(DataError):
        assert np.array_equal(bytes_of(Arrays(str(path)).load()), IMAGES.transpose(0, 3, 1, 2))


def test_files_that_are_no_archive_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"Cannot read .*: no such file"):
        Arrays(str(tmp_path / "none.npz")).load()
    with pytest.raises(DataError, match="Cannot read"):
        Arrays(str(tmp_path)).load()
    np.save(tmp_path / "one.npy", IMAGES)
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "text.npz").write_text("images")
    np.savez_compressed(tmp_path / "whole.npz", images=IMAGES)
    whole = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[:1000])
    (tmp_path / "altered.npz").write_bytes(whole[:1000] + b"****" + whole[1004:])
    for name in ("one.npy", "empty.npz", "text.npz", "half.npz", "altered.npz"):
        with pytest.raises(DataError, match=r"numpy\.savez"):
            Arrays(str(tmp_path / name)).load()
