"""The user's own pictures and arrays: what is read, what is kept, and what is refused."""

import io
import json
import os
import resource
import shutil

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

import unknot
from unknot.core.errors import ConfigError, DataError, ShapeError, WriteError
from unknot.data.images import Images
from unknot.data.parts import picture_files
from unknot.data.parts.images import Streamed

RNG = np.random.default_rng(0)
COLOR = RNG.integers(0, 256, (6, 10, 12, 3), dtype=np.uint8)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path):
    """Six pictures in two subfolders, and what must not be read."""
    path = tmp_path / "photos"
    for i, image in enumerate(COLOR):
        file = path / f"person {i // 3}" / f"{i}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(file)
    (path / "person 0" / "._0.png").write_bytes(b"a Mac's own")
    (path / ".thumbnails").mkdir()
    (path / ".thumbnails" / "x.png").write_bytes(b"")
    (path / "notes.txt").write_text("no picture")
    return path


def stored(path, **settings):
    images = Images(str(path), **settings).load().images
    return np.asarray(images.stored)


def save(path, name, picture, **options):
    path.mkdir(exist_ok=True)
    picture.save(path / name, **options)
    return path


def test_pictures_come_in_the_order_of_their_paths_and_keep_their_pixels(folder):
    settings = {"size": (10, 12)}
    assert np.array_equal(stored(folder, **settings), COLOR.transpose(0, 3, 1, 2))
    data = Images(str(folder), **settings).load()
    assert data.space.stands_in
    assert data.summary == "6 images, 10 x 12 x 3"
    assert np.array_equal(stored(folder, limit=2, **settings), COLOR[:2].transpose(0, 3, 1, 2))


def test_sizes_are_decided_by_the_pictures(folder, tmp_path):
    data = Images(str(folder)).load()
    assert data.shape == (3, 64, 64)
    assert data.summary == "6 images, 64 x 64 x 3, from 10 x 12, centre crop"
    square = save(tmp_path / "square", "a.png", Image.new("L", (28, 28)))
    assert Images(str(square)).load().shape == (1, 28, 28)
    save(square, "b.png", Image.new("RGB", (30, 28)))
    assert Images(str(square)).load().summary == (
        "2 images, 64 x 64 x 3, from 2 different sizes, centre crop"
    )


def test_crops_keep_the_middle_pad_with_black_or_squeeze(tmp_path):
    wide = RNG.integers(1, 256, (10, 30), dtype=np.uint8)
    path = save(tmp_path / "wide", "a.png", Image.fromarray(wide))
    assert np.array_equal(stored(path, size=10)[0, 0], wide[:, 10:20])
    padded = stored(path, size=30, crop="pad")[0, 0]
    assert np.array_equal(padded[10:20], wide)
    assert not padded[:10].any()
    assert not padded[20:].any()
    gray = save(tmp_path / "gray", "a.png", Image.new("L", (30, 10), 77))
    assert (stored(gray, size=8, crop="squeeze") == 77).all()
    assert np.array_equal(stored(path, crop="none")[0, 0], wide)


def test_transparency_is_white_palettes_are_colours_and_cameras_are_held_upright(tmp_path):
    clear = save(tmp_path / "clear", "a.png", Image.new("RGBA", (8, 8), (200, 0, 0, 0)))
    assert (stored(clear) == 255).all()
    assert "transparent parts on white" in Images(str(clear)).load().summary
    flat = Image.new("P", (8, 8), 1)
    flat.putpalette([0, 0, 0, 10, 20, 30])
    assert stored(save(tmp_path / "flat", "a.png", flat))[0, :, 0, 0].tolist() == [10, 20, 30]
    tags = Image.Exif()
    tags[0x0112] = 6  # the first row of the file is the right side of the scene
    scene = RNG.integers(0, 256, (8, 16), dtype=np.uint8)
    turned = save(tmp_path / "turned", "a.png", Image.fromarray(scene), exif=tags)
    assert np.array_equal(stored(turned, crop="none")[0, 0], np.rot90(scene, -1))


@pytest.mark.parametrize("ending", ["png", "jpg", "webp", "bmp", "tif"])
def test_all_formats_are_read(tmp_path, ending):
    path = save(tmp_path / "any", f"a.{ending.upper()}", Image.new("RGB", (8, 8), (50, 100, 150)))
    assert abs(stored(path)[0, :, 4, 4].astype(int) - [50, 100, 150]).max() <= 2


