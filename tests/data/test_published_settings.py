"""Parts, labels, sizes and places of published datasets, on the same small files."""

import hashlib
import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from data import cases, image_layouts, layouts
from data.cases import Case, load, loader, resized, shown, write
from data.drawn import digits, read, read_bits
from PIL import Image

import unknot
from unknot.core import registry
from unknot.core.errors import ConfigError, DataError
from unknot.samplers.parts.split import PublishedSplit, rows_in_part

pytestmark = pytest.mark.usefixtures("own_cache")


def levels(data):
    """Images as levels from 0 to 255."""
    return 255 * shown(data).astype(float)


@pytest.mark.parametrize(
    ("half", "instances"), [("both", range(10)), ("test", (0, 1, 2, 3, 5)), ("train", range(4, 10))]
)
def test_smallnorb_by_halves(half, instances, tmp_path, monkeypatch):
    instances = [i for i in instances if half != "train" or i != 5]
    written = write(cases.NORB, tmp_path / "files")
    data = load(cases.NORB, written.path, monkeypatch, half=half)
    expected = written.pictures[:, instances]
    assert data.space.sizes == expected.shape[:5]
    assert np.abs(levels(data) - resized(expected, cases.BILINEAR)).max() <= 0.01


@pytest.mark.parametrize(("part", "models"), [("all", 5), ("train", 4), ("test", 1)])
def test_chairs_by_parts_with_the_model_as_nuisance(part, models, tmp_path, monkeypatch):
    case = Case("chairs3d", image_layouts.write_chairs3d, (5, 2, 2))
    written = write(case, tmp_path / "files")
    data = load(case, written.path, monkeypatch, part=part, model=False)
    assert data.space.names == ("azimuth", "elevation")
    assert data.images.variants == models
    rows = torch.arange(len(data))
    first = 4 if part == "test" else 0
    for variant in range(models):
        images = shown(data, rows + len(data) * variant)
        seen = [read_bits(image[..., 0], 3) for image in images]
        assert seen == [(first + variant, *values) for values in np.ndindex(2, 2)]


def test_chairs_cover_what_their_pictures_cover(tmp_path, monkeypatch):
    case = cases.ONCE["chairs3d"]
    written = write(case, tmp_path / "files")
    masks = shown(load(case, written.path, monkeypatch))[..., 0]
    for mask, picture in zip(masks, written.pictures.reshape(-1, 600, 600), strict=True):
        covered = np.asarray(Image.fromarray(255 * picture).resize((64, 64), Image.Resampling.BOX))
        sure = abs(covered.astype(int) - 127.5) > 30
        assert np.array_equal(mask[sure], covered[sure] > 127)


@pytest.mark.parametrize("part", ["all", "train", "validation", "test"])
def test_celebas_parts_and_attributes(part, tmp_path, monkeypatch):
    written = write(cases.CELEBA, tmp_path / "files")
    rows = {"all": range(9), "train": range(3), "validation": range(3, 6), "test": range(6, 9)}
    data = load(cases.CELEBA, written.path, monkeypatch, part=part)
    expected = resized(written.pictures[list(rows[part])], cases.BICUBIC)
    assert np.abs(levels(data) - expected).max() <= 1.01
    labels = registry.get("datasets", "celeba")(path=str(written.path), part=part).labels()
    attributes = image_layouts.celeba_attributes(9)[list(rows[part])]
    assert [*labels] == [f"Attribute_{column}" for column in range(40)]
    assert np.array_equal(np.stack([*labels.values()], 1), attributes > 0)
    assert (data.space.names, {*data.space.kinds}) == (tuple(labels), {"nominal"})
    assert np.array_equal(data.space.values.numpy(), attributes > 0)
    if part == "all":
        for name, numbers in [*rows.items()][1:]:
            assert rows_in_part(PublishedSplit(), data.space, name).tolist() == [*numbers]
    else:
        with pytest.raises(ConfigError, match="published no parts, or only one"):
            rows_in_part(PublishedSplit(), data.space, "train")


