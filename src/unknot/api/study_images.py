"""Images that a study was given in Python, when they are given again."""

from collections.abc import Iterable, Mapping
from typing import Any

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, DataError
from unknot.runs.own_data import as_dataset, hold_images


def images_of_study(data: Any, tables: Iterable[Mapping[str, Any]]) -> FactorDataset:
    """Images that are given again, made known in this process."""
    its = {table["data"].get("content") for table in tables if table["data"]["name"] == "memory"}
    if not its:
        raise ConfigError(
            "This study takes no data: only one that was given images in memory does; leave data "
            "out."
        )
    dataset = as_dataset(data, {})
    if getattr(dataset.origin.settings, "content", None) not in its:
        raise DataError(
            "The images are not those of the study; give the same object, or the dataset that "
            "unknot.dataset made of it with the same settings."
        )
    return hold_images(dataset)