def test_deep_pictures_keep_their_values_and_are_scaled_by_percentiles(tmp_path):
    deep = RNG.integers(100, 60_000, (5, 16, 16), dtype=np.uint16)
    for i, image in enumerate(deep):
        path = save(tmp_path / "micro", f"{i}.{'png' if i % 2 else 'tif'}", Image.fromarray(image))
    data = Images(str(path)).load()
    assert np.array_equal(np.asarray(data.images.stored)[:, 0], deep)
    low, high = np.percentile(deep, (0.1, 99.9))
    expected = ((deep - low) / (high - low)).clip(0, 1)
    assert np.allclose(data.batch(torch.arange(5))[:, 0], expected, atol=1e-6)
    assert "uint16 scaled to 0 .. 1 from its percentiles 0.1 and 99.9" in data.summary
    save(path, "shallow.png", Image.new("L", (16, 16)))
    with pytest.raises(DataError, match="8 bits and of more"):
        Images(str(path)).load()


def test_pages_of_a_tiff_are_channels_and_floats_in_the_unit_interval_stay(tmp_path):
    pages = RNG.random((5, 9, 8), dtype=np.float32)
    first, *others = [Image.fromarray(page) for page in pages]
    path = save(tmp_path / "pages", "a.tif", first, save_all=True, append_images=others)
    data = Images(str(path), crop="none").load()
    assert np.array_equal(data[0], pages)
    assert data.summary == "1 image, 9 x 8 x 5"


def test_colour_of_sixteen_bits_is_read_as_eight_and_said(tmp_path):
    import zlib

    def block(kind, data):
        body = kind + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    head = (8).to_bytes(4, "big") * 2 + bytes([16, 2, 0, 0, 0])
    rows = zlib.compress((b"\0" + b"\xab\xcd" * 24) * 8)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + block(b"IHDR", head) + block(b"IDAT", rows) + block(b"IEND", b"")
    )
    assert "1 of 16-bit colour read as 8 bits" in Images(str(tmp_path / "deep")).load().summary


def test_pictures_are_decoded_once_and_again_when_a_file_changes(folder, monkeypatch):
    first = Images(str(folder), size=8).pin()
    decode = picture_files.decode
    monkeypatch.setattr(picture_files, "decode", None)
    assert Images(str(folder), size=8).pin() == first
    assert first.pin() == first
    first.load()
    monkeypatch.setattr(picture_files, "decode", decode)
    Image.new("RGB", (12, 10)).save(folder / "person 0" / "1.png")
    assert Images(str(folder), size=8).pin().content != first.content
    with pytest.raises(DataError, match="no longer those of the run"):
        first.load()


def test_content_does_not_depend_on_where_the_files_lie(folder, tmp_path):
    here = Images(str(folder)).pin()
    shutil.move(folder, tmp_path / "elsewhere")
    there = Images(str(tmp_path / "elsewhere")).pin()
    assert here.content == there.content
    assert there.load().name == "elsewhere"


@pytest.mark.parametrize("cut", [20, 200])
def test_a_broken_picture_is_named_or_left_out(folder, cut):
    file = folder / "person 1" / "4.png"
    file.write_bytes(file.read_bytes()[:cut])
    for _ in range(2):  # fresh and from the cache
        with pytest.raises(DataError, match=r"'person 1/4\.png' in .*--skip-broken"):
            Images(str(folder), size=(10, 12)).load()
        data = Images(str(folder), size=(10, 12), skip_broken=True).load()
        kept = COLOR[[0, 1, 2, 3, 5]].transpose(0, 3, 1, 2)
        assert np.array_equal(np.asarray(data.images.stored), kept)
        assert data.summary.endswith("1 broken file left out")


def test_nothing_half_written_is_left_by_an_interrupt_or_a_full_disk(folder, cache):
    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Images(str(folder)).pin(interrupt)
    entries = lambda: [p for p in (cache / "images").iterdir() if not p.name.endswith(".json")]  # noqa: E731
    assert entries() == []
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(WriteError, match=r"need 0 MB in the cache folder .* UNKNOT_CACHE"):
            Images(str(folder)).load()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert entries() == []
    assert Images(str(folder)).load().shape == (3, 64, 64)


def test_an_altered_cache_entry_is_made_again(folder, cache):
    expected = stored(folder).copy()
    (pixels,) = cache.glob("images/*/pixels.bin")
    os.truncate(pixels, 100)
    assert np.array_equal(stored(folder), expected)


