"""Shared by tests of datasets that are made of dSprites, and of those that are read from files."""

import shutil

import numpy as np
import pytest
from data.cases import load, shown

from unknot.core.errors import DataError, ShapeError
from unknot.data.dsprites import DSprites


@pytest.fixture(scope="module")
def one_copy():
    """Sprites are checked once and not at every load: they have their own tests."""
    plain = DSprites().load()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DSprites, "load", lambda self: plain)
        yield


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache of the test's own."""
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNKNOT_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def refuse(own_cache, monkeypatch):
    """A function that says whether a case is refused as it should be."""

    def refuse(case, path):
        with pytest.raises((DataError, ShapeError)) as caught:
            load(case, path, monkeypatch)
        assert "\n" not in str(caught.value)
        assert [*own_cache.rglob("*.*")] == []  # nothing but folders
        return str(caught.value)

    return refuse


@pytest.fixture
def refuse_or_agree(refuse, own_cache, monkeypatch):
    """A function for files that may be spare: the images are right, or none are given."""

    def refuse_or_agree(case, path, expected):
        try:
            images = shown(load(case, path, monkeypatch))
        except DataError:
            refuse(case, path)
            return False
        assert np.array_equal(images, expected)
        shutil.rmtree(own_cache, ignore_errors=True)
        return True

    return refuse_or_agree
