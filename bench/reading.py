"""What it costs to read JPEG files and an HDF5 file, and the memory that a large array takes.

    python bench/reading.py [--files 10000] [--gigabytes 10] [--folder /tmp/reading_bench]

Speed: decoding a folder once into the cache and taking all images from the memory map, beside a
plain PyTorch `DataLoader` that decodes, crops and resizes the same files with Pillow, with as many
workers as there are cores. Both give float batches of 64 x 64 x 3. They take turns, so that a busy
machine slows both; CPU seconds of all processes do not count what else the machine does. Files are
in the cache of the system. PyTorch computes with one thread, as in the workers of a `DataLoader`.

HDF5: a file in the layout of 3D Shapes, with look-alikes of its images, into the cache, beside its
chunks unpacked with h5py and written to a file as they come, and beside a plain copy of the bytes.
All wait until the disk has them.

Memory: a training of a few steps on an npy file that is sparse on the disk, in a process of its
own, beside the same training on a small file. Counted is the largest amount of memory of the
process's own (RssAnon), without pages of the file, which the system takes back when it needs them.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import torch
from PIL import Image, ImageOps
from torch.utils.data import DataLoader, Dataset

import unknot
from unknot.core.factors import FactorSpace
from unknot.data.scene3d import Scene3D
from unknot.data.shapes3d import Shapes3D

SIZES = ((218, 178), (480, 640))
"""Height and width of the pictures: those of CelebA, and small photographs."""
SIDE, BATCH = 64, 64
SIZES_HDF5 = (10, 10, 10, 4, 4, 1)
"""Of the grid in the HDF5 file."""
CORES = os.cpu_count() or 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=("files", "hdf5", "memory"))
    parser.add_argument("--train", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        print(json.dumps(train_and_watch(options.train)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as text:
        folder = Path(text)
        os.environ["UNKNOT_CACHE"] = str(folder / "cache")
        print(f"torch {torch.__version__}, {CORES} cores")
        if options.only in (None, "files"):
            for size in SIZES:
                measure_speed(folder / f"{size[0]}", size, options.files, options.rounds)
        if options.only in (None, "hdf5"):
            measure_hdf5(folder, options.rounds)
        if options.only in (None, "memory"):
            measure_memory(folder, options.gigabytes)


class Pictures(Dataset[torch.Tensor]):
    """What one would write: decode, crop and resize each time."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*.jpg"))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, row: int) -> torch.Tensor:
        with Image.open(self.files[row]) as picture:
            small = ImageOps.fit(picture.convert("RGB"), (SIDE, SIDE), Image.Resampling.BILINEAR)
        return torch.from_numpy(np.array(small)).permute(2, 0, 1).float() / 255


def measure_speed(folder: Path, size: tuple[int, int], files: int, rounds: int) -> None:
    write_photos(folder, size, files)
    torch.set_num_threads(1)
    ways = {
        f"DataLoader, {CORES} workers, an epoch": lambda: load_all(folder),
        "unknot, first time: decode, write, an epoch": lambda: take_all(folder, fresh=True),
        "unknot, from then on: an epoch": lambda: take_all(folder),
    }
    print(f"{files} JPEG files of {size[0]} x {size[1]}, medians of {rounds} rounds:")
    compare(ways, rounds)


