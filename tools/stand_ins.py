"""Small files in the layouts of published datasets that cannot be passed on, with drawn objects.

Cars and chairs are boxes seen from their sides, faces are ovals with hair, eyes and a mouth. They
stand in for the files of Cars3D, 3D Chairs and CelebA where figures are tried; nothing that is
trained on them says anything of the data whose layout they have.
"""

import io
import tarfile
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from scipy.io import savemat

from unknot.core import registry
from unknot.core.factors import FactorSpace

CARS, CHAIRS, FACES = (4, 24, 12), (12, 31, 2), 1200
"""Elevations, azimuths and cars; chairs, azimuths and elevations; faces."""
ATTRIBUTES = [
    "5_o_Clock_Shadow",
    "Arched_Eyebrows",
    "Attractive",
    "Bags_Under_Eyes",
    "Bald",
    "Bangs",
    "Big_Lips",
    "Big_Nose",
    "Black_Hair",
    "Blond_Hair",
    "Blurry",
    "Brown_Hair",
    "Bushy_Eyebrows",
    "Chubby",
    "Double_Chin",
    "Eyeglasses",
    "Goatee",
    "Gray_Hair",
    "Heavy_Makeup",
    "High_Cheekbones",
    "Male",
    "Mouth_Slightly_Open",
    "Mustache",
    "Narrow_Eyes",
    "No_Beard",
    "Oval_Face",
    "Pale_Skin",
    "Pointy_Nose",
    "Receding_Hairline",
    "Rosy_Cheeks",
    "Sideburns",
    "Smiling",
    "Straight_Hair",
    "Wavy_Hair",
    "Wearing_Earrings",
    "Wearing_Hat",
    "Wearing_Lipstick",
    "Wearing_Necklace",
    "Wearing_Necktie",
    "Young",
]
FACETS = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
"""Corners of each side of a box, the corners counted as digits of base two."""


def small_grids() -> None:
    """Let the loaders of this process expect as many pictures as there are here."""
    _shrink("cars3d", CARS)
    _shrink("chairs3d", CHAIRS)
    _shrink("celeba", (FACES,))


def _shrink(name: str, sizes: tuple[int, ...]) -> None:
    kind = registry.get("datasets", name)
    facts = kind.published  # type: ignore[attr-defined]
    space: FactorSpace = replace(facts.space, sizes=sizes)
    kind.published = replace(facts, space=space)  # type: ignore[attr-defined]


def cars(folder: Path) -> Path:
    """``nips2015-analogy-data.tar.gz`` with a MATLAB file for each car."""
    path = folder / "nips2015-analogy-data.tar.gz"
    if path.exists():
        return path
    elevations, azimuths, count = CARS
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for car in range(count):
            boxes, im = _car(car), np.zeros((128, 128, 3, azimuths, elevations), np.uint8)
            for e, a in np.ndindex(elevations, azimuths):
                im[..., a, e] = draw_boxes(boxes, 360 * a / azimuths, 5 + 10 * e, 128, 0.85)
            file = io.BytesIO()
            savemat(file, {"im": im}, do_compression=True)
            _add(archive, f"data/cars/car_{car:03}_mesh.mat", file.getvalue())
        names = "".join(f"car_{car:03}_mesh\n" for car in range(count))
        _add(archive, "data/cars/list.txt", names.encode())
    return path


def chairs(folder: Path) -> Path:
    """``rendered_chairs.tar`` with a folder of pictures for each chair."""
    path = folder / "rendered_chairs.tar"
    if path.exists():
        return path
    models, azimuths, elevations = CHAIRS
    with tarfile.open(path, "w") as archive:
        for model, e, a in np.ndindex(models, elevations, azimuths):
            picture = draw_boxes(_chair(model), 360 * a / azimuths, 20 + 10 * e, 600, 1.0)
            turn, number = 360 * a // azimuths, e * azimuths + a + 1
            name = f"image_{number:03}_p{20 + 10 * e:03}_t{turn:03}_r096.png"
            _add(archive, f"rendered_chairs/{model:032x}/renders/{name}", _file(picture, "png"))
    return path


