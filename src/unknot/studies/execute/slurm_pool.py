"""The pool of a SLURM cluster, through submitit: each population a job.

```python
from unknot.studies.execute import slurm_pool
from unknot.studies.execute.driver import run

cluster = slurm_pool.slurm({"partition": "gpu", "time": "4:00:00"}, workers=8)
run(folder, text, device="cuda", machine=cluster.machine, pool=cluster.pool)
```

SLURM decides where and when. A job that is preempted, requeued, lost with its node or out of time
goes on from its population's last checkpoint. Jobs outlive a driver that is killed; the next one
finds them by the notes that are kept of them.

```
<study>/slurm/
  <key>.job.json        which job has the population, and what it was told
  <key>.answer.json     what came of it
  <job>_*               of submitit: what was sent, and what the job printed
```
"""

import contextlib
import functools
import getpass
import importlib
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import unknot
from unknot.core.errors import ConfigError, StoreError, UnknotError
from unknot.core.files import write_whole
from unknot.runs.folder import RunFolder
from unknot.runs.training import Stopped
from unknot.studies.execute.backends import Backend
from unknot.studies.execute.events import DeathPolicy, Event, Lost, Place, end_event
from unknot.studies.execute.machine import Machine, device_elsewhere, threads_in
from unknot.studies.execute.perform import run_remote_task
from unknot.studies.execute.task import Task

PAUSE = 1.0
"""Seconds between two looks for answers."""
LOOK = 5.0
"""Seconds between two questions to SLURM, and two looks at how far populations are."""
LATE = 15.0
"""Seconds that an answer may take to be seen here after its job is gone."""
GRACE = 40.0
"""Seconds that jobs have to save and leave; SLURM itself kills them after 30."""
MINUTES = 60
"""Of a job unless the user says; one that needs more saves, and goes back into the queue."""
WORKERS = 8
"""Jobs at a time unless the user says."""
ARRAY = 1_000
"""The most jobs of an array, as SLURM has it unless configured."""
GPUS = {"gres", "gpus", "gpus_per_node", "gpus_per_task"}


@dataclass(frozen=True)
class Job:
    """What submitit calls on a node."""

    def __call__(self, line: str, version: str, answer: str) -> None:
        """Perform a task and write down what came of it."""
        signals: list[int] = []

        def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's signature
            signals.append(number)

        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
        submitits = {number: signal.signal(number, ask) for number in numbers}
        try:
            task = Task.from_json(line)
            fact = run_remote_task(
                task, version, tell=lambda _, __: None, stop=lambda: bool(signals)
            )
        except Stopped:
            # Its time is up: submitit puts it back into the queue.
            if signal.SIGUSR2 in signals and callable(requeue := submitits[signal.SIGUSR2]):
                requeue(signal.SIGUSR2, None)
            sys.exit(1)
        write_whole(Path(answer), json.dumps(fact).encode())

    def checkpoint(self, *words: str) -> Any:
        """What to call in its place when it goes on: the same."""
        return importlib.import_module("submitit").helpers.DelayedSubmission(self, *words)


class SentTask:
    """A task and its job."""

    def __init__(self, task: Task, job: Any) -> None:
        self.task, self.job = task, job
        self.missed: float | None = None
        """When it was first missed."""

    def is_lost(self, now: float) -> bool:
        """Note that it is missed; whether it has been for a while."""
        if self.missed is None:
            self.missed = now
        return now - self.missed >= LATE


def slurm(
    options: Mapping[str, str] | None = None, *, workers: int | None = None, cluster: str = "slurm"
) -> Backend:
    """A SLURM cluster to run a study on.

    Args:
        options: Of sbatch: ``partition``, ``account``, ``time``, ``mem``, ...
        workers: The most jobs at a time.
        cluster: ``slurm``, or ``local`` for submitit's processes of this machine, to try it out.
    """
    try:
        importlib.import_module("submitit")
    except ImportError as error:
        raise ConfigError("submitit is not installed: pip install 'unknot[slurm]'.") from error
    if cluster == "slurm":
        if not shutil.which("sbatch"):
            raise UnknotError(
                "There is no sbatch on this machine: run this where SLURM jobs are submitted from; "
                "nothing was started."
            )
        _queue()
    settings = {name.replace("-", "_"): value or True for name, value in (options or {}).items()}
    return Backend(
        functools.partial(_machine, settings),
        functools.partial(_pool, settings, workers=workers or WORKERS, cluster=cluster),
    )


