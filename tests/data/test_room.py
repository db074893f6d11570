"""The buffers of the room: kernel, weights and shades against references of their own."""

import numpy as np
import pytest
from PIL import Image

from unknot.data.parts import room
from unknot.data.parts.room import (
    CAPSULE,
    CUBE,
    FLOOR,
    SKY,
    SPHERE,
    SPHERE_RADIUS,
    TAPS,
    UNIT,
    WALL,
    draw,
    light,
    look,
    shrink,
)

MIDDLE = 7


def test_the_kernel_is_that_of_pillow():
    """Of a picture three times as large, but for the border and taps in whole 1024ths."""
    fine = np.random.default_rng(0).integers(0, 256, (192, 192))
    picture = Image.fromarray(fine.astype(np.float32))
    theirs = np.asarray(picture.resize((64, 64), Image.Resampling.LANCZOS))
    ours = shrink(fine[None], TAPS)[0] / UNIT**2
    assert np.abs(ours - theirs)[3:-3, 3:-3].max() < 1
    assert TAPS.sum() == UNIT
    assert np.array_equal(TAPS, TAPS[::-1])


def test_an_even_picture_stays_even_up_to_the_border():
    even = np.full((1, 192, 192), 7)
    assert (shrink(even, TAPS) == 7 * UNIT**2).all()


def test_the_room_is_symmetric_and_its_corners_project_where_they_should():
    """Pinhole projection of a wall's upper corner, beside the outlines of the surfaces."""
    front = look(MIDDLE)
    assert np.array_equal(front.surface, front.surface[:, ::-1])
    for orientation in (0, 3, 14):
        view, mirror = look(orientation), look(14 - orientation)
        assert np.array_equal(view.surface, mirror.surface[:, ::-1])
        angle = np.deg2rad(-30 + 60 * orientation / 14)
        side = -np.sign(angle)
        corner = np.array([side * room.WALLS, room.WALLS, room.WALL_HEIGHT])
        x, y, z = corner - view.eye[:, 0, 0]
        ahead = view.forward @ [x, y, z]
        column = 192 / 2 + 3 * room.FOCUS * (np.cos(angle) * x + np.sin(angle) * y) / ahead
        up = z * np.cos(room.PITCH) + np.hypot(x, y) * np.sin(room.PITCH)
        row = 192 / 2 - 3 * room.FOCUS * up / ahead
        if 2 < column < 190:
            # The sky reaches lowest where two walls meet.
            heights = (view.surface == SKY).sum(0)
            assert abs(heights[int(column)] - row) < 2
            assert heights.max() == heights[int(column) - 2 : int(column) + 3].max()


def test_surfaces_of_the_empty_room_are_seen_from_inside():
    for orientation in range(15):
        view = look(orientation)
        x, y, z = view.points
        floor, wall = view.surface == FLOOR, view.surface == WALL
        assert np.allclose(z[floor], 0)
        assert (np.abs(x[floor]) <= room.WALLS + 1e-9).all()
        assert np.allclose(np.maximum(np.abs(x), y)[wall], room.WALLS)
        assert ((z[wall] >= 0) & (z[wall] <= room.WALL_HEIGHT)).all()
        assert (floor | wall | (view.surface == SKY)).all()


def test_light_of_a_point_below_the_lamp_and_of_one_that_faces_away():
    aim = room.AIM[:, None]
    up, forward = np.array([[0.0], [0.0], [1.0]]), np.array([0.0, 1.0, 0.0])
    shade, gloss = light(aim, up, forward)
    height = room.LAMP[2] / np.linalg.norm(room.LAMP - room.AIM)
    assert abs(shade[0] / UNIT - room.AMBIENT - room.SPOT * height) < 1 / UNIT
    assert abs(gloss[0] / UNIT - room.GLOSS) < 1 / UNIT
    shade, gloss = light(aim, -up, forward)
    assert abs(shade[0] / UNIT - room.AMBIENT) < 1 / UNIT
    assert gloss[0] == 0
    toward = -forward[:, None]
    shade, _ = light(np.array([[0.0], [room.LAMP[1] - 1], [0.0]]), -toward, -forward)
    assert shade[0] / UNIT > room.AMBIENT + room.HEADLIGHT - 1 / UNIT


@pytest.mark.parametrize("shape", [CUBE, SPHERE, CAPSULE])
def test_a_larger_solid_hides_more_and_weights_add_up(shape):
    view = look(4)
    shares = []
    for scale in (0.75, 1.0, 1.25):
        planes = draw(view, shape, scale)
        wall, floor, shadow, solid = planes[:4]
        sky = UNIT - planes[:4].sum(0)
        # Lanczos' lobes reach a little below 0 and above 1 along edges.
        for weight in (sky, wall, floor, shadow, solid):
            assert weight.min() > -0.3 * UNIT
            assert weight.max() < 1.3 * UNIT
        assert (sky[:8, :20] == UNIT).all()
        shares.append(solid.sum())
        assert shadow.sum() > 0.02 * solid.sum()
    assert shares[0] < shares[1] < shares[2]


def test_outline_and_shadow_of_a_sphere_are_cones():
    """From the eye and from the lamp: what lies within asin(r / d) of the way to its centre."""

    def within(apex, points):
        axis = np.array([0, 0, SPHERE_RADIUS]) - apex
        way = points - apex[:, None, None]
        cos = np.tensordot(axis, way, 1) / np.linalg.norm(axis) / np.linalg.norm(way, axis=0)
        return np.arccos(cos) < np.arcsin(SPHERE_RADIUS / np.linalg.norm(axis))

    view = look(2)
    solid = within(view.eye[:, 0, 0], view.points)
    shadow = within(room.LAMP, view.points) & (view.surface == FLOOR) & ~solid
    weights = shrink(np.stack([shadow, solid]).astype(np.int64), TAPS) / UNIT
    assert np.abs(draw(view, SPHERE, 1.0)[2:4] - weights).max() <= 0.5
