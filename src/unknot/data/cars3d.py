"""Cars3D from its original archive."""

import io
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from jaxtyping import UInt8

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.places import Place
from unknot.data.parts.archived_pictures import Filter, shrink_color
from unknot.data.parts.published import Published
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import Source
from unknot.data.parts.trees import Tree, open_tree

SPACE = FactorSpace(("elevation", "azimuth", "car"), (4, 24, 183), ("ordered", "cyclic", "nominal"))
FULL, SIDE = 128, 64
"""Of images in the files and of ours."""
Library: TypeAlias = Literal["disentanglement_lib", "disent"]
FILTERS: dict[Library, Filter] = {"disentanglement_lib": "lanczos", "disent": "bilinear"}
# Michlo 2022, table A.2: of images resized as disent does.
MEAN = (0.897667614997663, 0.889165802006751, 0.885147515814868)
STD = (0.225031955315030, 0.239946127898126, 0.247921063196844)
WHAT = "the archive of Cars3D"
FILE = Source(
    "nips2015-analogy-data.tar.gz",
    ("http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",),
    md5="4e866a7919c1beedf53964e6f7a23686",
    note="It also has sprites and shapes, which are not read.",
)


@dataclass(frozen=True)
class Cars3D(PublishedImages):
    """Cars3D: 183 cars from 96 sides, 64 x 64 in colour (download).

    Cars are numbered as in the archive's ``list.txt``.

    Paper: Reed et al. 2015, "Deep visual analogy-making".
    Differs: disentanglement_lib numbers cars by the order of files in a folder, which is not the
    same on all machines.

    Args:
        path: The file ``nips2015-analogy-data.tar.gz``, or a folder with ``list.txt``
            and the files ``car_*_mesh.mat``; where `unknot data get` put it unless set.
        resize: From 128 x 128 as in ``disentanglement_lib`` (LANCZOS) or ``disent`` (bilinear, as
            in Michlo 2022).
        standardize: Subtract the mean and divide by the deviation of Michlo 2022, table A.2, which
            are those of ``disent``.

    Example: `unknot.train(data.Cars3D())`
    """

    path: Place = None
    resize: Library = "disentanglement_lib"
    standardize: bool = False

    published: ClassVar[Published] = Published(
        "cars3d",
        (FILE,),
        "none stated",
        (3, SIDE, SIDE),
        ("tar.gz", "folder"),
        SPACE,
        resize="from 128 x 128, by LANCZOS or bilinear",
    )

    @property
    def decoding(self) -> dict[str, Any]:
        """How images are made smaller."""
        return {"resize": self.resize}

    @property
    def constants(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Those of Michlo 2022."""
        return (MEAN, STD) if self.standardize else ((), ())

    def chunks(self, files: list[Path]) -> Chunks:
        """Images by elevation, azimuth and car; the first needs all files, since they are cars."""
        (place,) = files
        elevations, azimuths, cars = self.grid.sizes
        images = np.empty((elevations, azimuths, cars, 3, SIDE, SIDE), np.uint8)
        with open_tree(place, WHAT) as tree:
            numbers = _numbers(tree, place)
            if len(numbers) != cars:
                raise DataError(f"'{place}' has {len(numbers)} cars (car_*_mesh.mat), not {cars}.")
            for name in (n for n in tree.names if n in numbers):  # as they lie in the archive
                im = _read_car(tree.read(name), f"{place}: {name}", azimuths, elevations)
                small = shrink_color(im.reshape(-1, *im.shape[2:]), SIDE, FILTERS[self.resize])
                images[:, :, numbers[name]] = small.reshape(elevations, azimuths, 3, SIDE, SIDE)
        yield from images.reshape(elevations, -1, 3, SIDE, SIDE)


def _numbers(tree: Tree, place: Path) -> dict[str, int]:
    """The number of each file of a car: its place in ``list.txt``."""
    paths = [PurePosixPath(name) for name in tree.names]
    cars = {p.name.removesuffix(".mat"): str(p) for p in paths if p.match("car_*_mesh.mat")}
    folders = {PurePosixPath(name).parent for name in cars.values()}
    lists = [p for p in paths if p.name == "list.txt" and p.parent in folders]
    words = tree.read(str(lists[0])).decode("utf-8", "replace").split() if lists else []
    listed = [PurePosixPath(word).name.removesuffix(".mat") for word in words]
    if sorted(listed) != sorted(cars):
        raise DataError(
            f"'{place}' should have a list.txt that names each car_*_mesh.mat beside it once; it "
            f"names {len(listed)}, and there are {len(cars)} files."
        )
    return {cars[car]: number for number, car in enumerate(listed)}


def _read_car(
    data: bytes, where: str, azimuths: int, elevations: int
) -> UInt8[np.ndarray, "elevations azimuths h w 3"]:
    from scipy.io import loadmat

    try:
        im = loadmat(io.BytesIO(data), variable_names=["im"])["im"]
    except Exception as error:  # scipy raises many kinds for a damaged file
        raise DataError(f"'{where}' is damaged or has no array 'im'; fetch it again.") from error
    shape = (FULL, FULL, 3, azimuths, elevations)
    if im.dtype != np.uint8 or im.shape != shape:
        raise DataError(f"'im' of '{where}' should be uint8 {shape}; got {im.dtype} {im.shape}.")
    return np.ascontiguousarray(im.transpose(4, 3, 0, 1, 2))
