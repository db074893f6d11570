"""Pictures in colour: a folder of them as small squares, or one as it is."""

from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from unknot.core.errors import DataError

ENDINGS = (".png", ".jpg", ".jpeg")


def read_folder(path: str, side: int) -> UInt8[np.ndarray, "n 3 side side"]:
    """All PNG and JPEG pictures of a folder and its subfolders, in the order of their paths.

    Each is cropped to its largest middle square and scaled bilinearly. Files of other kinds are
    passed over.
    """
    # Here, so that a dataset without a folder needs no decoder.
    from PIL import Image, ImageOps

    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise DataError(f"Expected a folder of pictures; '{path}' is not a folder.")
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in ENDINGS and p.is_file())
    if not files:
        raise DataError(f"'{path}' has no pictures; put PNG or JPEG files into it.")
    found = np.empty((len(files), 3, side, side), np.uint8)
    for i, file in enumerate(files):
        try:
            with Image.open(file) as picture:
                square = ImageOps.fit(
                    picture.convert("RGB"), (side, side), Image.Resampling.BILINEAR
                )
        except Exception as error:  # decoders raise much more than OSError for a damaged file
            raise DataError(f"Cannot read the picture '{file}'; remove or replace it.") from error
        found[i] = np.asarray(square).transpose(2, 0, 1)
    return found


def read_picture(path: str, most: tuple[int, int]) -> UInt8[np.ndarray, "3 h w"]:
    """A PNG or JPEG picture, shrunk to fit a width and a height; a smaller one stays as it is."""
    from PIL import Image

    file = Path(path).expanduser()
    if not file.is_file():
        raise DataError(f"Expected a PNG or JPEG picture; '{path}' is not a file.")
    try:
        with Image.open(file, formats=("PNG", "JPEG")) as picture:
            shown = picture.convert("RGB")
    except Exception as error:  # decoders raise much more than OSError for a damaged file
        raise DataError(f"Cannot read the picture '{path}'; give a PNG or JPEG file.") from error
    shown.thumbnail(most, Image.Resampling.BICUBIC)
    return np.asarray(shown).transpose(2, 0, 1).copy()
