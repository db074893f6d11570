"""Architectures, one file each; each class is an attribute: ``nets.Conv64(latents=6)``."""

from typing import Any

from unknot.core import registry


def __getattr__(name: str) -> Any:
    return registry.attribute("nets", name)


def __dir__() -> list[str]:
    return sorted(registry.class_names("nets"))
