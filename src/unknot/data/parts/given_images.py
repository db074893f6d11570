"""Datasets that a user gave as objects, for who trains on them in the same process."""

from weakref import WeakValueDictionary

from unknot.core.dataset import FactorDataset

_datasets: WeakValueDictionary[str, FactorDataset] = WeakValueDictionary()
"""By the hash of their content, for as long as somebody holds them."""


def give(content: str, dataset: FactorDataset) -> None:
    """Make a dataset known in this process."""
    _datasets[content] = dataset


def find(content: str | None) -> FactorDataset | None:
    """The dataset of a hash, if it was given and is still held."""
    return None if content is None else _datasets.get(content)
