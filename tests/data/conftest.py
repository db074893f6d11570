"""Shared by tests of datasets that are made of dSprites."""

import pytest

from unknot.data.dsprites import DSprites


@pytest.fixture(scope="module")
def one_copy():
    """Sprites are checked once and not at every load: they have their own tests."""
    plain = DSprites().load()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DSprites, "load", lambda self: plain)
        yield
