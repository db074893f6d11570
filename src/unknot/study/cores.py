"""Cores of this machine, and processes that keep to some of them."""

import os


def cores() -> int:
    """Those that this process may use.

    Example:
        >>> cores() >= 1
        True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_in(threads: int | None) -> dict[str, str]:
    """The environment in which libraries keep to a number of threads; None leaves it to them."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {name: str(threads) for name in names} if threads else {}