def test_celebas_faces_are_cropped_in_the_middle(tmp_path, monkeypatch):
    written = write(cases.CELEBA, tmp_path / "files")
    data = load(cases.CELEBA, written.path, monkeypatch, crop="centre")
    middle = written.pictures[:, 35:183, 15:163]
    assert np.abs(levels(data) - resized(middle, cases.BICUBIC)).max() <= 1.01


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
@pytest.mark.parametrize("packed", [True, False])
def test_digits_of_the_test_part_and_labels(name, packed, tmp_path, monkeypatch):
    written = layouts.write_mnist(tmp_path, (12,))
    if not packed:
        for path in tmp_path.glob("*.gz"):
            path.with_suffix("").write_bytes(layouts.gzip.decompress(path.read_bytes()))
            path.unlink()
    cases.shrink(name, (12,), monkeypatch)
    monkeypatch.setattr("unknot.data.parts.digits.TEST_ROWS", 6)
    for part, rows in (("train", range(12)), ("test", range(5000, 5006))):
        dataset = registry.get("datasets", name)(path=str(tmp_path), part=part)
        assert [read(x)[:4] for x in levels(dataset.load())] == [digits(row) for row in rows]
        labels = [row * 7 % 10 for row in rows]
        assert dataset.labels().tolist() == dataset.load().space.values[:, 0].tolist() == labels
    both = registry.get("datasets", name)(path=str(tmp_path), part="all").load()
    rows = [*range(12), *range(5000, 5006)]
    assert [read(x)[:4] for x in levels(both)] == [digits(row) for row in rows]
    assert rows_in_part(PublishedSplit(), both.space, "train").tolist() == [*range(12)]
    assert rows_in_part(PublishedSplit(), both.space, "test").tolist() == [*range(12, 18)]
    wide = registry.get("datasets", name)(path=str(tmp_path), side=32).load()
    expected = np.pad(written.pictures[:12], ((0, 0), (2, 2), (2, 2), (0, 0)))
    assert np.array_equal(levels(wide).round(), expected)
    large = registry.get("datasets", name)(path=str(tmp_path), side=64).load()
    assert np.array_equal(levels(large).round(), expected.repeat(2, 1).repeat(2, 2))


def test_labelled_digits_are_trained_split_and_scored(tmp_path, monkeypatch):
    """A category sampler and metrics read the classes, and the parts are the authors'."""
    layouts.write_mnist(tmp_path, (120,))
    cases.shrink("mnist", (120,), monkeypatch)
    monkeypatch.setattr("unknot.data.parts.digits.TEST_ROWS", 60)
    data = unknot.dataset("mnist", path=str(tmp_path), part="all")
    triplets = {"name": "triplets", "order": "category", "factor": "digit"}
    run = unknot.train(
        data, "tvae", net="linear", steps=2, split={"kind": "published"}, sampler=triplets
    )
    assert run.rows("test").tolist() == [*range(120, 180)]
    (score,) = run.score("explicitness", part="test")
    assert score.metric == "explicitness"
    assert 0 <= score.values["explicitness"] <= 1


def test_labels_that_are_no_classes_are_refused(tmp_path, monkeypatch):
    layouts.write_mnist(tmp_path, (12,))
    wrong = layouts.idx(np.full(12, 10, np.uint8))
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(layouts.gzip.compress(wrong))
    with pytest.raises(DataError, match="numbers from 0 to 9"):
        load(cases.MNIST, tmp_path, monkeypatch)


@pytest.mark.parametrize("label", ["falcor3d", "isaac3d_folder", "coil20", "coil20_zip"])
def test_pictures_in_their_own_size(label, tmp_path, monkeypatch):
    case = cases.ONCE[label]
    written = write(case, tmp_path / "files")
    data = load(case, written.path, monkeypatch, side=128)
    assert np.array_equal(levels(data).round(), resized(written.pictures, None))


def test_tiny_imagenet_is_its_training_pictures_in_order(tmp_path, monkeypatch):
    case = Case("tiny_imagenet", image_layouts.write_tiny_imagenet, (7,))
    written = write(case, tmp_path / "files")
    data = load(case, written.path, monkeypatch)
    assert np.array_equal(levels(data).round(), written.pictures)


@pytest.mark.parametrize("label", ["shapes3d", "cars3d-disent", "falcor3d", "chairs3d"])
def test_the_folder_of_a_file_will_do(label, tmp_path, monkeypatch):
    case = cases.ONCE[label]
    written = write(case, tmp_path / "files")
    images = shown(load(case, written.path, monkeypatch))
    assert np.array_equal(shown(load(case, written.path.parent, monkeypatch)), images)


def test_sprites_as_the_archive_of_their_repository(tmp_path, monkeypatch):
    (tmp_path / "parts").mkdir()
    folder = image_layouts.write_sprites(tmp_path / "parts")
    top = "Sprites-3ce4048c5227802bd8f1888e293fd3afdba91c0c"
    files = {f"{top}/{p.relative_to(folder)}": p.read_bytes() for p in folder.rglob("*.png")}
    path = image_layouts.zipped(tmp_path / "Sprites.zip", files)
    case = Case("sprites", image_layouts.write_sprites, (2, 1, 2, 1, 3, 3, 8))
    unpacked = shown(load(case, folder, monkeypatch))
    assert np.array_equal(shown(load(case, path, monkeypatch)), unpacked)


# Order that only the pictures or all labels together show


