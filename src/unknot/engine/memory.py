"""Memory: keep what is freed in the process, and know when there is too little."""

import ctypes
import sys

import torch

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # names of glibc's <malloc.h>
LARGEST = 2**31 - 1


def hold_freed_memory() -> None:
    """Ask the C library not to give large blocks back to the system after each use.

    A training step frees and takes the same activations again and again. glibc returns blocks of
    this size to the system at once, and the system clears them page by page when they are used
    again: up to half of a step on a CPU. Peak memory stays what it was; it is only kept until the
    process ends, and that holds for all of the process. On systems without glibc nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return
    # Some versions refuse more than 32 MiB. Without the first call the second would do harm: it
    # ends the library's own raising of the threshold.
    if library.mallopt(MMAP_THRESHOLD, 2**30) or library.mallopt(MMAP_THRESHOLD, 2**25):
        library.mallopt(TRIM_THRESHOLD, LARGEST)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory did not suffice; PyTorch has no type for that of a CPU."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )
