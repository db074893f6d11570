"""Every form in which the files of a published dataset may lie is loaded, with the same images."""

import shutil
import tarfile

import numpy as np
import pytest
from data import cases, image_layouts, layouts
from data.cases import Case, load, shown

from unknot.core import registry

GRIDS = {case.name: case.sizes for case in reversed(cases.ALL)} | {
    "tiny_imagenet": (7,),
    "sprites": (2, 1, 2, 1, 3, 3, 8),
    "chairs3d": (1, 2, 2),
}
PUBLISHED = [
    (name, form)
    for name in registry.names("datasets")
    if hasattr(kind := registry.get("datasets", name), "published") and name != "scream_dsprites"
    for form in kind.published.forms
]  # the painting of scream_dsprites has tests of its own

pytestmark = pytest.mark.usefixtures("own_cache")


def write_sprites(folder, sizes):
    (folder / "parts").mkdir()
    parts = image_layouts.write_sprites(folder / "parts")
    files = {f"Sprites-main/{p.relative_to(parts)}": p.read_bytes() for p in parts.rglob("*.png")}
    image_layouts.zipped(folder / "Sprites.zip", files)
    shutil.rmtree(parts)
    return layouts.Written(folder / "Sprites.zip", (), (), np.zeros(0))


# How a form is written; a folder and unpacked files are made from the archive that stands first.
WRITERS = {
    ("shapes3d", "HDF5"): layouts.write_shapes3d,
    ("shapes3d", "npz"): layouts.write_shapes3d_mirror,
    ("cars3d", "tar.gz"): layouts.write_cars3d,
    ("smallnorb", "gz"): layouts.write_smallnorb,
    ("mpi3d", "npz"): layouts.write_mpi3d,
    ("falcor3d", "zip"): image_layouts.write_falcor3d,
    ("isaac3d", "zip"): image_layouts.write_isaac3d,
    ("celeba", "zip"): image_layouts.write_celeba,
    ("chairs3d", "tar"): image_layouts.write_chairs3d,
    ("mnist", "gz"): layouts.write_mnist,
    ("fashion_mnist", "gz"): layouts.write_mnist,
    ("sprites", "zip"): write_sprites,
    ("coil20", "zip"): image_layouts.write_coil20_zip,
    ("coil20", "npz"): layouts.write_coil20,
    ("tiny_imagenet", "zip"): image_layouts.write_tiny_imagenet,
    ("dsprites_file", "npz"): layouts.write_dsprites,
    ("dsprites_file", "HDF5"): layouts.write_dsprites_hdf5,
}


def write(name, form, folder):
    """The files of a dataset in a form; where they are."""
    folder.mkdir()
    first = registry.get("datasets", name).published.forms[0]
    written = WRITERS.get((name, form), WRITERS[name, first])(folder, GRIDS[name])
    if (name, form) in WRITERS:
        return written.path
    for path in [*folder.iterdir()]:
        if form == "unpacked":
            path.with_suffix("").write_bytes(layouts.gzip.decompress(path.read_bytes()))
            path.unlink()
        elif path.suffix == ".zip":
            shutil.unpack_archive(path, folder)
            path.unlink()
        elif path.suffix in (".tar", ".gz"):
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
            path.unlink()
    return folder


@pytest.mark.parametrize(("name", "form"), PUBLISHED)
def test_every_form_gives_the_images_of_the_first(name, form, tmp_path, monkeypatch):
    case = Case(name, None, GRIDS[name])
    first = registry.get("datasets", name).published.forms[0]
    path = write(name, first, tmp_path / "first")
    expected = shown(load(case, path, monkeypatch))
    assert len(np.unique(expected, axis=0)) > 1
    if form != first:
        path = write(name, form, tmp_path / "other")
        assert np.array_equal(shown(load(case, path, monkeypatch)), expected)
