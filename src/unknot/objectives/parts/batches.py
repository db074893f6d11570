"""Batches that are too small to compare images in."""

from unknot.core.errors import ConfigError
from unknot.core.objective import Batchwise


def check_least_batch(objective: Batchwise, batch: int, least: int) -> None:
    """Check that a batch has enough images to compare; for ``check_batch``."""
    if batch < least:
        raise ConfigError(
            f"{type(objective).__name__} compares the images of a batch and needs {least} or more; "
            f"got a batch of {batch}."
        )
