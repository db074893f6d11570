"""Files that rows of bad inputs name and that are no text."""

import os
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image


def write_bytes(folder: Path) -> None:
    """Files that are damaged, no files at all, or in the way."""
    (folder / "latin.toml").write_bytes(b"name = '\xff'")
    (folder / "latin.csv").write_bytes(b"objective\n\xff\n")
    (folder / "empty.npz").write_bytes(b"")
    (folder / "text.npz").write_text("no archive")
    (folder / "empty.npy").write_bytes(b"")
    (folder / "plain.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (folder / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "kernel.safetensors").write_bytes(b"\xff" * 64)
    (folder / "file").write_text("in the way")
    (folder / "taken").mkdir()
    (folder / "taken" / "notes.txt").write_text("mine")
    (folder / "nothing").mkdir()
    for name, sides in {"pics": (16, 16, 16, 16), "mixed": (8, 12), "broken": (8, 8)}.items():
        (folder / name).mkdir()
        for number, side in enumerate(sides):
            Image.fromarray(np.full((side, side), 9, np.uint8)).save(
                folder / name / f"{number}.png"
            )
    (folder / "broken" / "1.png").write_bytes((folder / "broken" / "0.png").read_bytes()[:40])
    if hasattr(os, "mkfifo"):
        for name in ("pipe", "pipe.toml", "pipe.csv", "pipe.npz", "pipe.npy", "pipe.safetensors"):
            os.mkfifo(folder / name)


def write_arrays(folder: Path) -> None:
    """Archives of arrays that something is wrong with, and one that is fine."""
    rng = np.random.default_rng(0)
    codes, factors = rng.normal(size=(64, 3)), rng.integers(0, 4, (64, 2))
    images = rng.integers(0, 255, (64, 8, 8), np.uint8)
    arrays: dict[str, dict[str, object]] = {
        "no_codes": {"factors": factors},
        "no_factors": {"codes": codes},
        "objects": {"codes": np.array([None]), "factors": factors},
        "complex": {"codes": codes + 1j, "factors": factors},
        "words": {"codes": np.array(["a", "b"]), "factors": factors},
        "lengths": {"codes": codes[:9], "factors": factors},
        "nan": {"codes": codes * np.nan, "factors": factors},
        "one_row": {"codes": codes[:1], "factors": factors[:1]},
        "no_rows": {"codes": codes[:0], "factors": factors[:0]},
        "flat": {"codes": codes[:, 0], "factors": factors},
        "scalar": {"codes": np.float64(3), "factors": factors},
        "parts": {"codes": codes, "factors": factors + 0.5},
        "test_half": {"codes": codes, "factors": factors, "codes_test": codes},
        "models": {"codes": codes[None], "factors": factors},
        "records": {"codes": np.zeros(3, "f8,i4"), "factors": factors},
        "dates": {"codes": codes.astype("datetime64[s]"), "factors": factors},
        "images_words": {"images": np.array(["a"])},
        "images_objects": {"images": np.array([None])},
        "images_flat": {"images": images[0, 0]},
        "images_none": {"images": images[:0]},
        "images_complex": {"images": images + 1j},
        "many_labels": {"images": np.zeros((100_001, 1, 1), np.uint8), "name": np.arange(100_001).astype(str)},
        "images_range": {"images": images * 3.0},
        "images_nan": {"images": images * np.nan},
        "factors_short": {"images": images, "factors": factors[:9]},
        "factors_words": {"images": images, "factors": factors.astype(str)},
        "names_line": {"images": images[:16].copy(), "factors": np.stack(np.divmod(np.arange(16), 4), 1), "names": np.array(["a\nb", "c"])},
        "names_twice": {"images": images[:16].copy(), "factors": np.stack(np.divmod(np.arange(16), 4), 1), "names": np.array(["a", "a"])},
        "names_long": {"images": images[:16].copy(), "factors": np.stack(np.divmod(np.arange(16), 4), 1), "names": np.array(["a" * 300, "b"])},
        "grid": {"images": images[:16].copy(), "factors": np.stack(np.divmod(np.arange(16), 4), 1)},
        "names_few": {"images": images[:16].copy(), "factors": np.stack(np.divmod(np.arange(16), 4), 1), "names": np.array(["a"])},
    }  # fmt: skip
    for name, content in arrays.items():
        np.savez(folder / f"{name}.npz", **content)  # type: ignore[arg-type]
    np.savez(folder / "locked.npz", codes=codes, factors=factors, images=images)
    _encrypt(folder / "locked.npz")


def _encrypt(path: Path) -> None:
    """Set the flags of a zip file that say that its entries are encrypted."""
    with zipfile.ZipFile(path) as archive:
        offsets = [entry.header_offset + 6 for entry in archive.infolist()]
    data = bytearray(path.read_bytes())
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        offsets.append(place + 8)
        place = data.find(b"PK\x01\x02", place + 1)
    for offset in offsets:
        data[offset] |= 1
    path.write_bytes(data)
