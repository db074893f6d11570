"""Keeping freed memory must never be what breaks a training."""

import sys

import pytest

from unknot.engine import memory


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_it_works_or_does_nothing(monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    if platform != "linux":
        monkeypatch.setattr(memory.ctypes, "CDLL", None)  # must not be touched
    memory.hold_freed_memory()


def test_a_c_library_without_glibc_is_left_alone(monkeypatch):
    class Musl:
        def mallopt(self, *_):
            raise AssertionError("not glibc's mallopt")

    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: Musl())
    memory.hold_freed_memory()