def backend(options: Mapping[str, str], workers: int | None) -> AbstractContextManager[Backend]:
    """What ``--backend slurm`` runs a study on."""
    return contextlib.nullcontext(slurm(options, workers=workers))


def _machine(
    options: Mapping[str, Any],
    runs: int,  # noqa: ARG001 - they wait in SLURM's queue
    *,
    device: str = "auto",
    workers: int | None = None,
    threads: int | None = None,
) -> Machine:
    """The device and threads of a study's jobs, and how many of them there are at a time."""
    name = device_elsewhere(device, auto=None)
    if name == "cuda":
        return Machine("cuda", workers or WORKERS, None)
    job_threads = threads or int(options.get("cpus_per_task", 1))
    return Machine("cpu", workers or WORKERS, job_threads)


def _pool(
    options: Mapping[str, Any], tasks: Sequence[Task], *, workers: int, cluster: str
) -> Iterator[Event]:
    """Perform tasks as jobs; closing the iterator stops them with a checkpoint."""
    if not tasks:
        return
    folder = Path(tasks[0].folder).parent.parent / "slurm"
    sent = {task.key: SentTask(task, job) for task, job in _earlier(folder, tasks, cluster)}
    waiting = [task for task in tasks if task.key not in sent]
    send = functools.partial(_send, folder, options, workers=workers, cluster=cluster)
    places: dict[str, Place | None] = {}
    deaths, looked = DeathPolicy(), 0.0
    try:
        while waiting or sent:
            for key in [*sent]:
                if fact := _read(folder / f"{key}.answer.json"):
                    yield end_event(key, fact)
                    del sent[key]
                    _forget(folder, key)
            if time.monotonic() - looked >= LOOK:
                looked = time.monotonic()
                for key in _lost(sent, cluster):
                    of = sent.pop(key)
                    _forget(folder, key)
                    event = deaths.died(key, _last_words(of.job))
                    if isinstance(event, Lost):
                        waiting.append(of.task)
                    yield event
                for key, of in sent.items():
                    if (place := _place(Path(of.task.folder))) and place != places.get(key):
                        places[key] = place
                        yield deaths.progress(key, *place)
                if waiting:
                    try:
                        sent |= {of.task.key: of for of in send(waiting[:ARRAY])}
                        del waiting[:ARRAY]
                    except UnknotError:
                        if not sent:  # else there may be more room in the queue later
                            raise
            if sent:
                time.sleep(PAUSE)
    finally:
        _stop(folder, sent, cluster)


def _earlier(folder: Path, tasks: Sequence[Task], cluster: str) -> Iterator[tuple[Task, Any]]:
    """Jobs of a driver that was killed, which have these very tasks."""
    if cluster != "slurm":
        return
    queue = _queue()
    for task in tasks:
        note = _read(folder / f"{task.key}.job.json")
        if not note:
            continue
        there = note["job"] in queue or (folder / f"{task.key}.answer.json").exists()
        if there and note["task"] == task.json():
            yield task, importlib.import_module("submitit").SlurmJob(folder, note["job"])
        elif note["job"] in queue:
            _run("scancel", note["job"])


