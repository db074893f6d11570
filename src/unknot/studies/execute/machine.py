"""How a study is spread over this machine."""

from dataclasses import dataclass

import torch

from unknot.core.border import check_whole
from unknot.core.errors import ConfigError
from unknot.engine.device import cores, runtime
from unknot.studies.plan import members_for

MOST_WORKERS = 1_024
"""Processes; more than any machine or queue serves at once."""


@dataclass(frozen=True)
class Machine:
    """Where tasks run, and how many at a time."""

    device: str
    workers: int
    threads: int | None
    """Of each worker; None on a GPU."""
    devices: tuple[str, ...] = ()
    """Several GPUs, which workers share out among them; else all of them use `device`."""

    @property
    def gpu(self) -> bool:
        """Whether models train on a GPU."""
        return self.device != "cpu"

    def members(self, runs: int) -> int:
        """The most models of a population where the study does not say."""
        return members_for(runs, self.workers, gpu=self.gpu)

    @property
    def text(self) -> str:
        """For people.

        Example:
            >>> Machine("cpu", 2, 1).text
            'cpu, 2 workers of 1 thread'
            >>> Machine("cuda", 2, None, ("cuda:0", "cuda:1")).text
            'cuda:0 and cuda:1, 2 workers'
        """
        threads_text = (
            f" of {self.threads} thread{'s' * (self.threads != 1)}" if self.threads else ""
        )
        places = " and ".join(self.devices) or self.device
        return f"{places}, {self.workers} worker{'s' * (self.workers != 1)}{threads_text}"


def machine(
    runs: int, *, device: str = "auto", workers: int | None = None, threads: int | None = None
) -> Machine:
    """The device, processes and threads for a study of some runs.

    Models on a GPU train many at a time, so one worker is enough for each. On a CPU they train one
    by one: as many workers as there are cores, each with its share of them.

    Args:
        runs: How many there are to share out.
        device: ``auto``, ``cpu``, ``cuda`` for all GPUs, ``cuda:1`` or ``cuda:0,1``.
        workers: Processes, where someone decided.
        threads: Of each, where the study has begun: another number would give other bits.
    """
    if workers is not None:
        check_whole("workers", workers, 1, MOST_WORKERS)
    gpus = gpu_names(device)
    for gpu in gpus:
        runtime(gpu)  # each has to be there
    if doubles := {gpu for gpu in gpus if gpus.count(gpu) > 1}:
        raise ConfigError(f"Each GPU is named once; twice: {', '.join(sorted(doubles))}.")
    if len(gpus) > 1:
        return Machine("cuda", workers or len(gpus), None, tuple(gpus))
    name = runtime(gpus[0] if gpus else device).device
    if name.type != "cpu":
        return Machine(str(name), workers or 1, None)
    count_cores = cores()
    count = workers or (max(1, count_cores // threads) if threads else min(count_cores, runs))
    return Machine("cpu", count, threads or max(1, count_cores // count))


def gpu_names(device: str) -> list[str]:
    """The GPUs that a device of a study names: all of this machine for ``cuda`` and ``auto``.

    Example:
        >>> gpu_names("cpu"), gpu_names("cuda:0,2")
        ([], ['cuda:0', 'cuda:2'])
    """
    if device in ("auto", "cuda"):
        count = torch.cuda.device_count()
        return [f"cuda:{i}" for i in range(count)] if count > 1 else []
    kind, _, numbers = device.partition(":")
    return [f"{kind}:{n.strip()}" for n in numbers.split(",")] if "," in numbers else []


def device_elsewhere(device: str, *, auto: str | None) -> str:
    """The device of a task on a node of a cluster: what this machine has does not matter there.

    Args:
        device: As the user said.
        auto: What ``auto`` means; it is refused when None.
    """
    name = auto if device == "auto" else device
    if name is None:
        raise ConfigError(
            "Use --device cpu or --device cuda: this machine cannot tell what the nodes have."
        )
    if name not in ("cpu", "cuda"):
        raise ConfigError(
            f"On a cluster use --device cpu or --device cuda, got '{device}': "
            "which GPU of a node a task gets is the cluster's choice."
        )
    return name


def threads_in(threads: int | None) -> dict[str, str]:
    """The environment in which libraries keep to a number of threads; None leaves it to them."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {name: str(threads) for name in names} if threads else {}
