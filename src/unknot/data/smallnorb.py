"""smallNORB from its original files."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from jaxtyping import Int64

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import shrink_gray
from unknot.data.parts.grids import grid_order
from unknot.data.parts.images import StoredVariants
from unknot.data.parts.published import Published
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import Source, hosted_source
from unknot.data.parts.trees import read_packed

SPACE = FactorSpace(
    ("category", "instance", "elevation", "azimuth", "lighting"),
    (5, 10, 9, 18, 6),
    ("nominal", "nominal", "ordered", "cyclic", "nominal"),
)
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
    return hosted_source(f"smallnorb-{file}.mat.gz", HOSTS, size, sha256)


FILES: dict[str, tuple[Source, Source, Source]] = {
    "train": (
        _source(
            "5x46789x9x18x6x2x96x96-training-dat",
            131_896_188,
            "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
        ),
        _source(
            "5x46789x9x18x6x2x96x96-training-cat",
            348,
            "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa",
        ),
        _source(
            "5x46789x9x18x6x2x96x96-training-info",
            71_052,
            "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32",
        ),
    ),
    "test": (
        _source(
            "5x01235x9x18x6x2x96x96-testing-dat",
            130_799_817,
            "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474",
        ),
        _source(
            "5x01235x9x18x6x2x96x96-testing-cat",
            347,
            "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff",
        ),
        _source(
            "5x01235x9x18x6x2x96x96-testing-info",
            10_428,
            "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2",
        ),
    ),
}


@dataclass(frozen=True)
class SmallNORB(PublishedImages):
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

    Example: `unknot.train(data.SmallNORB(half="train"))`
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
        (1, SIDE, SIDE),
        ("gz", "unpacked"),
        SPACE,
        resize="from 96 x 96, by LANCZOS or bilinear",
    )

    def sources(self) -> tuple[Source, ...]:
        """Images, categories and other labels of one half or both."""
        return tuple(source for half in self._halves for source in FILES[half])

    @property
    def grid(self) -> FactorSpace:
        """All factors, with the instances of the half."""
        sizes = list(super().grid.sizes)
        sizes[INSTANCE] = sizes[INSTANCE] * len(self._halves) // 2
        return replace(super().grid, sizes=tuple(sizes))

    @property
    def decoding(self) -> dict[str, Any]:
        """The order of rows, and how images are made smaller."""
        return {"nuisance": self._nuisance, "resize": self._filter}

    @property
    def constants(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Those of Michlo 2022."""
        return (MEAN, STD) if self.standardize else ((), ())

    @property
    def _halves(self) -> tuple[str, ...]:
        """Those of the variant unless they are set."""
        half = self.half or VARIANTS[self.variant][0]
        return tuple(FILES) if half == "both" else (half,)

    @property
    def _filter(self) -> Resize:
        """That of the variant unless it is set."""
        return self.resize or VARIANTS[self.variant][1]

    @property
    def _nuisance(self) -> bool:
        """Whether the instance is no factor."""
        return self.variant == "disentanglement_lib"

    def load(self) -> FactorDataset:
        """All images, as a memory map.

        Raises:
            DataError: Files are missing, damaged or others.
        """
        if not self._nuisance:
            return super().load()
        space = self.grid
        rest = FactorSpace(*map(_without_instance, (space.names, space.sizes, space.kinds)))
        return self.assemble(rest, StoredVariants(self.decode(), space.sizes[INSTANCE]))

    def chunks(self, files: list[Path]) -> Chunks:
        """Images in the order of the grid; with the instance slowest where it is no factor."""
        space, halves = self.grid, self._halves
        n = space.size // len(halves)
        triples = [files[start : start + 3] for start in range(0, len(files), 3)]
        images = np.concatenate(
            [_read(dat, BYTES, (n, 2, FULL, FULL))[:, 0] for dat, _, _ in triples]
        )
        pairs = zip(triples, halves, strict=True)
        table = np.concatenate(
            [_labels(cat, info, n, INSTANCES[half]) for (_, cat, info), half in pairs]
        )
        instances = sorted(i for half in halves for i in INSTANCES[half])
        table[:, INSTANCE] = np.searchsorted(instances, table[:, INSTANCE])
        order = grid_order(space, [*table.T], files[0])
        if self._nuisance:
            order = np.moveaxis(order.reshape(space.sizes), INSTANCE, 0).reshape(-1)
        for rows in np.array_split(order, max(len(order) // 1024, 1)):
            yield shrink_gray(images[rows], SIDE, self._filter)


def _without_instance(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return values[:INSTANCE] + values[INSTANCE + 1 :]


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
    data = read_packed(file)
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
