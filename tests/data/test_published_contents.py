"""Files of published datasets that are whole and hold something else than they should.

A loader refuses them in one line and leaves no cache; or what is wrong was not needed, and all is
as before.
"""

import gzip
import io
import shutil
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from data import image_layouts, layouts
from data.cases import ONCE, Case, load, loader, shown, write
from data.image_layouts import image_file, unpacked, zipped
from data.layouts import add, bomb, mat, matrix
from scipy.io import loadmat

pytestmark = pytest.mark.usefixtures("own_cache")


# Archives of arrays


def arrays(**changes):
    """An alteration of the arrays of an npz file."""

    def alter(path):
        with np.load(path) as file:
            held = {name: file[name] for name in file.files if name != "metadata"}
        for name, change in changes.items():
            held[name] = change(held[name])
        np.savez(path, **{name: array for name, array in held.items() if array is not None})

    return alter


def declare(rows):
    """An npz whose first array's header promises more than there is."""

    def alter(path):
        with zipfile.ZipFile(path) as archive:
            name = next(n for n in archive.namelist() if n in ("images.npy", "imgs.npy"))
        shape = (rows, 64, 64, 3) if name == "images.npy" else (rows, 64, 64)
        with zipfile.ZipFile(path, "w") as archive, archive.open(name, "w") as file:
            head = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, head)
            file.write(b"\0" * 5000)

    return alter


def change_first(change):
    def alter(path):
        with np.load(path) as file:
            name = "images" if "images" in file.files else "imgs"
        arrays(**{name: change})(path)

    return alter


WRONG = {
    "no array": lambda x: None,
    "a row less": lambda x: x[:-1],
    "a row more": lambda x: np.concatenate([x, x[:1]]),
    "no rows": lambda x: x[:0],
    "channels first": lambda x: np.moveaxis(x, -1, 1)[:, :, :5],
    "flat": lambda x: x.reshape(len(x), -1),
    "floats": lambda x: x / np.float32(255),
    "wide integers": lambda x: x.astype(np.int64),
    "a number": lambda x: np.array(3),
    "text": lambda x: np.array(["a", "b"]),
}
NPZ = ["mpi3d-toy", "shapes3d_mirror", "coil20", "dsprites"]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("label", NPZ)
def test_another_array(label, wrong, tmp_path, refuse):
    case = ONCE[label]
    written = write(case, tmp_path / "files")
    change_first(WRONG[wrong])(written.path)
    refuse(case, written.path)


@pytest.mark.parametrize("rows", ["as many", 10**6, 10**15, -1])
@pytest.mark.parametrize("label", NPZ)
def test_a_header_that_promises_too_much(label, rows, tmp_path, refuse):
    case = ONCE[label]
    written = write(case, tmp_path / "files")
    declare(int(np.prod(case.sizes)) if rows == "as many" else rows)(written.path)
    refuse(case, written.path)


@pytest.mark.parametrize("label", NPZ)
def test_objects_are_never_opened(label, tmp_path, refuse):
    case = ONCE[label]
    written = write(case, tmp_path / "files")
    change_first(lambda x: bomb(tmp_path))(written.path)
    refuse(case, written.path)
    assert not (tmp_path / "bang").exists()


@pytest.mark.parametrize("label", NPZ)
def test_columns_first_in_memory_are_put_right_or_refused(
    label, tmp_path, monkeypatch, own_cache, refuse_or_agree
):
    case = ONCE[label]
    written = write(case, tmp_path / "files")
    expected = shown(load(case, written.path, monkeypatch))
    shutil.rmtree(own_cache, ignore_errors=True)
    change_first(np.asfortranarray)(written.path)
    refuse_or_agree(case, written.path, expected)


@pytest.mark.parametrize("wrong", [*WRONG, "a group", "elsewhere", "promised"])
@pytest.mark.parametrize("label", ["shapes3d", "dsprites_hdf5"])
def test_another_hdf5(label, wrong, tmp_path, refuse):
    h5py = pytest.importorskip("h5py")
    case = ONCE[label]
    written = write(case, tmp_path / "files")
    name = "images" if label == "shapes3d" else "imgs"
    with h5py.File(written.path, "a") as file:
        array = file[name][:]
        del file[name]
        if wrong == "a group":
            file.create_group(name)
        elif wrong == "elsewhere":
            file[name] = h5py.ExternalLink(str(tmp_path / "other.h5"), name)
        elif wrong == "promised":
            shape = (10**12, *array.shape[1:])
            file.create_dataset(name, shape, "u1", chunks=(1, *array.shape[1:]))
        elif wrong == "text":
            file[name] = "a"
        elif (other := WRONG[wrong](array)) is not None:
            file[name] = other
    refuse(case, written.path)


