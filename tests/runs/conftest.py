"""Shared by tests of runs: settings of a short run."""

import pytest


@pytest.fixture(scope="session")
def options(tiny):
    """Of a short run: not to be changed, all tests share them."""
    return {
        "data": "arrays",
        "net": "linear",
        "steps": 30,
        "batch": 8,
        "data_settings": {"path": str(tiny)},
        "net_settings": {"latents": 3},
        "device": "cpu",
    }
