"""Samplers, one file each: which rows of a dataset come next; each class is an attribute."""

from typing import Any

from unknot.core import registry


def __getattr__(name: str) -> Any:
    return registry.attribute("samplers", name)


def __dir__() -> list[str]:
    return sorted(registry.class_names("samplers"))
