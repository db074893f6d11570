"""Where rays meet a solid that stands on the floor, and which way its surface faces there.

Vectors have their three components along the first axis: x, y, and z up.
"""

import numpy as np
from jaxtyping import Float64

Vectors = Float64[np.ndarray, "3 ..."]
Numbers = Float64[np.ndarray, "..."]

CUBE, CYLINDER, SPHERE, CAPSULE = range(4)
# Lengths at scale 1, where the camera is 10 from the axis that all solids stand on.
HALF_SIDE = 1.388
CYLINDER_RADIUS, CYLINDER_HEIGHT = 1.484, 2.974
SPHERE_RADIUS = 1.681
CAPSULE_RADIUS, CAPSULE_HEIGHT = 1.282, 5.138


def meet(shape: int, scale: float, origin: Vectors, ray: Vectors) -> tuple[Numbers, Vectors]:
    """How many rays long the way to the solid is, infinite past it, and the normals there."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if shape == CUBE:
            return _meet_cube(HALF_SIDE * scale, origin, ray)
        if shape == CYLINDER:
            return _meet_cylinder(CYLINDER_RADIUS * scale, CYLINDER_HEIGHT * scale, origin, ray)
        if shape == SPHERE:
            radius = SPHERE_RADIUS * scale
            way = _meet_ball(radius, radius, origin, ray)
            return way, _outward(radius, radius, radius, origin + way * ray)
        return _meet_capsule(CAPSULE_RADIUS * scale, CAPSULE_HEIGHT * scale, origin, ray)


def _meet_cube(half: float, origin: Vectors, ray: Vectors) -> tuple[Numbers, Vectors]:
    """A ray is inside from its last entry between two faces to its first exit."""
    middle = np.array([0, 0, half]).reshape(3, *[1] * (ray.ndim - 1))
    reach = half / np.abs(ray)
    center = (middle - origin) / ray
    enter = center - reach
    way, leave = enter.max(0), (center + reach).min(0)
    normal = np.where(enter == way, -np.sign(ray), 0.0)
    return np.where((way < leave) & (way > 0), way, np.inf), normal


def _meet_cylinder(
    radius: float, height: float, origin: Vectors, ray: Vectors
) -> tuple[Numbers, Vectors]:
    side = _meet_side(radius, 0.0, height, origin, ray)
    lid = (height - origin[2]) / ray[2]
    x, y, _ = origin + lid * ray
    lid = np.where((lid > 0) & (x**2 + y**2 < radius**2), lid, np.inf)
    normal = _outward(radius, 0.0, height, origin + side * ray)
    normal[:, lid < side] = [[0], [0], [1]]
    return np.minimum(side, lid), normal


def _meet_capsule(
    radius: float, height: float, origin: Vectors, ray: Vectors
) -> tuple[Numbers, Vectors]:
    """A cylinder with a ball at each end."""
    bottom, top = radius, height - radius
    way = _meet_side(radius, bottom, top, origin, ray)
    for end in (bottom, top):
        way = np.minimum(way, _meet_ball(radius, end, origin, ray))
    return way, _outward(radius, bottom, top, origin + way * ray)


def _meet_ball(radius: float, height: float, origin: Vectors, ray: Vectors) -> Numbers:
    (x, y, z), (dx, dy, dz) = origin, ray
    z = z - height
    return _first_root(
        dx**2 + dy**2 + dz**2, x * dx + y * dy + z * dz, x**2 + y**2 + z**2 - radius**2
    )


def _meet_side(radius: float, bottom: float, top: float, origin: Vectors, ray: Vectors) -> Numbers:
    (x, y, z), (dx, dy, dz) = origin, ray
    way = _first_root(dx**2 + dy**2, x * dx + y * dy, x**2 + y**2 - radius**2)
    z = z + way * dz
    return np.where((z >= bottom) & (z <= top), way, np.inf)


def _first_root(a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    """The smaller root of a t^2 + 2 b t + c, infinite where there is none above 0."""
    way = (-b - np.sqrt(b**2 - a * c)) / a
    return np.where(way > 0, way, np.inf)


def _outward(radius: float, bottom: float, top: float, points: Vectors) -> Vectors:
    """Away from the nearest point of the axis between two heights."""
    x, y, z = points
    return np.stack([x, y, z - z.clip(bottom, top)]) / radius