@pytest.fixture
def write(tmp_path):
    """Writes images to a file of a kind."""

    def write(kind, images):
        path = tmp_path / f"mine.{kind}"
        if kind == "npy":
            np.save(path, images)
        elif kind == "npz":
            np.savez(path, images=images)
        elif kind == "h5":
            h5py = pytest.importorskip("h5py")
            with h5py.File(path, "w") as file:
                file.create_dataset("set/pictures", data=images, chunks=True, compression="gzip")
        else:
            arrow = pytest.importorskip("pyarrow")
            parquet = pytest.importorskip("pyarrow.parquet")
            rows = []
            for image in images:
                buffer = io.BytesIO()
                Image.fromarray(image).save(buffer, "PNG")
                rows.append({"bytes": buffer.getvalue(), "path": "x.png"})
            parquet.write_table(arrow.table({"image": rows, "label": [1] * len(rows)}), path)
        return path

    return write


@pytest.mark.parametrize("kind", ["npy", "npz", "h5", "parquet"])
def test_files_of_arrays_give_the_same_images_as_a_folder(folder, write, kind):
    path = write(kind, COLOR)
    same = stored(folder, size=(10, 12))
    assert np.array_equal(stored(path, size=(10, 12)), same)
    assert np.array_equal(stored(path, size=(10, 12), limit=4), same[:4])
    pinned = Images(str(path), size=(10, 12)).pin()
    assert pinned == Images(str(path), size=(10, 12)).pin()
    assert pinned.shape == (3, 10, 12)
    small = Images(str(path), size=5, channels=1).load()
    assert small.shape == (1, 5, 5)
    whole = torch.arange(6)
    data = pinned.load()
    assert torch.equal(data.batch(whole), torch.from_numpy(same) / torch.tensor(255.0))


def test_an_npy_file_is_mapped_and_not_read(write):
    path = write("npy", COLOR)
    stored = Images(str(path)).load().images.stored
    with path.open("rb+") as file:  # a map sees what becomes of its file
        file.seek(-1, os.SEEK_END)
        file.write(bytes([255 - COLOR[-1, -1, -1, -1]]))
    assert stored[-1, -1, -1, -1] == 255 - COLOR[-1, -1, -1, -1]


def test_floats_and_deep_arrays_keep_their_type(write):
    unit = RNG.random((4, 8, 9), dtype=np.float32)
    assert np.array_equal(Images(str(write("npy", unit))).load()[2][0], unit[2])
    wide = unit * 50 - 7
    data = Images(str(write("npy", wide))).load()
    assert np.array_equal(np.asarray(data.images.stored)[:, 0], wide)
    assert 0 <= data[0].min() <= data[0].max() <= 1
    assert "float32 scaled" in data.summary
    many = RNG.integers(0, 4000, (4, 8, 9, 5), dtype=np.uint16)
    assert Images(str(write("npy", many))).load().shape == (5, 8, 9)
    double = unit.astype(np.float64)
    assert np.array_equal(
        np.asarray(Images(str(write("npy", double))).load().images.stored)[:, 0], unit
    )
    masks = unit > 0.5
    assert np.array_equal(stored(write("npy", masks))[:, 0], masks * 255)


def test_standardised_images_have_mean_zero_and_deviation_one(write):
    data = Images(str(write("npy", COLOR)), standardize=True).load()
    x = data.batch(torch.arange(6)).transpose(0, 1).flatten(1)
    assert torch.allclose(x.mean(1), torch.zeros(3), atol=1e-5)
    assert torch.allclose(x.std(1, unbiased=False), torch.ones(3), atol=1e-5)


def test_factors_of_an_npz_file_come_along(tmp_path):
    grid = np.array([(a, b) for a in range(3) for b in range(2)])[::-1]
    np.savez(tmp_path / "own.npz", images=COLOR, factors=grid, names=["a", "b"])
    data = Images(str(tmp_path / "own.npz")).load()
    assert (data.space.names, data.space.sizes) == (("a", "b"), (3, 2))
    assert np.array_equal(np.asarray(data.images.stored), COLOR[::-1].transpose(0, 3, 1, 2))


class Trap:
    """Says so if anybody unpickles it."""

    def __reduce__(self):
        return print, ("unpickled",)


