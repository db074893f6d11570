"""Rays against solids: every answer is checked against the solid's own inequality."""

import numpy as np
import pytest

from unknot.data.parts import room
from unknot.data.parts.room import CAPSULE, CUBE, CYLINDER, SPHERE, meet

SHAPES = {"cube": CUBE, "cylinder": CYLINDER, "sphere": SPHERE, "capsule": CAPSULE}


def depth(shape, scale, points):
    """Below 0 inside a solid, 0 on its surface, above 0 outside; lengths near the surface."""
    x, y, z = points
    flat = np.hypot(x, y)
    if shape == CUBE:
        half = room.HALF_SIDE * scale
        return np.max([np.abs(x), np.abs(y), np.abs(z - half)], axis=0) - half
    if shape == CYLINDER:
        radius, height = room.CYLINDER_RADIUS * scale, room.CYLINDER_HEIGHT * scale
        return np.maximum(flat - radius, np.abs(z - height / 2) - height / 2)
    if shape == SPHERE:
        radius = room.SPHERE_RADIUS * scale
        return np.hypot(flat, z - radius) - radius
    radius, height = room.CAPSULE_RADIUS * scale, room.CAPSULE_HEIGHT * scale
    return np.hypot(flat, z - np.clip(z, radius, height - radius)) - radius


def rays(seed, number=1000):
    """Rays from around the solids, most of them aimed near the axis."""
    random = np.random.default_rng(seed)
    angle = random.uniform(0, 2 * np.pi, number)
    origin = np.stack([10 * np.cos(angle), 10 * np.sin(angle), random.uniform(0.1, 20, number)])
    goal = np.stack([*random.normal(0, 2, (2, number)), random.uniform(0, 6, number)])
    return origin, (goal - origin) * random.uniform(0.2, 2, number)


@pytest.mark.parametrize("scale", [0.75, 1.25])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_ray_ends_on_the_surface_and_is_outside_before(shape, scale):
    origin, ray = rays(shape)
    way, normal = meet(shape, scale, origin, ray)
    met = np.isfinite(way) & (origin[2] + way * ray[2] > 1e-9)
    assert 0.1 < met.mean() < 0.9
    at = origin[:, met] + way[met] * ray[:, met]
    assert np.abs(depth(shape, scale, at)).max() < 1e-9
    share = np.linspace(0, 1, 50, endpoint=False)[:, None]
    before = np.stack([origin[i, met] + share * way[met] * ray[i, met] for i in range(3)])
    assert depth(shape, scale, before).min() > -1e-9
    assert np.allclose(np.linalg.norm(normal[:, met], axis=0), 1)
    assert (normal[:, met] * ray[:, met]).sum(0).max() < 1e-9
    # A step along the normal leads out by its length.
    assert np.allclose(depth(shape, scale, at + 1e-4 * normal[:, met]), 1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_ray_that_meets_nothing_is_outside_all_along(shape):
    origin, ray = rays(10 + shape)
    missed = ~np.isfinite(meet(shape, 1.0, origin, ray)[0])
    ray = ray[:, missed] / np.linalg.norm(ray[:, missed], axis=0)
    along = np.linspace(0, 20, 400)[:, None]
    points = np.stack([origin[i, missed] + along * ray[i] for i in range(3)])
    assert depth(shape, 1.0, points).min() > -1e-9


def test_the_outline_of_a_sphere_is_a_cone():
    """A ray meets a ball where its angle to the centre is below asin(r / d)."""
    origin, ray = rays(20)
    radius = room.SPHERE_RADIUS
    center = np.array([[0], [0], [radius]]) - origin
    far = np.linalg.norm(center, axis=0)
    cos = (center * ray).sum(0) / far / np.linalg.norm(ray, axis=0)
    met = np.isfinite(meet(SPHERE, 1.0, origin, ray)[0])
    assert np.array_equal(met, np.arccos(cos) < np.arcsin(radius / far))


def test_a_solid_behind_is_not_met():
    origin, ray = rays(30)
    for shape in SHAPES.values():
        met = np.isfinite(meet(shape, 1.0, origin, ray)[0])
        assert not np.isfinite(meet(shape, 1.0, origin, -ray)[0][met]).any()
