"""A room with one solid in it, cast by rays into buffers that are painted later.

Nothing here knows a colour. A buffer says of each pixel how much of it each surface covers and how
brightly the light falls there; a hue makes a colour of it. Lengths are in tenths of the camera's
distance from the axis on which the solids stand: x to the right, y away from the camera that
faces the back wall, z up. All constants were fitted to fifty pictures of 3D Shapes.

The pictures were drawn three times as wide and high without antialiasing and made smaller with
Lanczos' kernel, which leaves faint lines along edges; so are these. Shades and kernel are rounded
to whole numbers before they are added up, so that the sums are exact.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64, UInt8

# Components are along the first axis: x, y, and z up.
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


SIDE, FINE = 64, 3
SCALES, SHAPES, ORIENTATIONS = 8, 4, 15
BUFFERS = SCALES * SHAPES * ORIENTATIONS
PLANES = 8
BITS = 10
UNIT = 1 << BITS
"""What stands for 1 in weights, shades and gloss."""

SKY, WALL, FLOOR, SHADOW, SOLID = range(5)

DISTANCE, HEIGHT, PITCH, FOCUS = 10.0, 2.969, 0.0137, 69.34
WALLS, WALL_HEIGHT = 13.583, 7.831

LAMP, AIM = np.array([-6.41, 2.46, 31.63]), np.array([-6.0, 1.81, 0.0])
AMBIENT, HEADLIGHT, SPOT, EXPONENT = 0.359, 0.587, 0.948, 11.87
GLOSS, SHADE_OF_SHADOW = 0.151, 0.338


def _lanczos() -> Int64[np.ndarray, " taps"]:
    """Lanczos' kernel of three lobes on fine pixels around the middle one, in parts of ``UNIT``."""
    step = np.arange(1 - 3 * FINE, 3 * FINE)
    taps = np.sinc(step / FINE) * np.sinc(step / (3 * FINE))
    weights: Int64[np.ndarray, " taps"] = np.rint(UNIT * taps / taps.sum()).astype(np.int64)
    weights[step == 0] += UNIT - weights.sum()
    return weights


TAPS = _lanczos()


@dataclass(frozen=True)
class View:
    """What the camera sees of the empty room at one orientation."""

    eye: Float64[np.ndarray, "3 1 1"]
    forward: Float64[np.ndarray, "3"]
    rays: Float64[np.ndarray, "3 n n"]
    points: Float64[np.ndarray, "3 n n"]
    surface: Int64[np.ndarray, "n n"]
    shade: Int64[np.ndarray, "n n"]


def render() -> UInt8[np.ndarray, "buffers bytes"]:
    """All buffers as bytes of little-endian 16-bit numbers; scale, shape, orientation in order."""
    views = [look(orientation) for orientation in range(ORIENTATIONS)]
    buffers = np.empty((SCALES, SHAPES, ORIENTATIONS, PLANES, SIDE, SIDE), "<i2")
    for scale, shape, orientation in np.ndindex(SCALES, SHAPES, ORIENTATIONS):
        factor = 0.75 + 0.5 * scale / (SCALES - 1)
        buffers[scale, shape, orientation] = draw(views[orientation], shape, factor)
    return buffers.reshape(BUFFERS, -1).view(np.uint8)


def look(orientation: int) -> View:
    """The empty room from an angle of -30 to 30 degrees around the axis."""
    angle = np.deg2rad(-30 + 60 * orientation / (ORIENTATIONS - 1))
    (cos, sin), (level, tilt) = ((np.cos(a), np.sin(a)) for a in (angle, PITCH))
    eye = np.array([DISTANCE * sin, -DISTANCE * cos, HEIGHT]).reshape(3, 1, 1)
    forward = np.array([-sin * level, cos * level, -tilt])
    down = np.array([sin * tilt, -cos * tilt, -level])
    offset = (np.arange(SIDE * FINE) + 0.5) / FINE - SIDE / 2
    x, y = np.meshgrid(offset, offset)
    rays = np.stack([FOCUS * forward[i] + y * down[i] + x * (cos, sin, 0)[i] for i in range(3)])

    # The nearest plane ahead: a side wall, the back wall, or the floor.
    bounds = np.stack([np.copysign(WALLS, rays[0]), np.full_like(x, WALLS), np.zeros_like(x)])
    ways = (bounds - eye) / rays
    ways[ways <= 0] = np.inf
    plane = ways.argmin(0)[None]
    points = eye + np.take_along_axis(ways, plane, 0) * rays
    normals = np.zeros_like(rays)
    np.put_along_axis(normals, plane, -np.sign(np.take_along_axis(rays, plane, 0)), 0)
    wall = np.where(points[2] > WALL_HEIGHT, SKY, WALL)
    surface = np.where(plane[0] == 2, FLOOR, wall)
    shade, _ = light(points, normals, forward)
    return View(eye, forward, rays, points, surface, shade)