def compare(ways: dict[str, Callable[[], None]], rounds: int) -> None:
    """Print the times of ways that take turns, and how much faster than the first each is."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, work in ways.items():
            times[name].append(timed(work))
    first = next(iter(times.values()))
    for name, seconds in times.items():
        wall, cpu = (statistics.median(values) for values in zip(*seconds, strict=True))
        faster = [
            statistics.median(
                slow[i] / quick[i] for slow, quick in zip(first, seconds, strict=True)
            )
            for i in (0, 1)
        ]
        print(
            f"  {name}: {wall:.2f} s, {cpu:.2f} CPU s; {faster[0]:.2f} x as fast as the first, "
            f"{faster[1]:.2f} x by CPU time"
        )


def measure_hdf5(folder: Path, rounds: int) -> None:
    file = folder / "3dshapes.h5"
    space = replace(Shapes3D.published.space, sizes=SIZES_HDF5)
    Shapes3D.published = replace(Shapes3D.published, space=space)
    write_hdf5(file, space)
    ways = {
        "h5py alone: unpack chunks, write them": lambda: copy_chunks(file, folder / "plain.bin"),
        "unknot: HDF5 to the cache": lambda: fill_cache(file),
        "a copy of the unpacked bytes": lambda: copy_bytes(folder),
    }
    size = space.size * 3 * SIDE * SIDE
    print(
        f"{space.size:,} images, {size / 1e6:.0f} MB in an HDF5 file of "
        f"{file.stat().st_size / 1e6:.0f} MB, medians of {rounds} rounds:"
    )
    compare(ways, rounds)


def write_hdf5(file: Path, space: FactorSpace) -> None:
    """Images of the look-alike, in chunks under gzip, and the values of their factors."""
    scene = Scene3D().load()
    factors = space.factors(torch.arange(space.size))
    with h5py.File(file, "w") as data:
        shape = (space.size, SIDE, SIDE, 3)
        images = data.create_dataset("images", shape, "u1", chunks=(512, *shape[1:]), compression=4)
        for rows in torch.arange(space.size).split(512):
            x = scene.batch(scene.space.index(factors[rows]))
            images[rows[0] : rows[-1] + 1] = (255 * x).round().byte().permute(0, 2, 3, 1).numpy()
        data["labels"] = factors.double().numpy()


def fill_cache(file: Path) -> None:
    shutil.rmtree(os.environ["UNKNOT_CACHE"], ignore_errors=True)
    Shapes3D(str(file)).load()


def copy_chunks(file: Path, path: Path) -> None:
    with h5py.File(file) as data, path.open("wb") as out:
        images = data["images"]
        for start in range(0, len(images), images.chunks[0]):
            rows = images[start : start + images.chunks[0]].transpose(0, 3, 1, 2)
            out.write(np.ascontiguousarray(rows).data)
        out.flush()
        os.fsync(out.fileno())


def copy_bytes(folder: Path) -> None:
    with (folder / "plain.bin").open("rb") as source, (folder / "copy.bin").open("wb") as out:
        shutil.copyfileobj(source, out, 1 << 20)
        out.flush()
        os.fsync(out.fileno())


def load_all(folder: Path) -> None:
    for _ in DataLoader(Pictures(folder), batch_size=BATCH, num_workers=CORES):
        pass


def take_all(folder: Path, *, fresh: bool = False) -> None:
    if fresh:
        shutil.rmtree(os.environ["UNKNOT_CACHE"], ignore_errors=True)
    data = unknot.dataset(folder, size=SIDE)
    for rows in torch.randperm(len(data)).split(BATCH):
        data.batch(rows)


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds by the clock, and CPU seconds of this process and those that it started."""
    start, before = time.perf_counter(), cpu_seconds()
    work()
    return time.perf_counter() - start, cpu_seconds() - before


def cpu_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def write_photos(folder: Path, size: tuple[int, int], files: int) -> None:
    """Smooth pictures with some noise: about as many bytes as photographs have."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    h, w = size
    for i in range(files):
        coarse = Image.fromarray(rng.integers(0, 256, (9, 7, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((w, h), Image.Resampling.BICUBIC), np.int16)
        grain = rng.integers(-12, 13, (h, w, 1), dtype=np.int16)
        image = (smooth + grain).clip(0, 255).astype(np.uint8)
        Image.fromarray(image).save(folder / f"{i:06}.jpg", quality=90)


def measure_memory(folder: Path, gigabytes: float) -> None:
    peaks = {}
    for name, size in (("small", 0.01), ("large", gigabytes)):
        count = int(size * 1e9 / (3 * SIDE * SIDE))
        file = folder / f"{name}.npy"
        # Sparse: what is never written takes no room on the disk and reads as zeros.
        np.lib.format.open_memmap(file, "w+", np.uint8, (count, SIDE, SIDE, 3)).flush()
        command = [sys.executable, __file__, "--train", str(file)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        peaks[name] = json.loads(text)
        print(f"  {size:g} GB in {count:,} images: {peaks[name]}")
    more = peaks["large"]["own"] - peaks["small"]["own"]
    print(f"A set of {gigabytes:g} GB takes {more:.0f} MB more of its own than a small one.")


def train_and_watch(file: str) -> dict[str, float]:
    """Largest memory in MB while a model trains: of the process's own, and pages of files."""
    peaks = {"own": 0.0, "files": 0.0}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            fields = dict(
                line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines()
            )
            for name, field in (("own", "RssAnon"), ("files", "RssFile")):
                peaks[name] = max(peaks[name], int(fields[field].split()[0]) / 1e3)

    thread = threading.Thread(target=watch)
    thread.start()
    unknot.train(file, net="conv64", steps=50, device="cpu")
    done.set()
    thread.join()
    return {name: round(peak) for name, peak in peaks.items()}


if __name__ == "__main__":
    main()
