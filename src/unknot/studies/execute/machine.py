"""How a study is spread over this machine."""

from dataclasses import dataclass

from unknot.core.errors import ConfigError
from unknot.engine.device import cores, runtime
from unknot.studies.plan import members_for


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

    def members(self, runs: int) -> int:
        """The most models of a population where the study does not say."""
        return members_for(runs, self.workers, gpu=self.gpu)

    @property
    def text(self) -> str:
        """For people.

        Example:
            >>> Machine("cpu", 2, 1).text
            'cpu, 2 workers of 1 thread'
        """
        threads_text = (
            f" of {self.threads} thread{'s' * (self.threads != 1)}" if self.threads else ""
        )
        return f"{self.device}, {self.workers} worker{'s' * (self.workers != 1)}{threads_text}"


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
    """
    if workers is not None and workers < 1:
        raise ConfigError(f"A study needs a worker or more; got {workers}.")
    name = runtime(device).device
    if name.type != "cpu":
        return Machine(str(name), workers or 1, None)
    count_cores = cores()
    count = workers or (max(1, count_cores // threads) if threads else min(count_cores, runs))
    return Machine("cpu", count, threads or max(1, count_cores // count))


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