def test_what_is_refused(tmp_path, write, capsys):
    def refused(message, path, error=DataError, **settings):
        with pytest.raises(error, match=message) as caught:
            Images(str(path), **settings).load()
        assert "\n" not in str(caught.value)

    (tmp_path / "empty").mkdir()
    refused("has no pictures", tmp_path / "empty")
    (tmp_path / "empty" / "a.txt").write_text("")
    refused("has no pictures", tmp_path / "empty")
    (tmp_path / "empty" / "a.png").write_bytes(b"")
    refused("All 1 pictures .* are broken", tmp_path / "empty", skip_broken=True)
    refused("no file or folder", tmp_path / "nothing")
    mixed = save(tmp_path / "mixed", "a.png", Image.new("L", (8, 9)))
    save(mixed, "b.png", Image.new("L", (9, 9)))
    refused("2 sizes, such as 9 x 8 and 9 x 9; with crop=none", mixed, crop="none")
    refused(
        "crop=none keeps that",
        save(tmp_path / "one", "a.png", Image.new("L", (8, 9))),
        crop="none",
        size=4,
    )
    refused("channels must be 1 or 3", mixed, ConfigError, channels=2)
    refused("size is a side", mixed, ConfigError, size=(1, 2, 3))
    refused("limit must be 1", mixed, ConfigError, limit=0)

    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "trap.npy", trap)
    refused("no objects", tmp_path / "trap.npy")
    np.savez(tmp_path / "trap.npz", images=trap)
    refused("no objects", tmp_path / "trap.npz")
    assert "unpickled" not in capsys.readouterr().out
    np.savez(tmp_path / "two.npz", a=COLOR, b=COLOR)
    refused("several arrays and none called 'images'; it holds a, b", tmp_path / "two.npz")
    assert stored(f"{tmp_path / 'two.npz'}::b").shape == (6, 3, 10, 12)
    refused("no array 'c'", f"{tmp_path / 'two.npz'}::c")
    refused("no array 'images'", f"{write('h5', COLOR)}::images")
    (tmp_path / "bad.h5").write_bytes(b"nothing")
    refused("is not an HDF5 file or is damaged", tmp_path / "bad.h5")
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    refused("damaged or no Parquet file", tmp_path / "bad.parquet")
    refused("NaN", write("npy", np.full((2, 8, 8), np.nan)))
    refused("Expected images", write("npy", np.zeros((2, 8))), ShapeError)
    refused("holds <U1", write("npy", np.full((2, 8, 8), "x")))


def test_a_large_jpeg_is_decoded_at_a_coarser_scale_and_looks_the_same(tmp_path):
    photo = Image.radial_gradient("L").resize((1200, 900), Image.Resampling.BICUBIC)
    photo = Image.merge("RGB", (photo, ImageOps.invert(photo), ImageOps.solarize(photo)))
    path = save(tmp_path / "large", "a.jpg", photo, quality=95)
    with Image.open(path / "a.jpg") as full:
        middle = full.convert("RGB").crop((150, 0, 1050, 900))
        expected = np.asarray(middle.resize((64, 64), Image.Resampling.BILINEAR))
    error = stored(path)[0].transpose(1, 2, 0).astype(int) - expected
    assert abs(error).max() <= 4
    assert abs(error).mean() < 0.7


def test_images_without_room_on_a_gpu_are_streamed_with_the_same_bits(monkeypatch):
    rows = torch.tensor([[3, 0], [5, 5]])
    for array in (COLOR, COLOR.astype(np.uint16) * 200):
        images = unknot.dataset(array).images
        streamed = Streamed(images, torch.device("cpu"))
        assert torch.equal(streamed.pixels(rows), images.pixels(rows))
        assert len(streamed) == 6
        for free, kind in ((images.stored.nbytes, Streamed), (0, Streamed)):
            monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _, free=free: (free, 10**12))
            assert isinstance(images.to(torch.device("cuda")), kind)
        assert isinstance(streamed.to(torch.device("cpu")), type(images))


def test_classes_of_a_parquet_file_of_the_hub_have_their_names(write, tmp_path):
    """`datasets` writes them into the schema; -1 is a class that is not known."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(write("parquet", COLOR)).drop_columns(["label"])
    table = table.append_column("animal", arrow.array([0, 1, 2, 0, -1, None]))
    described = {"info": {"features": {"animal": {"_type": "ClassLabel", "names": [*"ABC"]}}}}

    def load(description):
        path = tmp_path / "hub.parquet"
        parquet.write_table(table.replace_schema_metadata({"huggingface": description}), path)
        return unknot.dataset(path, labels="animal").space

    space = load(json.dumps(described))
    assert (space.levels, space.kinds) == ((("A", "B", "C"),), ("nominal",))
    assert space.values[:, 0].tolist() == [0, 1, 2, 0, -1, -1]
    described["info"]["features"]["animal"]["names"] = ["A", "B"]  # of three classes
    for other in (json.dumps(described), "[]", "{", '{"info": {"features": {"animal": 3}}}'):
        assert load(other).levels == ((-1, 0, 1, 2),)
