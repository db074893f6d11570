"""3D Shapes from its original file."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from unknot.core.factors import FactorSpace
from unknot.core.places import Place
from unknot.data.parts import hdf5, npz
from unknot.data.parts.grids import check_grid
from unknot.data.parts.published import Published
from unknot.data.parts.published_images import Chunks, PublishedImages
from unknot.data.parts.sources import Source

SPACE = FactorSpace(
    ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"),
    (10, 10, 10, 8, 4, 15),
    ("cyclic", "cyclic", "cyclic", "ordered", "nominal", "ordered"),
)
SIDE = 64
# Michlo 2022, table A.2.
MEAN = (0.502584966788819, 0.578759756608967, 0.603449973185958)
STD = (0.294081404355556, 0.344397908751721, 0.366168598152475)
WHAT = "the file of 3D Shapes"
ROWS = 4096
FILE = Source(
    "3dshapes.h5",
    (
        "https://storage.googleapis.com/3d-shapes/3dshapes.h5",
        "https://storage.googleapis.com/storage/v1/b/3d-shapes/o/3dshapes.h5?alt=media",
    ),
    size=267_573_662,
    sha256="0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
)


@dataclass(frozen=True)
class Shapes3D(PublishedImages):
    """3D Shapes: an object in a room, 64 x 64 in colour (download: 268 MB).

    Images are decoded once into a memory map of 5.9 GB in the cache folder.

    Paper: Burgess and Kim 2018, "3D Shapes dataset".

    Args:
        path: The file ``3dshapes.h5`` (needs h5py, the extra ``data``), or an npz file with the
            same arrays ``images`` and ``labels``; where `unknot data get` put it unless set.
        standardize: Subtract the mean and divide by the deviation of Michlo 2022, table A.2.

    Example: `unknot.train(data.Shapes3D(standardize=True))`
    """

    path: Place = None
    standardize: bool = False

    published: ClassVar[Published] = Published(
        "shapes3d", (FILE,), "Apache-2.0", (3, SIDE, SIDE), ("HDF5", "npz"), SPACE
    )

    @property
    def constants(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Those of Michlo 2022."""
        return (MEAN, STD) if self.standardize else ((), ())

    def chunks(self, files: list[Path]) -> Chunks:
        """Images in the order of the file, if its labels go through the grid."""
        (file,), space = files, self.grid
        shape, labels = (space.size, SIDE, SIDE, 3), (space.size, len(space))
        if file.suffix == ".npz":
            with npz.open_archive(file, WHAT) as archive:
                check_grid(space, npz.read_array(archive, "labels", labels), file)
                for rows in npz.read_rows(archive, "images", shape, ROWS):
                    yield rows.transpose(0, 3, 1, 2)
            return
        with hdf5.open_hdf5(file, WHAT) as data:
            check_grid(space, hdf5.read_table(data, "labels", labels), file)
            for rows in hdf5.read_rows(data, "images", shape):
                yield rows.transpose(0, 3, 1, 2)