def _send(
    folder: Path, options: Mapping[str, Any], tasks: Sequence[Task], *, workers: int, cluster: str
) -> list[SentTask]:
    """Tasks as jobs in the queue."""
    submitit = importlib.import_module("submitit")
    first = tasks[0]
    gpu = first.device != "cpu" and not GPUS & {*options}
    executor = submitit.AutoExecutor(folder, cluster=cluster, slurm_max_num_timeout=1_000)
    executor.update_parameters(
        name="unknot",
        timeout_min=MINUTES,
        cpus_per_task=first.threads or 1,
        **({"gpus_per_node": 1} if gpu else {}),
        slurm_array_parallelism=workers,
        slurm_setup=[f"export {n}={v}" for n, v in threads_in(first.threads).items()],
        slurm_additional_parameters={"requeue": True, **options},
    )
    answers = [folder / f"{task.key}.answer.json" for task in tasks]
    for answer in answers:
        answer.unlink(missing_ok=True)
    jobs = []
    try:
        with executor.batch():
            for task, answer in zip(tasks, answers, strict=True):
                words = task.json(), unknot.__version__, str(answer)
                jobs.append(executor.submit(Job(), *words))
    except (RuntimeError, subprocess.SubprocessError) as error:  # submitit's are RuntimeErrors
        message = next((line for line in str(error).split("\n") if "sbatch:" in line), str(error))
        raise UnknotError(f"{message.strip()} (see --backend-option). Nothing is lost.") from error
    for task, job in zip(tasks, jobs, strict=True):
        note = {"job": job.job_id, "task": task.json()}
        write_whole(folder / f"{task.key}.job.json", json.dumps(note).encode())
    return [SentTask(task, job) for task, job in zip(tasks, jobs, strict=True)]


def _lost(sent: Mapping[str, SentTask], cluster: str) -> list[str]:
    """Keys of those whose job is gone for a while and left no answer."""
    try:
        gone = sent.keys() - _present(sent, cluster)
    except UnknotError:  # it will answer again
        return []
    now = time.monotonic()
    return [key for key in gone if sent[key].is_lost(now)]


def _present(sent: Mapping[str, SentTask], cluster: str) -> set[str]:
    """Keys of those whose job waits or runs."""
    if cluster != "slurm":
        return {key for key, of in sent.items() if not of.job.done()}
    queue = _queue()
    return {key for key, of in sent.items() if of.job.job_id in queue}


def _queue() -> set[str]:
    """Ids of this user's jobs that wait or run."""
    done = _run("squeue", "--noheader", "--array", "--format=%i", f"--user={getpass.getuser()}")
    if done.returncode:
        message = " ".join(done.stderr.split("\n")[:1])
        raise UnknotError(f"SLURM does not answer ({message}); scores and checkpoints are intact.")
    return {*done.stdout.split()}


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603


def _place(population: Path) -> Place | None:
    """How far a population is by what it has on the disk; jobs have no other way to say so."""
    with contextlib.suppress(OSError, StoreError):
        if RunFolder(population).is_trained:
            with (population / "scores.jsonl").open("rb") as lines:
                return "score", sum(1 for _ in lines)
        saved = [int(path.name[5:]) for path in (population / "checkpoints").glob("step-*")]
        return ("train", max(saved)) if saved else None
    return None


def _last_words(job: Any) -> str:
    """How a job ended, as far as is known."""
    message = ""
    with contextlib.suppress(OSError):
        lines = job.paths.stderr.read_text(encoding="utf-8", errors="replace").split("\n")
        message = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"job {job.job_id} is gone" + (f": {message}" if message else "")


def _read(path: Path) -> dict[str, Any]:
    """A file of ours; nothing where there is none."""
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts


def _forget(folder: Path, key: str) -> None:
    for name in ("job", "answer"):
        (folder / f"{key}.{name}.json").unlink(missing_ok=True)


def _stop(folder: Path, sent: Mapping[str, SentTask], cluster: str) -> None:
    """Ask jobs to save and leave, and wait until they have; SLURM kills those that take long."""
    if not sent:
        return
    if cluster == "slurm":
        _run("scancel", *(of.job.job_id for of in sent.values()))
    else:
        for of in sent.values():
            of.job.cancel()
    until = time.monotonic() + GRACE
    with contextlib.suppress(UnknotError):
        while time.monotonic() < until and _present(sent, cluster):
            time.sleep(PAUSE)
    for key in sent:
        _forget(folder, key)
