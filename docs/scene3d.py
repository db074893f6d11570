"""Draw ``docs/pictures/scene3d.png``, a traversal of each factor: ``python docs/scene3d.py``."""

from pathlib import Path

import torch

from unknot.core.files import write_whole
from unknot.data.scene3d import SPACE, Scene3D
from unknot.report.model.pictures import dataset_picture
from unknot.report.style import png

PICTURE = Path(__file__).parent / "pictures" / "scene3d.png"
# A yellow-green capsule before an orange wall on a blue floor, seen from the left.
FACTORS = (6, 1, 2, 4, 3, 3)


def main() -> None:
    """Write the picture."""
    row = int(SPACE.index(torch.tensor(FACTORS)))
    write_whole(PICTURE, png(dataset_picture(Scene3D().load(), row=row, columns=10)))


if __name__ == "__main__":
    main()
