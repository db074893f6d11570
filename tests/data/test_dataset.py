"""FactorDataset and the ways images are held; what every dataset of the registry keeps."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.core import registry
from unknot.core.dataset import FactorDataset, Images
from unknot.core.errors import DataError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.data.parts.images import Bits, Bytes, as_bytes

RNG = np.random.default_rng(0)
CPU = torch.device("cpu")
WITH_A_FILE = {"arrays", "images", "memory", "signals", "vectors"}
# Not standardized, and hardly any of their images is black or white alone.
IN_COLOR = {"color_dsprites", "noisy_dsprites", "scene3d"}
GENERATED = [
    name
    for name in registry.names("datasets")
    if name not in WITH_A_FILE and not hasattr(registry.get("datasets", name), "published")
]


@pytest.mark.parametrize("shape", [(1, 64, 64), (3, 4, 6)])
def test_bits_unpack_to_the_images_that_were_packed(shape):
    images = RNG.integers(0, 2, (10, *shape), dtype=np.uint8)
    bits = Bits(torch.from_numpy(np.packbits(images.reshape(10, -1), axis=1)), shape)
    index = torch.tensor([[3, 3, 0], [9, 1, 2]])
    assert np.array_equal(bits.pixels(index).numpy(), images[index.numpy()])
    assert bits.to(CPU).shape == shape


def test_bytes_are_divided_by_255():
    images = RNG.integers(0, 256, (10, 3, 4, 6), dtype=np.uint8)
    held = Bytes(torch.from_numpy(images))
    assert held.shape == (3, 4, 6)
    assert np.array_equal(held.pixels(torch.tensor([7])).numpy(), images[[7]].astype("f4") / 255)


def test_standardisation_and_its_inverse():
    images = Bytes(torch.from_numpy(RNG.integers(0, 256, (10, 3, 4, 6), dtype=np.uint8)))
    space = FactorSpace(("i",), (10,), ("nominal",))
    data = FactorDataset("d", space, images, (0.1, 0.2, 0.3), (0.5, 1.0, 2.0))
    index = torch.arange(10)
    x = data.batch(index)
    for channel, (mean, std) in enumerate([(0.1, 0.5), (0.2, 1.0), (0.3, 2.0)]):
        expected = (images.pixels(index)[:, channel] - mean) / std
        assert torch.allclose(x[:, channel], expected, atol=1e-6)
    assert torch.allclose(data.unit(x), images.pixels(index), atol=1e-6)
    plain = FactorDataset("d", space, images)
    assert torch.equal(plain.unit(plain.batch(index)), images.pixels(index))


@pytest.mark.parametrize(
    ("array", "shape"),
    [
        (np.zeros((5, 8, 9), np.uint8), (1, 8, 9)),
        (np.zeros((5, 8, 9, 1), np.uint8), (1, 8, 9)),
        (np.zeros((5, 8, 9, 3), np.uint8), (3, 8, 9)),
        (np.zeros((5, 3, 8, 9), np.uint8), (3, 8, 9)),
        (np.zeros((5, 1, 8, 9), bool), (1, 8, 9)),
    ],
)
def test_arrays_of_images_in_every_order_of_axes(array, shape):
    assert as_bytes(array, "a test").shape == shape


def test_floats_are_rounded_to_255_steps_and_booleans_are_black_and_white():
    floats = np.array([0, 0.4999, 0.5001, 1]).reshape(4, 1, 1)
    assert as_bytes(floats / [[[1.0]]], "a test").stored.flatten().tolist() == [0, 127, 128, 255]
    assert as_bytes(floats > 0.5, "a test").stored.flatten().tolist() == [0, 0, 255, 255]


@pytest.mark.parametrize(
    ("array", "error"),
    [
        (np.zeros((5, 8)), ShapeError),
        (np.zeros((5, 8, 9, 2)), ShapeError),
        (np.zeros((2, 5, 8, 9, 3)), ShapeError),
        (np.zeros((0, 8, 9)), DataError),
        (np.zeros((5, 8, 0)), DataError),
        (np.full((5, 8, 9), -0.1), DataError),
        (np.full((5, 8, 9), np.nan, dtype=np.float16), DataError),
        (np.zeros((5, 8, 9), np.int32), DataError),
    ],
)
def test_arrays_that_are_no_images_are_refused(array, error):
    with pytest.raises(error, match="a test"):
        as_bytes(array, "a test")


@pytest.fixture(scope="module", params=GENERATED)
def named(request):
    kind = registry.get("datasets", request.param)
    plain = kind().load()
    standardized = request.param not in IN_COLOR
    return request.param, plain, kind(standardize=True).load() if standardized else plain


def test_registered_datasets_agree_with_their_names(named):
    name, data, standardized = named
    assert data.name == standardized.name == name
    assert isinstance(data.images, Images)
    assert registry.summary("datasets", name).endswith(".")
    assert data.batch(torch.tensor([0, len(data) - 1])).shape == (2, *data.shape)


def test_facts_that_are_stated_are_those_of_the_images(named):
    name, data, _ = named
    kind = registry.get("datasets", name)
    stated = getattr(kind, "space", data.space), getattr(kind, "shape", data.shape)
    assert stated == (data.space, data.shape)


@given(st.data())
def test_row_numbers_and_factors_are_inverse(named, data):
    space = named[1].space
    index = torch.tensor(data.draw(st.lists(st.integers(0, space.size - 1), min_size=1)))
    assert torch.equal(space.index(space.factors(index)), index)


def test_images_lie_in_the_unit_interval_and_are_standardised_on_request(named):
    name, data, standardized = named
    index = torch.cat([torch.arange(0, len(data), len(data) // 50), torch.tensor([len(data) - 1])])
    x = data.batch(index)
    assert x.dtype == torch.float32
    if name in IN_COLOR:
        assert (x.min() >= 0) & (x.max() <= 1) & (x.max() > 0.9)
        return
    assert (x.min(), x.max()) == (0, 1)
    assert len(standardized.mean) == len(standardized.std) == data.shape[0]
    assert torch.allclose(standardized.unit(standardized.batch(index)), x, atol=1e-6)
    assert not torch.allclose(standardized.batch(index), x, atol=1e-2)


def test_moving_to_a_device_keeps_the_images(named):
    _, data, _ = named
    index = torch.arange(0, len(data), len(data) // 5)
    assert torch.equal(data.to(CPU).batch(index), data.batch(index))


def test_changing_one_factor_changes_the_image(named):
    """Except a turned dSprite, which may look the same."""
    name, data, _ = named
    index = torch.arange(0, len(data), len(data) // 9)
    for factor, factor_name in enumerate(data.space.names):
        if (name, factor_name) == ("dsprites", "orientation"):
            continue
        x = data.batch(data.space.traversal(index, factor)).flatten(2)
        same = (x[:, 1:] == x[:, :-1]).all(-1)
        assert not bool(same.any())
