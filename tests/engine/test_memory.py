"""Keeping freed memory must never be what breaks a training; too little of it is known as such."""

import sys

import pytest
import torch

from unknot.engine import memory


class Glibc:
    """Remembers what it is asked; refuses a threshold above the one given."""

    gnu_get_libc_version = "2.36"

    def __init__(self, largest):
        self.largest, self.asked = largest, []

    def mallopt(self, name, value):
        self.asked.append((name, value))
        return name != memory.MMAP_THRESHOLD or value <= self.largest


@pytest.mark.parametrize("largest", [2**30, 2**25, 0])
def test_memory_is_trimmed_never_where_blocks_may_be_mapped_rarely(monkeypatch, largest):
    """The second without the first would do harm."""
    library = Glibc(largest)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: library)
    memory.hold_freed_memory()
    trimmed = (memory.TRIM_THRESHOLD, memory.LARGEST) in library.asked
    assert trimmed == (largest > 0)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_are_left_alone(monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    opened = []
    monkeypatch.setattr(memory.ctypes, "CDLL", opened.append)
    memory.hold_freed_memory()
    assert opened == []


def test_a_c_library_without_glibc_is_left_alone(monkeypatch):
    calls = []

    class Musl:
        """It has no `gnu_get_libc_version`, by which glibc is known."""

        def mallopt(self, *call):
            calls.append(call)

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: Musl())
    memory.hold_freed_memory()
    assert calls == []


def test_what_a_cpu_without_memory_raises_is_known():
    with pytest.raises((MemoryError, RuntimeError)) as refused:
        torch.empty(2**58)
    assert memory.is_out_of_memory(refused.value)


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9"), True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
        (RuntimeError("Unsupported memory format; cannot allocate a view"), False),
        (OSError("DefaultCPUAllocator"), False),
    ],
)
def test_only_too_little_memory_is_called_so(error, known):
    assert memory.is_out_of_memory(error) == known
