"""A dataset saved as its images look after a learnt blur, for training with a plain loss."""

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.files import atomic_path
from unknot.losses.blur import convolve

AT_ONCE = 256
"""Images held at once."""
MOST = 10_000_000
"""Images that a file may have: 120 GB of 64 x 64 in colour before they are packed."""


def resave(
    dataset: FactorDataset,
    kernel: Float[Tensor, "k k"],
    path: str | Path,
    *,
    on_images: Callable[[int], None] = lambda _: None,
) -> float:
    r"""Write $255\, h(x) / m$ in bytes for every image, as an npz file that `arrays` reads.

    $h$ convolves every channel with the kernel and $m$ is the largest value of all images after
    it. A common factor changes no order of distances; it is as if beta were another one. The
    images are computed twice, for $m$ and to be written, and a few of them held at a time.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data" (dissertation), section 6.1.2.

    Differs: Bytes, as `arrays` holds them: distances below about 1/255 of the range are lost.

    Args:
        dataset: Any.
        kernel: Without negative weights.
        path: The npz file; it appears whole or not at all.
        on_images: Told how many images of both passes are done.

    Returns:
        The largest value $m$.
    """
    highest, size = 0.0, len(dataset)
    if size > MOST:
        raise ConfigError(f"The grid has {size:,} points; more than {MOST:,} are not stored.")
    for done, x in _blur_batches(dataset, kernel):
        highest = max(highest, x.max().item())
        on_images(done)
    with (
        atomic_path(Path(path)) as part,
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        index = torch.arange(size)
        small = {
            "factors": dataset.space.factors(index).numpy().astype(np.int32),
            "names": np.array(dataset.space.names),
        }
        for name, array in small.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
        with archive.open("images.npy", "w", force_zip64=True) as file:
            shape = (size, *dataset.shape)
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for done, x in _blur_batches(dataset, kernel):
                scaled = (x * (255 / highest if highest else 0.0)).round().clamp(0, 255)
                file.write(scaled.to(torch.uint8).cpu().numpy().tobytes())
                on_images(size + done)
    return highest


def _blur_batches(
    dataset: FactorDataset, kernel: Float[Tensor, "k k"]
) -> Iterator[tuple[int, Float[Tensor, "n c h w"]]]:
    """How many images are done by then, and some more of them, blurred."""
    for part in torch.arange(len(dataset)).split(AT_ONCE):
        x = dataset.images.pixels(part)
        yield int(part[-1]) + 1, convolve(x, kernel.to(x))
