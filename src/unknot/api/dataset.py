"""A dataset of one's own, or by name, as a notebook shows it."""

from dataclasses import dataclass, fields
from typing import Any

from unknot.api.objects import choice_table, is_dataset_settings
from unknot.api.progress import reading_bar
from unknot.core.dataset import FactorDataset
from unknot.core.typed import typed
from unknot.runs.own_data import as_dataset


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(FactorDataset):
    """A named grid of images, which PyTorch's ``DataLoader`` takes as it is.

    Example: `loader = torch.utils.data.DataLoader(unknot.dataset("xysquares"), batch_size=64)`
    """

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {self.summary})"

    def _repr_html_(self) -> str:
        from unknot.report.run import notebook

        return notebook.dataset_html(self)


@typed("progress")
def dataset(source: Any, *, progress: bool = True, **settings: Any) -> Dataset:
    """A dataset by name, or of your own images.

    It is a ``torch.utils.data.Dataset``; ``summary`` says in a line what was read.

    Args:
        source: A name as in ``unknot list datasets``; the path of a folder of pictures, or of an
            npy, npz, HDF5 or Parquet file; an array or tensor of images; a table, as a CSV, Parquet
            or h5ad file, an array ``[n, d]``, a data frame or an object of AnnData; a dataset of
            PyTorch or Hugging Face; a `FactorDataset`; or settings, as
            ``unknot.data.XYSquares(spacing=4)``.
        progress: Show a bar while images are read for the first time, in a terminal or a notebook.
        settings: Its own settings, as in ``unknot data show NAME``. For images these are ``size``,
            ``crop``, ``channels``, ``standardize`` and ``limit``; of objects also ``name``, and
            ``signals=True`` for an array ``[n, channels, time]`` of signals.

    Raises:
        ConfigError: There is no such dataset or setting.
        DataError: Images cannot be read.

    Example:
        >>> ds = dataset("xysquares", spacing=4)
        >>> ds.space.sizes
        (8, 8, 8, 8, 8, 8)
    """
    if is_dataset_settings(source):
        table = choice_table("datasets", source, settings)
        source, settings = table.pop("name"), table
    with reading_bar(show=progress) as count:
        loaded = as_dataset(source, settings, count)
    return Dataset(**{f.name: getattr(loaded, f.name) for f in fields(loaded)})
