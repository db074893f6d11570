"""smallNORB from its original files."""

import gzip
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from jaxtyping import Int64, UInt8

from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset, Images
from unknot.core.errors import ConfigError, DataError
from unknot.core.factors import FactorSpace, Kind
from unknot.core.files import os_reason
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import shrink_gray
from unknot.data.parts.download import Source
from unknot.data.parts.grids import grid_order
from unknot.data.parts.mapped import map_images
from unknot.data.parts.published import Published, locate
from unknot.data.parts.variants import StoredVariants

NAMES = ("category", "instance", "elevation", "azimuth", "lighting")
SIZES = (5, 10, 9, 18, 6)
KINDS: tuple[Kind, ...] = ("nominal", "nominal", "ordered", "cyclic", "nominal")
INSTANCE, AZIMUTH = 1, 3
"""Which of the factors these are."""
INSTANCES = {"train": (4, 6, 7, 8, 9), "test": (0, 1, 2, 3, 5)}
"""Of each half."""
FULL, SIDE = 96, 64
"""Of images in the files and of ours."""
# Michlo 2022, table A.2: of the training half, resized as disent does.
MEAN, STD = (0.752091840108860,), (0.095638790168273,)
BYTES, INTEGERS = 0x1E3D4C55, 0x1E3D4C54
"""What the first four bytes of a file say of its values."""
HOSTS = (
    "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/",
    "https://cs.nyu.edu/~yann/data/norb-v1.0-small/",
)
Variant: TypeAlias = Literal["disentanglement_lib", "disent"]
Half: TypeAlias = Literal["both", "train", "test"]
Resize: TypeAlias = Literal["lanczos", "bilinear"]
VARIANTS: dict[Variant, tuple[Half, Resize]] = {
    "disentanglement_lib": ("both", "lanczos"),
    "disent": ("train", "bilinear"),
}


def _source(file: str, size: int, sha256: str) -> Source:
    return Source(file, tuple(host + file for host in HOSTS), size=size, sha256=sha256)


FILES: dict[str, tuple[Source, Source, Source]] = {
    "train": (
        _source(
            "smallnorb-5x46789x9x18x6x2x96x96-training-dat.mat.gz",
            131_896_188,
            "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
        ),
        _source(
            "smallnorb-5x46789x9x18x6x2x96x96-training-cat.mat.gz",
            348,
            "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa",
        ),
        _source(
            "smallnorb-5x46789x9x18x6x2x96x96-training-info.mat.gz",
            71_052,
            "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32",
        ),
    ),
    "test": (
        _source(
            "smallnorb-5x01235x9x18x6x2x96x96-testing-dat.mat.gz",
            130_799_817,
            "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474",
        ),
        _source(
            "smallnorb-5x01235x9x18x6x2x96x96-testing-cat.mat.gz",
            347,
            "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff",
        ),
        _source(
            "smallnorb-5x01235x9x18x6x2x96x96-testing-info.mat.gz",
            10_428,
            "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2",
        ),
    ),
}


