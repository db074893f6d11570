"""Each published dataset with the files to try its loader on, and how to ask for them."""

import importlib
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from data import image_layouts, layouts
from PIL import Image

import unknot
from unknot.core import registry

LANCZOS, BILINEAR = Image.Resampling.LANCZOS, Image.Resampling.BILINEAR
BICUBIC = Image.Resampling.BICUBIC


@dataclass(frozen=True)
class Case:
    """Files of one dataset and a way to load them.

    Args:
        name: Of the dataset.
        write: Writes the files.
        sizes: Of the small grid.
        words: Values of settings, whatever the settings are called.
        resample: How pictures become 64 x 64, if they are not.
        within: Levels of 255 that a pixel may be away from Pillow's.
    """

    name: str
    write: Callable
    sizes: tuple[int, ...]
    words: tuple[str, ...] = ()
    resample: Image.Resampling | None = None
    within: float = 0.01

    @property
    def label(self):
        """For the names of tests."""
        return "-".join([self.write.__name__.removeprefix("write_"), *self.words])


SHAPES3D = (2, 2, 2, 2, 2, 3)
CARS3D = (2, 3, 4)
SMALLNORB = (2, 10, 2, 3, 2)
MPI3D = (2, 2, 2, 1, 2, 2, 3)
FALCOR3D = (2, 2, 1, 2, 2, 1, 2)
ISAAC3D = (2, 2, 2, 2, 1, 2, 2, 1, 2)
DSPRITES = (3, 2, 2, 2, 3)
COIL20 = (3, 4)

# Grids of which every image is in the files once.
GRIDS = [
    Case("shapes3d", layouts.write_shapes3d, SHAPES3D),
    Case("shapes3d", layouts.write_shapes3d_mirror, SHAPES3D),
    Case("cars3d", layouts.write_cars3d, CARS3D, ("disentanglement_lib",), LANCZOS),
    Case("cars3d", layouts.write_cars3d, CARS3D, ("disent",), BILINEAR),
    Case("cars3d", layouts.write_cars3d_folder, CARS3D, ("disent",), BILINEAR),
    Case("mpi3d", layouts.write_mpi3d, MPI3D, ("toy",)),
    Case("mpi3d", layouts.write_mpi3d, MPI3D, ("realistic",)),
    Case("mpi3d", layouts.write_mpi3d, MPI3D, ("real",)),
    Case("mpi3d", layouts.write_mpi3d, MPI3D, ("real_complex",)),
    # Hsu's pictures are not rounded to bytes: one that is may be half a level off, twice.
    Case("falcor3d", image_layouts.write_falcor3d, FALCOR3D, (), BICUBIC, 1.01),
    Case("falcor3d", image_layouts.write_falcor3d_folder, FALCOR3D, (), BICUBIC, 1.01),
    Case("isaac3d", image_layouts.write_isaac3d, ISAAC3D, (), BICUBIC, 1.01),
    Case("isaac3d", image_layouts.write_isaac3d_folder, ISAAC3D, (), BICUBIC, 1.01),
    Case("coil20", layouts.write_coil20, COIL20, (), BILINEAR, 24),
    Case("coil20", image_layouts.write_coil20_zip, COIL20, (), BILINEAR, 24),
    Case("dsprites_file", layouts.write_dsprites, DSPRITES),
    Case("dsprites_file", layouts.write_dsprites_hdf5, DSPRITES),
]
NORB = Case("smallnorb", layouts.write_smallnorb, SMALLNORB, ("disent",), BILINEAR)
NORB_UNPACKED = replace(NORB, write=layouts.write_smallnorb_unpacked)
NORB_STUDY = replace(NORB, words=("disentanglement_lib",), resample=LANCZOS, within=1.01)
CHAIRS = Case("chairs3d", image_layouts.write_chairs3d, (2, 3, 2))
CHAIRS_FOLDER = replace(CHAIRS, write=image_layouts.write_chairs3d_folder)
CELEBA = Case("celeba", image_layouts.write_celeba, (9,))
MNIST = Case("mnist", layouts.write_mnist, (12,))
FASHION = replace(MNIST, name="fashion_mnist")
ROWS = [CELEBA, MNIST, FASHION]
ALL = [*GRIDS, NORB, NORB_UNPACKED, NORB_STUDY, CHAIRS, CHAIRS_FOLDER, *ROWS]