def arms():
    """An arm on which something small hangs: two colours, 32 places, 40 angles."""
    y, x = np.mgrid[:64, :64]
    images = np.full((2, 32, 40, 64, 64, 3), 180, np.uint8)
    for place, angle in np.ndindex(32, 40):
        turn = np.pi * (0.1 + 0.8 * angle / 39)
        along, across = 26 * np.cos(turn), -26 * np.sin(turn)
        left, up = x - 16 - place, y - 60
        share = np.clip((left * along + up * across) / 26**2, 0, 1)
        beam = (left - share * along) ** 2 + (up - share * across) ** 2 < 2.5**2
        thing = (left - along) ** 2 + (up - across) ** 2 < 4**2
        images[:, place, angle, beam] = 60
        images[:, place, angle, thing] = np.array([(255, 255, 255), (200, 40, 40)])[:, None]
    return images.reshape(-1, 64, 64, 3)


def test_a_moving_arm_is_in_order(tmp_path, monkeypatch):
    case = Case("mpi3d", layouts.write_mpi3d, (2, 1, 1, 1, 1, 32, 40), ("real",))
    images = arms()
    np.savez(tmp_path / "mpi3d_real.npz", images=images)
    data = load(case, tmp_path / "mpi3d_real.npz", monkeypatch)
    assert np.array_equal(levels(data).round(), images)


@pytest.mark.parametrize("sizes", [(6, 6, 2, 3, 3, 40, 40), (4, 4, 2, 3, 3, 40, 40)])
@pytest.mark.parametrize("noise", [0, 8])
def test_an_arm_in_the_grid_of_the_real_files_is_in_order(sizes, noise):
    """As drawn for the rows that are compared: all of them would be 12.7 GB."""
    module, rng = loader("mpi3d"), np.random.default_rng(0)
    rows = module._compared_rows(replace(module.SPACE, sizes=sizes))
    colour, *_, place, angle = np.unravel_index(rows, sizes)
    drawn = arms().reshape(2, 32, 40, 64, 64, 3)[colour % 2, place * 32 // 40, angle].astype(float)
    images = (drawn + noise * rng.standard_normal(drawn.shape)).clip(0, 255).astype(np.uint8)
    module._check_order(images, Path("a file"))
    with pytest.raises(DataError, match="damaged"):
        module._check_order(rng.permutation(images), Path("a file"))


def test_images_with_another_checksum_than_the_published_one_are_told(tmp_path, monkeypatch):
    case = Case("mpi3d", layouts.write_mpi3d, cases.MPI3D, ("realistic",))
    written = write(case, tmp_path / "files")
    with zipfile.ZipFile(written.path) as archive:
        sha256 = hashlib.sha256(archive.read("images.npy")).hexdigest()
    with pytest.warns(UserWarning, match=f"have the sha256 {sha256}, not the published 0"):
        load(case, written.path, monkeypatch, checksum="0")
    os.utime(written.path, (2e9, 2e9))
    load(case, written.path, monkeypatch, checksum=sha256)  # without a warning


def test_an_arm_in_disorder_is_refused_and_not_kept(tmp_path, monkeypatch, own_cache):
    case = Case("mpi3d", layouts.write_mpi3d, (2, 1, 1, 1, 1, 32, 40), ("real",))
    images = np.random.default_rng(0).permutation(arms())
    np.savez(tmp_path / "mpi3d_real.npz", images=images)
    with pytest.raises(DataError, match="damaged"):
        load(case, tmp_path / "mpi3d_real.npz", monkeypatch)
    assert [*own_cache.rglob("*.*")] == []


def test_the_other_half_of_smallnorb_under_the_name_of_the_first(tmp_path, monkeypatch):
    written = write(cases.NORB, tmp_path / "files")
    train, test = layouts.HALVES
    for part in ("dat", "cat", "info"):
        end = f"-{part}.mat.gz"
        shutil.copy(written.path / f"{test}{end}", written.path / f"{train}{end}")
    with pytest.raises(DataError):
        load(cases.NORB, written.path, monkeypatch)


def test_two_chairs_exchanged_are_noticed(tmp_path, monkeypatch):
    case = Case("chairs3d", image_layouts.write_chairs3d_folder, (2, 2, 2))
    written = write(case, tmp_path / "files")
    for path in written.path.rglob("*.png"):  # as one who packs and unpacks an archive may have it
        path.write_bytes(path.read_bytes().ljust(20_000, b"\0"))
        os.utime(path, (2e9, 2e9))
    before = shown(load(case, written.path, monkeypatch))
    first, second = sorted(path for path in written.path.iterdir() if path.is_dir())
    first.rename(tmp_path / "aside")
    second.rename(first)
    (tmp_path / "aside").rename(second)
    after = shown(load(case, written.path, monkeypatch))
    assert np.array_equal(after, np.concatenate([before[4:], before[:4]]))