# Cars


def retar(path, alter):
    """Write a tar archive again, its members altered."""
    with tarfile.open(path) as archive:
        members = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}
    alter(members)
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
            else:
                add(archive, name, content)


def first_car(members):
    return next(name for name in members if name.endswith("_mesh.mat"))


def car_array(change):
    def alter(members):
        name = first_car(members)
        im = change(loadmat(io.BytesIO(members[name]))["im"])
        members[name] = mat(im=im)

    return alter


def link(members):
    name = first_car(members)
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
    members[name] = member


CARS = {
    "no list": lambda m: m.pop("data/cars/list.txt"),
    "an empty list": lambda m: m.update({"data/cars/list.txt": b""}),
    "a list of bytes": lambda m: m.update({"data/cars/list.txt": b"\xff\xfe\0\n" * 4}),
    "a car too few": lambda m: m.pop(first_car(m)),
    "twice in the list": lambda m: m.update(
        {"data/cars/list.txt": m["data/cars/list.txt"].splitlines(True)[0] * 4}
    ),
    "another key": lambda m: m.update({first_car(m): mat(image=np.zeros(3))}),
    "no MATLAB file": lambda m: m.update({first_car(m): b"MATLAB 5.0 MAT-file, or not"}),
    "MATLAB 7.3": lambda m: m.update(
        {first_car(m): b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + b"\x89HDF\r\n\x1a\n" * 9}
    ),
    "axes exchanged": car_array(lambda im: im.transpose(0, 1, 2, 4, 3)),
    "a smaller picture": car_array(lambda im: im[:64, :64]),
    "floats": car_array(lambda im: im / 255),
    "text": car_array(lambda im: "car"),
    "a link": link,
    "no cars": lambda m: [m.pop(name) for name in [*m] if "cars" in name],
}


@pytest.mark.parametrize("wrong", CARS)
def test_other_cars(wrong, tmp_path, refuse):
    case = ONCE["cars3d-disent"]
    written = write(case, tmp_path / "files")
    retar(written.path, CARS[wrong])
    refuse(case, written.path)


def test_members_that_point_outside_are_left_alone(
    tmp_path, monkeypatch, own_cache, refuse_or_agree
):
    for label in ("cars3d-disent", "chairs3d"):
        case = ONCE[label]
        written = write(case, tmp_path / label)
        expected = shown(load(case, written.path, monkeypatch))
        shutil.rmtree(own_cache, ignore_errors=True)
        retar(written.path, lambda m: m.update({"../outside": b"", "/tmp/unknot-outside": b""}))
        refuse_or_agree(case, written.path, expected)
        assert not (tmp_path / "outside").exists()


# smallNORB


def unpack(path):
    raw = gzip.decompress(path.read_bytes())
    magic, axes = struct.unpack("<2i", raw[:8])
    count = max(3, axes)
    shape = struct.unpack(f"<{count}i", raw[8 : 8 + 4 * count])[:axes]
    kind = "u1" if magic == layouts.BYTES else "<i4"
    return magic, np.frombuffer(raw[8 + 4 * count :], kind).reshape(shape)


def norb(part, change, magic=None, half="training"):
    def alter(folder):
        (path,) = folder.glob(f"*{half}-{part}.mat.gz")
        known, array = unpack(path)
        path.write_bytes(gzip.compress(matrix(magic or known, change(array.copy()))))

    return alter


def put(row, value):
    def change(array):
        array[row] = value
        return array

    return change


NORBS = {
    "another magic": norb("dat", lambda x: x, magic=0x1E3D4C53),
    "integers for bytes": norb("dat", lambda x: x, magic=layouts.INTEGERS),
    "bytes for integers": norb("cat", lambda x: x, magic=layouts.BYTES),
    "a row less": norb("dat", lambda x: x[:-1]),
    "a category less": norb("cat", lambda x: x[:-1]),
    "one camera": norb("dat", lambda x: x[:, :1]),
    "small": norb("dat", lambda x: x[:, :, :64, :64]),
    "three columns": norb("info", lambda x: x[:, :3]),
    "a category beyond": norb("cat", put(0, 7)),
    "a category below": norb("cat", put(0, -1)),
    "an instance of the other half": norb("info", put((0, 0), 0)),
    "an odd azimuth": norb("info", put((0, 2), 1)),
    "an azimuth beyond": norb("info", put((0, 2), 36)),
    "a point twice": norb("info", lambda x: put(0, x[1])(x)),
    "bytes left over": lambda folder: _append(folder, b"\0\0\0\0"),
}


