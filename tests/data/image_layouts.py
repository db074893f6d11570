"""Published datasets in small, as in `layouts`: those that are image files."""

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
from data.drawn import digits, draw, draw_bits, draw_grid
from data.layouts import COIL20, COIL20_KINDS, Written, add, mat, product
from PIL import Image

FALCOR3D = (
    "light.*intensity",
    *(f"light.*{axis}" for axis in "xyz"),
    *(f"camera.*{axis}" for axis in "xyz"),
)
ISAAC3D = (
    "object.*shape",
    "robot.*x",
    "robot.*y",
    "camera.*height",
    "object.*scale",
    "light.*intensity",
    "light.*y",
    "object.*colou?r",
    "wall.*colou?r",
)
ISAAC3D_KINDS = ("nominal", *("ordered",) * 6, "nominal", "nominal")


def write_falcor3d(folder, sizes):
    """A zip of numbered PNG files, and labels in a npy file of another name."""
    files, pictures = _pngs("Falcor3D_down128", "train-rec.labels", sizes)
    path = zipped(folder / "Falcor3D_down128.zip", files)
    return Written(path, FALCOR3D, ("ordered",) * 7, pictures)


def write_falcor3d_folder(folder, sizes):
    """The same, unpacked."""
    files, pictures = _pngs("Falcor3D_down128", "train-rec.labels", sizes)
    path = unpacked(folder, files) / "Falcor3D_down128"
    return Written(path, FALCOR3D, ("ordered",) * 7, pictures)


def write_isaac3d(folder, sizes):
    """A zip of numbered PNG files and ``labels.npy``."""
    files, pictures = _pngs("Isaac3D_down128", "labels.npy", sizes)
    path = zipped(folder / "Isaac3D_down128.zip", files)
    return Written(path, ISAAC3D, ISAAC3D_KINDS, pictures)


def write_isaac3d_folder(folder, sizes):
    """The same, unpacked."""
    files, pictures = _pngs("Isaac3D_down128", "labels.npy", sizes)
    path = unpacked(folder, files) / "Isaac3D_down128"
    return Written(path, ISAAC3D, ISAAC3D_KINDS, pictures)


def _pngs(top, label_file, sizes):
    """Files by name, in an order that is not theirs, and pictures."""
    pictures = draw_grid(sizes, 128, 128, 3)
    flat = pictures.reshape(-1, 128, 128, 3)
    files = {f"{top}/images/{row:06}.png": image_file(flat[row]) for row in _mixed(len(flat))}
    labels = io.BytesIO()
    np.save(labels, product([np.linspace(0, 1, size) for size in sizes]))
    return {**files, f"{top}/{label_file}": labels.getvalue()}, pictures


def _mixed(count):
    return np.random.default_rng(count).permutation(count)


def image_file(picture, form="png", **options):
    """The bytes of an image file, of a picture ``[h, w]``, ``[h, w, 1]`` or ``[h, w, 3]``."""
    file = io.BytesIO()
    Image.fromarray(picture.squeeze()).save(file, form, **options)
    return file.getvalue()


def zipped(path, files):
    """A zip archive of files by name, with entries for folders as common tools write them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for folder in sorted({f"{Path(name).parent.as_posix()}/" for name in files} - {"./"}):
            archive.writestr(folder, b"")
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def unpacked(folder, files):
    """The files, in a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


CHAIRS3D = ("azimuth", "elevation")


def write_chairs3d(folder, sizes):
    """``rendered_chairs.tar``: a folder for each model; black blocks stand for the chair.

    Sizes are models, azimuths and elevations. The angles are in the file's name alone, and the
    numbers in front count views with the elevation slowest.
    """
    pictures, files = _chairs3d(sizes)
    path = folder / "rendered_chairs.tar"
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            add(archive, name, content)
    return Written(path, CHAIRS3D, ("cyclic", "ordered"), pictures)


def write_chairs3d_folder(folder, sizes):
    """The same, unpacked."""
    pictures, files = _chairs3d(sizes)
    path = unpacked(folder, files) / "rendered_chairs"
    return Written(path, CHAIRS3D, ("cyclic", "ordered"), pictures)


def _chairs3d(sizes):
    """Masks ``[models, azimuths, elevations, 600, 600, 1]`` of chairs in 0 and 1, and files."""
    models, azimuths, elevations = sizes
    masks = np.zeros((*sizes, 600, 600, 1), np.uint8)
    names = [f"{0xB663F1E4 + 977 * model:032x}" for model in range(models)]
    files = {"rendered_chairs/all_chair_names.mat": mat(folder_names=np.array(names, object))}
    for model in reversed(range(models)):
        for azimuth, elevation in np.ndindex(azimuths, elevations):
            mask = draw_bits((model, azimuth, elevation), 600, 600)
            masks[model, azimuth, elevation] = mask[..., None]
            number = elevation * azimuths + azimuth + 1
            turn = 360 * (azimuth + 1) // azimuths
            name = f"image_{number:03}_p{20 + 10 * elevation:03}_t{turn:03}_r096.png"
            content = image_file(np.repeat(255 * (1 - mask)[..., None], 3, 2))
            files[f"rendered_chairs/{names[model]}/renders/{name}"] = content
    return masks, files


