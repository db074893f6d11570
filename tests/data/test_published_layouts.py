"""Loaders against small files that were laid out from descriptions of the datasets alone.

The layouts (`layouts.py`, `image_layouts.py`) were written without a look at the loaders, so that
one misreading cannot serve both.
"""

import math
import os
import re

import numpy as np
import pytest
import torch
from data import cases, image_layouts
from data.cases import ONCE, load, loader, resized, shown, write
from data.drawn import digits, read, read_bits
from data.layouts import HALVES

from unknot.core import registry

# The published grids, slowest factor first.
PUBLISHED = {
    "shapes3d": ((10, 10, 10, 8, 4, 15), 480_000),
    "cars3d": ((4, 24, 183), 17_568),
    "smallnorb": ((5, 10, 9, 18, 6), 48_600),
    "mpi3d": ((6, 6, 2, 3, 3, 40, 40), 1_036_800),
    "falcor3d": ((5, 6, 6, 6, 6, 6, 6), 233_280),
    "isaac3d": ((3, 8, 5, 4, 4, 4, 6, 4, 4), 737_280),
    "coil20": ((20, 72), 1_440),
}
# Michlo 2022, table A.2: mean and deviation by channel.
TABLE_A2 = {
    "shapes3d": (
        (0.502584966788819, 0.578759756608967, 0.603449973185958),
        (0.294081404355556, 0.344397908751721, 0.366168598152475),
    ),
    "cars3d": (
        (0.897667614997663, 0.889165802006751, 0.885147515814868),
        (0.225031955315030, 0.239946127898126, 0.247921063196844),
    ),
    "smallnorb": ((0.752091840108860,), (0.095638790168273,)),
}


ONE_EACH = [
    case
    for label, case in ONCE.items()
    if case.name in {*PUBLISHED, "dsprites_file"} and "folder" not in label
]

pytestmark = pytest.mark.usefixtures("own_cache")


def check_space(data, written, sizes):
    """Names, sizes and kinds are as described."""
    space = data.space
    assert space.sizes == sizes
    assert space.kinds == written.kinds
    for name, pattern in zip(space.names, written.names, strict=True):
        assert re.search(pattern, name), f"'{name}' should match {written.names}"


def check_pictures(images, pictures, case):
    """Images ``[n, h, w, c]`` show the grid points of ``pictures`` in their order."""
    sizes = pictures.shape[:-3]
    expected = resized(pictures, case.resample)
    if case.name == "dsprites_file":
        seen = [read_bits(image[..., 0], len(sizes)) for image in images]
    else:
        seen = [read(255 * image)[: len(sizes)] for image in images]
    assert seen == [*np.ndindex(*sizes)]
    assert images.shape == expected.shape
    assert np.abs(255 * images.astype(float) - expected).max() <= case.within


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_full_grid_is_the_published_one(name):
    sizes, rows = PUBLISHED[name]
    assert math.prod(sizes) == rows
    assert sizes == registry.get("datasets", name).published.space.sizes


@pytest.mark.parametrize("case", cases.GRIDS, ids=lambda case: case.label)
def test_every_grid_point_has_its_picture(case, tmp_path, monkeypatch):
    written = write(case, tmp_path / "files")
    data = load(case, written.path, monkeypatch)
    assert data.name == case.name
    check_space(data, written, case.sizes)
    check_pictures(shown(data), written.pictures, case)
    assert not (tmp_path / "files" / "bang").exists()  # a pickle was opened


@pytest.mark.parametrize("case", ONE_EACH, ids=lambda case: case.label)
def test_a_second_load_agrees_and_other_files_at_the_same_place_are_noticed(
    case, tmp_path, monkeypatch
):
    written = write(case, tmp_path / "files")
    first = shown(load(case, written.path, monkeypatch))
    assert np.array_equal(shown(load(case, written.path, monkeypatch)), first)
    (tmp_path / "files").rename(tmp_path / "elsewhere")
    wider = cases.replace(case, sizes=(*case.sizes[:-1], case.sizes[-1] + 1))
    written = write(wider, tmp_path / "files")
    for path in (tmp_path / "files").rglob("*"):
        os.utime(path, (2e9, 2e9))
    images = shown(load(wider, written.path, monkeypatch))
    assert len(images) // wider.sizes[-1] == len(first) // case.sizes[-1]
    assert len(np.unique(images, axis=0)) == len(images)


@pytest.mark.parametrize("label", ["shapes3d", "cars3d-disent", "smallnorb-disent"])
def test_michlos_constants(label, tmp_path, monkeypatch):
    case = ONCE[label]
    written = write(case, tmp_path / "files")
    data = load(case, written.path, monkeypatch, standardize=True)
    mean, std = TABLE_A2[case.name]
    assert data.mean == pytest.approx(mean, abs=1e-12)
    assert data.std == pytest.approx(std, abs=1e-12)


def test_the_complex_mpi3d_has_four_colours_and_four_shapes():
    dataset = registry.get("datasets", "mpi3d")(variant="real_complex")
    assert dataset.grid.sizes == (4, 4, 2, 3, 3, 40, 40)


def test_isaac3d_counts_as_its_authors_do():
    space = registry.get("datasets", "isaac3d").published.space
    assert space.strides == (245760, 30720, 6144, 1536, 384, 96, 16, 4, 1)


# smallNORB