def faces(folder: Path) -> Path:
    """The folder of ``img_align_celeba.zip`` and its two tables."""
    folder.mkdir(exist_ok=True)
    if (folder / "list_eval_partition.txt").exists():
        return folder
    draws = np.random.default_rng(0)
    values = draws.random((FACES, len(ATTRIBUTES))) < 0.35
    names = [f"{row + 1:06}.jpg" for row in range(FACES)]
    with zipfile.ZipFile(folder / "img_align_celeba.zip", "w") as archive:
        for name, has in zip(names, values, strict=True):
            picture = _face(dict(zip(ATTRIBUTES, has.tolist(), strict=True)), draws)
            archive.writestr(f"img_align_celeba/{name}", _file(picture, "jpeg"))
    rows = [" ".join(f"{2 * int(v) - 1:2}" for v in has) for has in values]
    lines = [f"{FACES}", " ".join(ATTRIBUTES)]
    lines += [f"{name} {row}" for name, row in zip(names, rows, strict=True)]
    (folder / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n", "utf-8")
    parts = [f"{name} {10 * i // FACES // 8}" for i, name in enumerate(names)]
    (folder / "list_eval_partition.txt").write_text("\n".join(parts) + "\n", "utf-8")
    return folder


def draw_boxes(
    boxes: Iterable[tuple[tuple[float, ...], tuple[float, ...], tuple[int, ...]]],
    azimuth: float,
    elevation: float,
    side: int,
    background: float,
) -> np.ndarray:
    """Boxes (middle, half of each side, colour) seen from far away, the nearer sides on top."""
    a, e = np.deg2rad([azimuth, elevation])
    turn = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    tilt = np.array([[1, 0, 0], [0, np.sin(e), np.cos(e)], [0, -np.cos(e), np.sin(e)]])
    view = tilt @ turn  # to the right, up, towards the eye
    sides = []
    for middle, half, colour in boxes:
        corners = np.array([*np.ndindex(2, 2, 2)]) * 2 - 1
        seen = (corners * half + middle) @ view.T
        for k, facet in enumerate(FACETS):
            shade = (0.75, 0.75, 0.6, 0.6, 0.45, 1.0)[k]
            points = [
                (side * (0.5 + 0.36 * x), side * (0.5 - 0.36 * y)) for x, y, _ in seen[[*facet]]
            ]
            sides.append((seen[[*facet], 2].mean(), points, tuple(int(c * shade) for c in colour)))
    picture = Image.new("RGB", (side, side), (int(255 * background),) * 3)
    draw = ImageDraw.Draw(picture)
    for _, points, colour in sorted(sides, key=lambda item: item[0]):
        draw.polygon(points, fill=colour)
    return np.asarray(picture)


def _car(car: int) -> list[tuple[tuple[float, ...], tuple[float, ...], tuple[int, ...]]]:
    """A body, a cabin and four wheels, of its own colour and length."""
    long, high = 0.75 + 0.25 * (car % 3) / 2, 0.16 + 0.1 * (car % 4) / 3
    colour = [(200, 40, 40), (40, 90, 200), (230, 190, 40), (60, 160, 80)][car % 4]
    body = ((0.0, 0.0, 0.0), (long, 0.42, 0.15), colour)
    cabin = ((-0.1, 0.0, 0.15 + high), (0.5 * long, 0.36, high), (120, 150, 170))
    wheels = [
        ((x * 0.65 * long, y * 0.4, -0.17), (0.14, 0.06, 0.12), (25, 25, 25))
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    return [*wheels, body, cabin]


def _chair(model: int) -> list[tuple[tuple[float, ...], tuple[float, ...], tuple[int, ...]]]:
    """A seat, a back and four legs, of its own width and height."""
    wide, back = 0.4 + 0.2 * (model % 4) / 3, 0.3 + 0.25 * (model % 3) / 2
    leg = 0.3 + 0.1 * (model % 2)
    colour = (130, 90, 60)
    seat = ((0.0, 0.0, 0.0), (wide, 0.45, 0.06), colour)
    rest = ((0.0, 0.4, back), (wide, 0.06, back), colour)
    legs = [
        ((x * (wide - 0.07), y * 0.38, -leg), (0.07, 0.07, leg), colour)
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    return [*legs, seat, rest]


def _face(has: dict[str, bool], draws: np.random.Generator) -> np.ndarray:
    """A face that shows the plainest attributes; the others are labels alone."""
    width, height = 178, 218
    colours = ((90, 60, 40), (25, 20, 20), (225, 195, 110), (150, 150, 150))
    kinds = ("Black_Hair", "Blond_Hair", "Gray_Hair")
    hair = colours[next((i + 1 for i, kind in enumerate(kinds) if has[kind]), 0)]
    skin = (250, 225, 210) if has["Pale_Skin"] else (215, 165, 130)
    ground = tuple(int(c) for c in draws.integers(60, 220, 3))
    x, y = (int(v) for v in draws.integers(-12, 13, 2))
    x, y = x + width // 2, y + height // 2
    broad = 42 + 8 * has["Chubby"]
    picture = Image.new("RGB", (width, height), ground)
    draw = ImageDraw.Draw(picture)
    if not has["Bald"]:
        reach = 75 if has["Male"] else 105
        draw.ellipse((x - broad - 14, y - 78, x + broad + 14, y - 78 + 2 * reach), fill=hair)
    draw.ellipse((x - broad, y - 60, x + broad, y + 60), fill=skin)
    if has["Bangs"] and not has["Bald"]:
        draw.rectangle((x - broad + 8, y - 58, x + broad - 8, y - 30), fill=hair)
    for eye in (x - 18, x + 18):
        draw.ellipse((eye - 6, y - 16, eye + 6, y - 8), fill=(40, 40, 60))
        if has["Eyeglasses"]:
            draw.ellipse((eye - 15, y - 25, eye + 15, y + 3), outline=(10, 10, 10), width=4)
    lips = (190, 30, 50) if has["Wearing_Lipstick"] else (150, 80, 75)
    if has["Smiling"]:
        draw.chord((x - 22, y + 5, x + 22, y + 42), 20, 160, fill=lips)
    else:
        draw.rectangle((x - 16, y + 28, x + 16, y + 34), fill=lips)
    if has["Wearing_Hat"]:
        draw.rectangle((x - broad - 8, y - 95, x + broad + 8, y - 42), fill=(50, 70, 120))
    return np.asarray(picture)


def _file(picture: np.ndarray, form: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, form)
    return file.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))
