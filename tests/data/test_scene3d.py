"""scene3d: its palette, its painter, its buffers."""

import colorsys
import hashlib

import numpy as np
import pytest
import torch

from unknot.data import scene3d
from unknot.data.parts import room
from unknot.data.parts.room import UNIT
from unknot.data.scene3d import HUES, SKY_COLOR, SPACE, Scene3D

ROWS = torch.arange(0, 480_000, 4_999)
IMAGES_SHA256 = "060cc724d30ec1122584b897eba7538013f886b709c5567f21d0eb09916c49f5"


@pytest.fixture(scope="module")
def data():
    return Scene3D().load()


def levels(data, index):
    """Images in whole levels, [*n, 3, 64, 64]."""
    exact = data.batch(index) * 255
    assert (exact - exact.round()).abs().max() < 1e-4
    return exact.round().long()


def test_checksum_of_all_buffers_and_of_some_images(data):
    """Golden: images that others compare scores on must not change unnoticed."""
    stored = data.images.buffers.numpy().astype("<i2").tobytes()
    assert hashlib.sha256(stored).hexdigest() == scene3d.SHA256
    images = levels(data, ROWS).to(torch.uint8).numpy().tobytes()
    assert hashlib.sha256(images).hexdigest() == IMAGES_SHA256


def test_hues_are_those_of_hsv():
    for k, hue in enumerate(HUES):
        assert hue == tuple(round(255 * v) for v in colorsys.hsv_to_rgb(k / 10, 1, 1))


def test_the_grid_is_that_of_3d_shapes(data):
    assert len(data) == 480_000
    assert SPACE.sizes == (10, 10, 10, 8, 4, 15)
    assert data.shape == (3, 64, 64)


def painted(planes, floor_hue, wall_hue, object_hue):
    """One image pixel by pixel in Python's own whole numbers."""
    image = np.empty((3, 64, 64), int)
    dark = round(UNIT * room.SHADE_OF_SHADOW)
    for y, x in np.ndindex(64, 64):
        wall, floor, shadow, solid, *shades, gloss = (int(v) for v in planes[:, y, x])
        for c in range(3):

            def color(hue, shade, gloss=0, c=c):
                return min(255, (HUES[hue][c] * shade + 255 * gloss + UNIT // 2) // UNIT)

            total = (
                (UNIT - wall - floor - shadow - solid) * SKY_COLOR[c]
                + wall * color(wall_hue, shades[0])
                + floor * color(floor_hue, shades[1])
                + shadow * color(floor_hue, dark)
                + solid * color(object_hue, shades[2], gloss)
            )
            image[c, y, x] = max(0, min(255, (total + UNIT // 2) // UNIT))
    return image


@pytest.mark.parametrize("factors", [(0, 1, 2, 0, 0, 0), (9, 4, 6, 7, 3, 14), (3, 8, 5, 5, 1, 6)])
def test_a_batch_is_what_one_paints_pixel_by_pixel(data, factors):
    floor, wall, thing, scale, shape, orientation = factors
    index = SPACE.index(torch.tensor(factors))
    planes = data.images.buffers[(scale * 4 + shape) * 15 + orientation].numpy()
    image = painted(planes, floor, wall, thing)
    assert np.array_equal(levels(data, index).numpy(), image)
    many = torch.tensor([[0, int(index), 5], [479_999, int(index), 77]])
    assert torch.equal(data.batch(many)[1, 1], data.batch(index))


def test_buffers_are_those_of_their_factors(data):
    view = room.look(11)
    planes = room.draw(view, 1, 0.75 + 0.5 * 3 / 7)
    assert np.array_equal(data.images.buffers[(3 * 4 + 1) * 15 + 11].numpy(), planes)


@pytest.mark.parametrize(("factor", "planes"), [(0, (1, 2)), (1, (0,)), (2, (3,))])
def test_a_hue_changes_its_own_surface_and_nothing_else(data, factor, planes):
    start = SPACE.index(torch.tensor([1, 4, 7, 5, 2, 3]))
    images = levels(data, SPACE.traversal(start, factor))
    weights = data.images.buffers[int(start) % 480, list(planes)].long()
    covered = weights.ne(0).any(0)
    changed = (images != images[:1]).any(0).any(0)
    assert not (changed & ~covered).any()
    whole = weights.sum(0) == UNIT
    assert whole.sum() > 150
    assert changed[whole].all()
    # Where nothing else is in a pixel, the color is a clipped multiple of the hue.
    hue = torch.tensor(HUES)[..., None, None]
    if factor == 1:
        shade = data.images.buffers[int(start) % 480, 4].long()
        expected = ((hue * shade + UNIT // 2) // UNIT).clamp(max=255)
        assert torch.equal(images[..., whole], expected[..., whole])


def test_the_sky_has_its_color_in_every_image(data):
    images = levels(data, ROWS)
    assert (images[..., :4, :] == torch.tensor(SKY_COLOR)[:, None, None]).all()


def test_opposite_orientations_are_mirror_images_but_for_the_light(data):
    """The solid and the room are symmetric; the lamp, on the left, is not."""
    buffers = data.images.buffers.unflatten(0, (8, 4, 15))
    solid = buffers[..., 3, :, :]
    assert torch.equal(solid, solid.flip(2, -1))
    sky = UNIT - buffers[..., :4, :, :].sum(-3)
    # What the sky has is left over from weights that were rounded each.
    assert (sky - sky.flip(2, -1)).abs().max() <= 2
    shadow = buffers[..., 2, :, :]
    assert not torch.equal(shadow, shadow.flip(2, -1))


def test_scale_grows_the_solid_and_leaves_what_is_far_from_it(data):
    solid = data.images.buffers.unflatten(0, (8, 4, 15))[:, :, :, 3]
    assert (solid.sum((-2, -1)).diff(dim=0) > 0).all()
    start = SPACE.index(torch.tensor([1, 4, 7, 0, 3, 3]))
    images = data.batch(SPACE.traversal(start, 3))
    assert torch.equal(images[..., :12], images[:1, ..., :12].expand(8, 3, 64, 12))


def test_mean_and_deviation_are_near_those_of_3d_shapes(data):
    """Michlo 2022, table A.2, has them for all 480,000 original images."""
    x = data.batch(torch.arange(0, 480_000, 397)).double().flatten(2)
    mean = torch.tensor((0.502584966788819, 0.578759756608967, 0.603449973185958))
    std = torch.tensor((0.294081404355556, 0.344397908751721, 0.366168598152475))
    assert (x.mean((0, 2)) - mean).abs().max() < 0.01
    assert (x.std(2).mean(0) - std).abs().max() < 0.005


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_paints_the_same_bits(data):
    there = data.to(torch.device("cuda"))
    assert torch.equal(there.batch(ROWS.cuda()).cpu(), data.batch(ROWS))