def _append(folder, rest):
    (path,) = folder.glob("*training-info.mat.gz")
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + rest))


@pytest.mark.parametrize("wrong", NORBS)
def test_another_smallnorb(wrong, tmp_path, refuse):
    case = ONCE["smallnorb-disent"]
    written = write(case, tmp_path / "files")
    if wrong == "a point twice":  # of the same category, or it would be another point
        norb("cat", lambda x: put(0, x[1])(x))(written.path)
    NORBS[wrong](written.path)
    refuse(case, written.path)


# Folders of images


def swap(name, content):
    return lambda files: files.update({next(n for n in files if n.endswith(name)): content})


PICTURES = {
    "one missing": lambda f: f.pop(next(n for n in f if n.endswith("000003.png"))),
    "one broken": swap("000003.png", b"\x89PNG\r\n\x1a\n"),
    "one cut": swap("000003.png", image_file(np.zeros((128, 128, 3), np.uint8))[:60]),
    "one small": swap("000003.png", image_file(np.zeros((64, 64, 3), np.uint8))),
    "one huge": swap("000003.png", image_file(np.zeros((20_000, 10_000), np.uint8))),
    "one of text": swap("000003.png", b"text"),
}


@pytest.mark.parametrize("wrong", PICTURES)
@pytest.mark.parametrize("label", ["falcor3d", "isaac3d_folder"])
def test_other_pictures(label, wrong, tmp_path, refuse):
    case = ONCE[label]
    written = write(case, tmp_path / "files")
    _rewrite(written.path, PICTURES[wrong])
    refuse(case, written.path)


def _rewrite(path, alter):
    """Write a zip archive or a folder again, its files altered."""
    if path.is_dir():
        files = {f"{p.relative_to(path)}": p.read_bytes() for p in path.rglob("*") if p.is_file()}
        shutil.rmtree(path)
        alter(files)
        unpacked(path, files)
    else:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist() if name[-1] != "/"}
        alter(files)
        zipped(path, files)


@pytest.mark.parametrize(
    "labels", [np.zeros((3, 7)), np.zeros(64), np.full((32, 7), np.nan)], ids=["few", "flat", "nan"]
)
def test_other_labels_are_refused_or_not_read(
    labels, tmp_path, monkeypatch, own_cache, refuse_or_agree
):
    case = ONCE["falcor3d"]
    written = write(case, tmp_path / "files")
    expected = shown(load(case, written.path, monkeypatch))
    shutil.rmtree(own_cache, ignore_errors=True)
    file = io.BytesIO()
    np.save(file, labels)
    _rewrite(written.path, swap("train-rec.labels", file.getvalue()))
    refuse_or_agree(case, written.path, expected)


def test_a_view_of_a_chair_that_is_missing(tmp_path, refuse):
    case = ONCE["chairs3d"]
    written = write(case, tmp_path / "files")
    retar(written.path, lambda m: m.pop(next(n for n in m if "image_002" in n)))
    refuse(case, written.path)


@pytest.mark.parametrize("magic", [0x803, 0x801, 0xD03, 0x804])
def test_other_digits(magic, tmp_path, refuse):
    case = ONCE["mnist"]
    written = write(case, tmp_path / "files")
    name = "labels-idx1" if magic == 0x803 else "images-idx3"
    path = written.path / f"train-{name}-ubyte.gz"
    raw = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(struct.pack(">I", magic) + raw[4:]))
    refuse(case, written.path)


def test_a_face_that_is_missing(tmp_path, refuse):
    case = ONCE["celeba"]
    written = write(case, tmp_path / "files")
    archive = written.path / "img_align_celeba.zip"
    _rewrite(archive, lambda files: files.pop("img_align_celeba/000004.jpg"))
    refuse(case, written.path)


def test_a_missing_sheet(tmp_path, refuse):
    folder = image_layouts.write_sprites(tmp_path)
    case = Case("sprites", image_layouts.write_sprites, loader("sprites").SPACE.sizes)
    (folder / "hair" / "0.png").unlink()
    refuse(case, folder)
