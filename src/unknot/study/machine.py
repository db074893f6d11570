"""How a study is spread over this machine."""

import os
from dataclasses import dataclass

from unknot.core.errors import ConfigError
from unknot.engine.device import runtime


@dataclass(frozen=True)
class Machine:
    """Where tasks run, and how many at a time."""

    device: str
    workers: int
    threads: int | None
    """Of each worker; None on a GPU."""

    @property
    def gpu(self) -> bool:
        """Whether models train on a GPU."""
        return self.device != "cpu"

    @property
    def words(self) -> str:
        """For people.

        Example:
            >>> Machine("cpu", 2, 1).words
            'cpu, 2 workers of 1 thread'
        """
        of = f" of {self.threads} thread{'s' * (self.threads != 1)}" if self.threads else ""
        return f"{self.device}, {self.workers} worker{'s' * (self.workers != 1)}{of}"


def machine(
    runs: int, *, device: str = "auto", workers: int | None = None, threads: int | None = None
) -> Machine:
    """The device, processes and threads for a study of some runs.

    Models on a GPU train many at a time, so one worker is enough. On a CPU they train one by one:
    as many workers as there are cores, each with its share of them.

    Args:
        runs: How many there are to share out.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        workers: Processes, where someone decided.
        threads: Of each, where the study has begun: another number would give other bits.

    Raises:
        ConfigError: There is no such device, or no worker at all.
    """
    if workers is not None and workers < 1:
        raise ConfigError(f"A study needs a worker or more; got {workers}.")
    chosen = runtime(device).device
    if chosen.type != "cpu":
        return Machine(str(chosen), workers or 1, None)
    cores = _cores()
    count = workers or (max(1, cores // threads) if threads else min(cores, runs))
    return Machine("cpu", count, threads or max(1, cores // count))


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