def light(
    points: Vectors, normals: Vectors, forward: Float64[np.ndarray, "3"]
) -> tuple[Int64[np.ndarray, "..."], Int64[np.ndarray, "..."]]:
    """Shade and gloss: light from everywhere, a lamp on the camera, and a spot above the room.

    Gloss is equally strong wherever the spot reaches, whatever the direction of the camera.
    """
    ray = _toward(LAMP, points)
    ray /= np.sqrt((ray**2).sum(0))
    axis = (LAMP - AIM) / np.linalg.norm(LAMP - AIM)
    spot = np.tensordot(axis, ray, 1).clip(0) ** EXPONENT
    facing = (ray * normals).sum(0)
    head = np.tensordot(-forward, normals, 1).clip(0)
    shade = AMBIENT + HEADLIGHT * head + SPOT * spot * facing.clip(0)
    gloss = GLOSS * spot * (facing > 0)
    return np.rint(UNIT * shade).astype(np.int64), np.rint(UNIT * gloss).astype(np.int64)


def draw(view: View, shape: int, scale: float) -> Int64[np.ndarray, "planes side side"]:
    """The planes of one buffer: weights of wall, floor, shadow and solid; their shades; gloss.

    The rest of the weight is the sky's. A shade is the mean over a surface's part of the pixel;
    all shadow has the same one.
    """
    surface, shade = view.surface.copy(), view.shade.copy()
    gloss = np.zeros_like(shade)
    way, normals = meet(shape, scale, view.eye, view.rays)
    solid = np.isfinite(way)
    surface[solid] = SOLID
    points = view.eye[:, 0] + way[solid] * view.rays[:, solid]
    shade[solid], gloss[solid] = light(points, normals[:, solid], view.forward)

    floor = surface == FLOOR
    points = view.points[:, floor]
    blocked, _ = meet(shape, scale, points, _toward(LAMP, points))
    surface[floor] = np.where(np.isfinite(blocked), SHADOW, FLOOR)

    parts = np.stack([surface == part for part in (WALL, FLOOR, SHADOW, SOLID)]).astype(np.int64)
    weights = shrink(parts, TAPS)
    wall, floor, _, solid = shrink(parts, np.abs(TAPS))
    sums = shrink(np.stack([*(parts[[0, 1, 3]] * shade), gloss]), np.abs(TAPS))
    means = _quotient(sums, np.stack([wall, floor, solid, solid]).clip(1))
    return np.concatenate([_quotient(weights, UNIT), means])


def _toward(goal: Float64[np.ndarray, "3"], points: Vectors) -> Vectors:
    """From points to one place."""
    way: Vectors = goal.reshape(3, *[1] * (points.ndim - 1)) - points
    return way


def shrink(
    planes: Int64[np.ndarray, "p fine fine"], taps: Int64[np.ndarray, " taps"]
) -> Int64[np.ndarray, "p side side"]:
    """Sums over the fine pixels in and around each pixel, times ``UNIT`` squared.

    Past the border the outermost fine pixel stands in.
    """
    margin = len(taps) // 2 - FINE // 2
    planes = np.pad(planes, ((0, 0), (margin, margin), (margin, margin)), mode="edge")
    stop = SIDE * FINE
    rows = sum(tap * planes[:, k : k + stop : FINE] for k, tap in enumerate(taps))
    small: Int64[np.ndarray, "p side side"]
    small = sum(tap * rows[:, :, k : k + stop : FINE] for k, tap in enumerate(taps))
    return small


def _quotient(
    total: Int64[np.ndarray, "p side side"], parts: int | Int64[np.ndarray, "p side side"]
) -> Int64[np.ndarray, "p side side"]:
    """The nearest whole number, halves up."""
    nearest: Int64[np.ndarray, "p side side"] = (2 * total + parts) // (2 * parts)
    return nearest