# One way to ask for each set of files is enough to damage them, and a few pictures of each.
FEW = {"isaac3d": (1, 1, 1, 1, 1, 2, 1, 1, 2), "chairs3d": (1, 2, 2)}
ASKED_TWICE = {
    "cars3d-disentanglement_lib",
    "smallnorb-disentanglement_lib",
    "mpi3d-realistic",
    "mpi3d-real",
    "mpi3d-real_complex",
}
ONCE = {
    case.label: replace(case, sizes=FEW.get(case.name, case.sizes))
    for case in ALL
    if case.name != "fashion_mnist" and case.label not in ASKED_TWICE
}


def loader(name):
    """The module of a dataset."""
    return importlib.import_module(f"unknot.data.{name}")


def write(case, folder):
    """The files of a case, in a new folder."""
    loader(case.name)
    folder.mkdir()
    if case.name == "mpi3d":
        return case.write(folder, case.sizes, *case.words)
    return case.write(folder, case.sizes)


def load(case, path, monkeypatch, checksum=None, **settings):
    """The dataset of a case, its grid made small and a published checksum replaced."""
    module = loader(case.name)
    if hasattr(module, "IMAGES_SHA256"):
        replaced = dict.fromkeys(case.words, checksum) if checksum else {}
        monkeypatch.setattr(module, "IMAGES_SHA256", replaced)
    if "real_complex" in case.words:
        monkeypatch.setattr(module, "COMPLEX", replace(module.COMPLEX, sizes=case.sizes))
    elif case.name == "dsprites_file":
        monkeypatch.setattr(module, "SPACE", replace(module.SPACE, sizes=case.sizes))
    else:
        shrink(case.name, case.sizes, monkeypatch)
    place = None if path is None else str(path)
    return unknot.dataset(case.name, path=place, **choose(case.name, case.words), **settings)


def shrink(name, sizes, monkeypatch):
    """Make the grid of a published dataset small."""
    kind = registry.get("datasets", name)
    facts = kind.published
    monkeypatch.setattr(kind, "published", replace(facts, space=replace(facts.space, sizes=sizes)))


def choose(name, words):
    """Settings of a dataset by their values: the field that has the word among its choices."""
    hints = typing.get_type_hints(registry.get("datasets", name))
    return {field: word for word in words for field in [_field(name, hints, word)]}


def _field(name, hints, word):
    fields = [field for field, hint in hints.items() if word in typing.get_args(hint)]
    assert len(fields) == 1, f"{name} should have one setting with the choice '{word}'"
    return fields[0]


def shown(data, index=None):
    """Images of a dataset in [0, 1], as ``[n, h, w, c]``."""
    index = torch.arange(len(data)) if index is None else index
    return data.images.pixels(index).permute(0, 2, 3, 1).numpy()


def resized(pictures, resample):
    """Pictures ``[..., h, w, c]`` at 64 x 64 in 0 .. 255, by Pillow; bicubic ones not rounded."""
    flat = pictures.reshape(-1, *pictures.shape[-3:])
    if resample is None:
        return flat
    kind = np.float32 if resample is BICUBIC else np.uint8
    small = [
        np.stack([_small(channel.astype(kind), resample) for channel in np.moveaxis(x, -1, 0)], -1)
        for x in flat
    ]
    return np.clip(np.stack(small), 0, 255)


def _small(channel, resample):
    return np.asarray(Image.fromarray(channel).resize((64, 64), resample))