@dataclass(frozen=True)
class SmallNORB:
    """smallNORB: toys in five categories, 64 x 64 in gray, left camera (download: 263 MB).

    As in ``disentanglement_lib`` (Locatello et al. 2019) there are both halves, and which toy of a
    category it is, the instance, is no factor but sampled again whenever training uses a row. As in
    ``disent`` (Michlo 2022) there is the training half, and its five instances are a factor.

    Paper: LeCun et al. 2004, "Learning methods for generic object recognition with invariance to
    pose and lighting".
    Differs: disentanglement_lib samples the instance again for scores too. Here scores, codes and
    pictures take the first. Its images can exceed 0 and 1 a little where LANCZOS overshoots; here
    they are cut and rounded to 8 bits.

    Args:
        path: A folder with the six files, packed (``.mat.gz``) or not; where `unknot data get` put
            them unless set.
        variant: ``disentanglement_lib`` or ``disent``.
        half: ``both``, ``train`` (instances 4, 6, 7, 8 and 9) or ``test`` (the others), if another
            than the variant's.
        resize: From 96 x 96 by ``lanczos`` (disentanglement_lib) or ``bilinear`` (disent), if
            another than the variant's.
        standardize: Subtract the mean and divide by the deviation of Michlo 2022, table A.2, which
            are those of ``disent``.
    """

    path: Place = None
    variant: Variant = "disentanglement_lib"
    half: Half | None = None
    resize: Resize | None = None
    standardize: bool = False

    published: ClassVar[Published] = Published(
        "smallnorb",
        (*FILES["train"], *FILES["test"]),
        "research only",
        48_600,
        (1, SIDE, SIDE),
        FactorSpace(NAMES, SIZES, KINDS),
        resize="from 96 x 96, by LANCZOS or bilinear",
    )

    def __post_init__(self) -> None:
        check_choices(self, "variant")
        if self.half not in (None, *get_args(Half)):
            raise ConfigError(f"SmallNORB.half must be both, train or test; got {self.half!r}.")
        if self.resize not in (None, *get_args(Resize)):
            raise ConfigError(f"SmallNORB.resize must be lanczos or bilinear; got {self.resize!r}.")

    def sources(self) -> tuple[Source, ...]:
        """Images, categories and other labels of one half or both."""
        half, _ = self._settled()
        return self.published.files if half == "both" else FILES[half]

    def _settled(self) -> tuple[Half, Resize]:
        """Half and filter, those of the variant unless they are set."""
        half, resize = VARIANTS[self.variant]
        return self.half or half, self.resize or resize

    def load(self) -> FactorDataset:
        """All images, as a memory map.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        files = locate(self)
        half, resize = self._settled()
        nuisance = self.variant == "disentanglement_lib"
        sizes = list(SIZES)
        sizes[INSTANCE] //= 1 if half == "both" else 2
        space = FactorSpace(NAMES, tuple(sizes), KINDS)
        stored = map_images(
            "smallnorb",
            files,
            {"nuisance": nuisance, "resize": resize},
            (space.size, 1, SIDE, SIDE),
            lambda: _chunks(files, half, space, nuisance, resize),
        )
        images: Images = stored
        if nuisance:
            images = StoredVariants(stored, sizes[INSTANCE])
            space = FactorSpace(*(_without_instance(x) for x in (NAMES, SIZES, KINDS)))
        mean, std = (MEAN, STD) if self.standardize else ((), ())
        return FactorDataset("smallnorb", space, images, mean, std)


def _without_instance(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return values[:INSTANCE] + values[INSTANCE + 1 :]


def _chunks(
    files: list[Path], half: Half, space: FactorSpace, nuisance: bool, resize: Resize
) -> Iterator[UInt8[np.ndarray, "rows 1 h w"]]:
    """Images in the order of the grid; with the instance slowest where it is no factor."""
    names = [*FILES] if half == "both" else [half]
    triples = [files[start : start + 3] for start in range(0, len(files), 3)]
    n = space.size // len(names)
    images = np.concatenate([_read(dat, BYTES, (n, 2, FULL, FULL))[:, 0] for dat, _, _ in triples])
    pairs = zip(triples, names, strict=True)
    tables = [_labels(cat, info, n, INSTANCES[name]) for (_, cat, info), name in pairs]
    table = np.concatenate(tables)
    instances = sorted(i for name in names for i in INSTANCES[name])
    table[:, INSTANCE] = np.searchsorted(instances, table[:, INSTANCE])
    order = grid_order(space, [*table.T], files[0])
    if nuisance:
        order = np.moveaxis(order.reshape(space.sizes), INSTANCE, 0).reshape(-1)
    for rows in np.array_split(order, max(len(order) // 1024, 1)):
        yield shrink_gray(images[rows], SIDE, resize)


def _labels(
    cat: Path, info: Path, count: int, instances: tuple[int, ...]
) -> Int64[np.ndarray, "n 5"]:
    """Labels of a half, as values of factors from 0 but for the instance."""
    table = np.column_stack([_read(cat, INTEGERS, (count,)), _read(info, INTEGERS, (count, 4))])
    came = np.unique(table[:, INSTANCE])
    if tuple(came) != instances:
        raise DataError(
            f"'{info}' should have the instances {instances} of its half of smallNORB; it has "
            f"{tuple(came.tolist()[:10])}, so it is another file."
        )
    azimuth = table[:, AZIMUTH]
    if (azimuth % 2).any():
        raise DataError(f"'{info}' should have the azimuths 0, 2, ..., 34; it has odd ones.")
    table[:, AZIMUTH] = azimuth // 2
    return table.astype(np.int64)


def _read(file: Path, magic: int, shape: tuple[int, ...]) -> np.ndarray:
    """An array in the format of NORB's binary matrices, packed or not."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            data = opened.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"'{file}' is damaged ({error}); fetch it again.") from error
    except OSError as error:
        raise DataError(f"Cannot read '{file}': {os_reason(error)}.") from error
    # Three axes at least are written, those that are not there as 1.
    axes = max(len(shape), 3)
    head = np.frombuffer(data[: 4 * (2 + axes)], "<i4").tolist() if len(data) >= 20 else []
    if head[:2] != [magic, len(shape)] or tuple(head[2 : 2 + len(shape)]) != shape:
        raise DataError(f"'{file}' is not the file of smallNORB with the shape {shape}.")
    values = np.frombuffer(data[4 * len(head) :], "u1")
    dtype = np.dtype("u1" if magic == BYTES else "<i4")
    if len(values) != math.prod(shape) * dtype.itemsize:
        raise DataError(f"'{file}' has {len(values):,} bytes of values, not those of {shape}.")
    return values.view(dtype).reshape(shape)