@pytest.mark.parametrize("case", [cases.NORB, cases.NORB_UNPACKED], ids=lambda case: case.label)
def test_michlos_smallnorb_is_the_training_half(case, tmp_path, monkeypatch):
    written = write(case, tmp_path / "files")
    data = load(case, written.path, monkeypatch)
    sizes = (case.sizes[0], 5, *case.sizes[2:])
    check_space(data, written, sizes)
    (train, _) = HALVES.values()
    seen = np.array([read(255 * image)[:5] for image in shown(data)]).reshape(*sizes, 5)
    expected = np.stack(np.meshgrid(*map(range, sizes), indexing="ij"), -1)
    expected[..., 1] = np.array(train)[expected[..., 1]]
    assert np.array_equal(seen, expected)
    half = resized(written.pictures[:, list(train)], case.resample)
    assert np.abs(255 * shown(data).astype(float) - half).max() <= case.within


def test_the_studys_smallnorb_has_both_halves_and_instances_are_drawn(tmp_path, monkeypatch):
    case = cases.NORB_STUDY
    written = write(case, tmp_path / "files")
    data = load(case, written.path, monkeypatch)
    sizes = (case.sizes[0], *case.sizes[2:])
    assert data.space.sizes == sizes
    assert [bool(re.search("instance", name)) for name in data.space.names] == [False] * 4
    rows = torch.arange(len(data))
    expected = resized(written.pictures, case.resample).reshape(*case.sizes, 64, 64, 1)
    instances = []
    for variant in range(data.images.variants):
        images = shown(data, rows + len(data) * variant)
        seen = np.array([read(255 * image)[:5] for image in images])
        assert [tuple(row) for row in seen[:, [0, 2, 3, 4]]] == [*np.ndindex(*sizes)]
        assert np.abs(255 * images - expected[tuple(seen.T)]).max() <= case.within
        instances.append(seen[:, 1])
    counts = np.sort(np.stack(instances), 0)
    assert np.array_equal(counts, np.repeat(np.arange(10)[:, None], len(data), 1))


# Chairs, rows without a grid, sprites


@pytest.mark.parametrize("case", [cases.CHAIRS, cases.CHAIRS_FOLDER], ids=lambda case: case.label)
def test_chairs_are_masks_and_their_angles_come_from_file_names(case, tmp_path, monkeypatch):
    written = write(case, tmp_path / "files")
    data = load(case, written.path, monkeypatch)
    names = list(data.space.names)
    images = shown(data, torch.arange(len(data)))
    assert images.shape[1:] == (64, 64, 1)
    assert {*np.unique(images)} == {0, 1}
    factors = data.space.factors(torch.arange(len(data))).numpy()
    seen = np.array([read_bits(image[..., 0], 3) for image in images])
    assert np.array_equal(seen[:, 1], factors[:, names.index("azimuth")])
    assert np.array_equal(seen[:, 2], factors[:, names.index("elevation")])
    assert data.space.kinds[names.index("azimuth")] == "cyclic"
    assert len({tuple(row) for row in seen}) == len(seen)


@pytest.mark.parametrize("case", cases.ROWS, ids=lambda case: case.name)
def test_rows_come_in_the_order_of_the_files(case, tmp_path, monkeypatch):
    written = write(case, tmp_path / "files")
    data = load(case, written.path, monkeypatch)
    (count,) = case.sizes
    images = shown(data)
    assert len(images) == count
    assert [read(255 * image)[:4] for image in images] == [digits(row) for row in range(count)]
    if images.shape[1:] == written.pictures.shape[1:]:
        assert np.allclose(255 * images, written.pictures[:count], atol=0.01)


def test_sprites_are_put_together_as_li_and_mandt_did(tmp_path, monkeypatch):
    space = loader("sprites").SPACE
    folder = image_layouts.write_sprites(tmp_path)
    few = {"body": 2, "bottom": 3, "top": 2, "hair": 3}
    sizes = [
        next((few[part] for part in few if part in name), size)
        for name, size in zip(space.names, space.sizes, strict=True)
    ]
    assert space.size == 1296 * 9 * 8
    case = cases.Case("sprites", image_layouts.write_sprites, tuple(sizes))
    data = load(case, folder, monkeypatch)
    rows = torch.arange(0, len(data), 7)  # 7 divides none of the sizes
    values = data.space.factors(rows).numpy()
    images = shown(data, rows)
    cells = {}
    for image, value in zip(images, values, strict=True):
        factors = dict(zip(data.space.names, value.tolist(), strict=True))
        sheets = {
            part: next(value for name, value in factors.items() if name[:3] == part[:3])
            for part in ("body", "bottomwear", "topwear", "hair")
        }
        green, blue = (255 * image[0, 8, 1:]).round().astype(int)
        row, column = green // 12, blue // 18
        expected = image_layouts.sprite({**sheets, "shoes": 1}, row, column)
        assert np.array_equal((255 * image).round(), expected)
        rest = tuple(
            v for name, v in factors.items() if name[:3] not in ("bod", "bot", "top", "hai")
        )
        assert cells.setdefault(rest, (row, column)) == (row, column)
    lines = {}
    for (*action, frame), (row, column) in cells.items():
        lines.setdefault((*action,), {})[frame] = (row, column)
    published = {
        row: columns for rows, columns in image_layouts.FRAMES.values() for row in rows.values()
    }
    assert len(lines) == 9
    for line in lines.values():
        (row,) = {row for row, _ in line.values()}
        assert tuple(line[frame][1] for frame in range(8)) == published.pop(row)
