"""What `unknot data get` gets beside datasets, and what all of it takes on the disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from unknot.core import registry
from unknot.data.parts.download import part_path
from unknot.data.parts.published import (
    Published,
    PublishedDataset,
    cached_files,
    data_folder,
    locate,
)
from unknot.data.parts.sources import Source

COMMIT = "da4a192c5532b2e0909e381286b6c585dba4e3a8"
RESULTS = tuple(
    Source(
        f"results_{data}.csv",
        (
            "https://raw.githubusercontent.com/jakobhartmann/ISS-Seminar/"
            f"{COMMIT}/{data}/results_{data}.csv",
        ),
    )
    for data in (
        "dsprites_full",
        "color_dsprites",
        "noisy_dsprites",
        "scream_dsprites",
        "smallnorb",
        "cars3d",
    )
)


@dataclass(frozen=True)
class Study2019Results(PublishedDataset):
    """Scores of the 10,800 models of Locatello et al. 2019, as collected by Hartmann 2021."""

    path: None = None

    published: ClassVar[Published] = Published(
        "study2019_results", RESULTS, "none stated", (0, 0, 0), ("CSV",), None
    )

    def folder(self) -> Path:
        """Where the tables lie.

        Raises:
            DataError: One is not there, or is another file.
        """
        return locate(self)[0].parent


COLLECTIONS: dict[str, PublishedDataset] = {"study2019_results": Study2019Results()}
"""By name."""


def files_on_disk(name: str) -> list[Path]:
    """Downloaded files of a dataset, whole and partial, and what was made of them."""
    entry = COLLECTIONS.get(name) or registry.get("datasets", name)  # a name, and not a path
    folder, paths = data_folder() / name, cached_files(name)
    if isinstance(entry, PublishedDataset):
        downloads = [folder / source.file for source in entry.published.files]
        paths += [path for path in (*downloads, *map(part_path, downloads)) if path.is_file()]
    return paths