def write_celeba(folder, sizes):
    """A zip of JPEG files, and tables of attributes, parts, landmarks and identities."""
    (count,) = sizes
    pictures = np.stack([draw(digits(row), 218, 178, 3) for row in range(count)])
    names = [f"{row + 1:06}.jpg" for row in range(count)]
    jpegs = {
        f"img_align_celeba/{names[row]}": image_file(pictures[row], "jpeg", quality=95)
        for row in _mixed(count)
    }
    zipped(folder / "img_align_celeba.zip", jpegs)
    decoded = [
        np.asarray(Image.open(io.BytesIO(jpegs[f"img_align_celeba/{name}"]))) for name in names
    ]
    attributes = celeba_attributes(count)
    heads = " ".join(f"Attribute_{column}" for column in range(40))
    lines = [
        " ".join([name, *(f"{v:2}" for v in row)])
        for name, row in zip(names, attributes, strict=True)
    ]
    _table(folder / "list_attr_celeba.txt", [f"{count}", f"{heads} ", *lines])
    parts = np.arange(count) * 3 // count
    _table(
        folder / "list_eval_partition.txt", [f"{n} {p}" for n, p in zip(names, parts, strict=True)]
    )
    points = ("lefteye", "righteye", "nose", "leftmouth", "rightmouth")
    heads = " ".join(f"{point}_{axis}" for point in points for axis in "xy")
    marks = [f"{name} 69  109  106  113   77  142   73  152  108  154" for name in names]
    _table(folder / "list_landmarks_align_celeba.txt", [f"{count}", f"{heads} ", *marks])
    _table(folder / "identity_CelebA.txt", [f"{n} {i % 3 + 1}" for i, n in enumerate(names)])
    return Written(folder, (), (), np.stack(decoded))


def celeba_attributes(count):
    """Which of 40 attributes each face has, -1 or 1."""
    return np.random.default_rng(count).choice([-1, 1], (count, 40))


def write_tiny_imagenet(folder, sizes):
    """A zip of JPEG files, of which those to train with are in a folder for each class."""
    (count,) = sizes
    files, decoded = {}, []
    for row in reversed(range(count)):
        kind = f"n{1443537 + row // 3:08}"
        content = image_file(draw(digits(row), 64, 64, 3), "jpeg", quality=95)
        files[f"tiny-imagenet-200/train/{kind}/images/{kind}_{row}.JPEG"] = content
        files[f"tiny-imagenet-200/train/{kind}/{kind}_boxes.txt"] = b"0 0 63 63\n"
        decoded.append(np.asarray(Image.open(io.BytesIO(content))))
    files["tiny-imagenet-200/val/images/val_0.JPEG"] = content
    files["tiny-imagenet-200/test/images/test_0.JPEG"] = content
    path = zipped(folder / "tiny-imagenet-200.zip", files)
    return Written(path, (), (), np.stack(decoded[::-1]))


def _table(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def write_coil20_zip(folder, sizes):
    """``coil-20-proc.zip`` as its authors serve it: objects count from 1, views from 0."""
    pictures = draw_grid(sizes, 128, 128, 1)
    files = {
        f"coil-20-proc/obj{thing + 1}__{view}.png": image_file(pictures[thing, view])
        for thing, view in np.ndindex(*sizes)
    }
    return Written(zipped(folder / "coil-20-proc.zip", files), COIL20, COIL20_KINDS, pictures)


PARTS = ("body", "bottomwear", "topwear", "hair", "shoes")  # drawn one over the other
SHEETS = {"body": 7, "bottomwear": 7, "eyes": 5, "hair": 10, "shoes": 3, "topwear": 7}
CELL, ACROSS, DOWN = 64, 13, 21
# The row of a sheet for each action and direction, and the cells of its eight frames.
FRAMES = {
    "cast": ({"left": 1, "front": 2, "right": 3}, (0, 1, 2, 3, 4, 5, 4, 6)),
    "walk": ({"left": 9, "front": 10, "right": 11}, (8, 1, 2, 3, 4, 5, 6, 7)),
    "slash": ({"left": 13, "front": 14, "right": 15}, (0, 1, 2, 3, 4, 5, 4, 0)),
}


def write_sprites(folder):
    """Sheets of 13 x 21 cells, in a folder for each part of a body; most have a palette."""
    row, column = np.divmod(np.arange(DOWN * 9), 9)  # the cells that any action uses
    cells = np.zeros((DOWN, ACROSS), np.uint8)
    cells[row, column] = 1 + np.arange(DOWN * 9)
    for part, count in SHEETS.items():
        painted = np.kron(cells, _strips(part))
        (folder / part).mkdir()
        for sheet in range(count):
            colors = np.zeros((256, 3), np.uint8)
            colors[1 : 1 + DOWN * 9] = np.stack([0 * row + _red(sheet), 12 * row, 18 * column], 1)
            image = Image.fromarray(painted)
            image.putpalette(colors.tobytes())
            image.info["transparency"] = 0
            if (part, sheet) in (("body", 6), ("topwear", 5)):
                image = image.convert("RGBA")
            image.save(folder / part / f"{sheet}.png", compress_level=1)
    return folder


def sprite(sheets, row, column):
    """The picture of a character whose parts come from the given sheets, on black."""
    picture = np.zeros((CELL, CELL, 3), np.uint8)
    for part in PARTS:
        picture[_strips(part) > 0] = _red(sheets[part]), 12 * row, 18 * column
    return picture


def _red(sheet):
    return 40 + 20 * sheet


def _strips(part):
    """Where a part is painted: a strip of its own, and one or two that it shares."""
    strips = np.zeros((CELL, CELL), np.uint8)
    place = (*PARTS, "eyes").index(part)
    strips[8 * place : 8 * place + 8, 8:] = 1
    if part in PARTS:
        strips[56:, 8:] = 1
    if part in PARTS[:4]:
        strips[48:56, 8:] = 1
    return strips
