"""The pool of a SLURM cluster, through submitit: each population a job.

```python
from unknot.studies.execute import slurm_pool
from unknot.studies.execute.driver import run

cluster = slurm_pool.slurm({"partition": "gpu", "time": "4:00:00"}, workers=8)
run(folder, text, device="cuda", machine=cluster.machine, pool=cluster.pool)
```

SLURM decides where and when. A job that is preempted, requeued, lost with its node or out of time
resumes from its population's last checkpoint. Jobs outlive a driver that is killed; the next one
finds them by the notes that are kept of them.

```
<study>/slurm/
  <key>.job.json        which job has the population, and a checksum of what it was told
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
from unknot.core.border import parse_json
from unknot.core.checksums import bytes_sum
from unknot.core.errors import ConfigError, StoreError, UnknotError
from unknot.core.files import read_whole, write_whole
from unknot.runs.folder import RunFolder
from unknot.runs.training import Stopped
from unknot.studies.execute.backends import Backend
from unknot.studies.execute.events import DeathPolicy, Event, Lost, Place, end_event
from unknot.studies.execute.machine import Machine, device_elsewhere, threads_in
from unknot.studies.execute.run_task import run_remote_task
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
        """What to call in its place when it is resumed: the same."""
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
        functools.partial(slurm_machine, settings),
        functools.partial(_perform, settings, workers=workers or WORKERS, cluster=cluster),
    )


def backend(options: Mapping[str, str], workers: int | None) -> AbstractContextManager[Backend]:
    """What ``--backend slurm`` runs a study on."""
    return contextlib.nullcontext(slurm(options, workers=workers))


def slurm_machine(
    options: Mapping[str, Any],
    runs: int,  # noqa: ARG001 - they wait in SLURM's queue
    *,
    device: str = "auto",
    workers: int | None = None,
    threads: int | None = None,
) -> Machine:
    """The device and threads of a study's jobs, and how many of them there are at a time.

    Args:
        options: Of sbatch.
        runs: Of the study.
        device: ``cpu`` or ``cuda``.
        workers: The most jobs at a time.
        threads: Of each job; its CPUs unless given.
    """
    name = device_elsewhere(device, auto=None)
    if name == "cuda":
        return Machine("cuda", workers or WORKERS, None)
    job_threads = threads or int(options.get("cpus_per_task", 1))
    return Machine("cpu", workers or WORKERS, job_threads)


class SlurmPool:
    """Jobs that perform tasks; leaving the context stops them with a checkpoint.

    Args:
        options: Of sbatch.
        tasks: Each a job.
        workers: The most jobs at a time.
        cluster: ``slurm``, or ``local`` for submitit's processes of this machine.
    """

    def __init__(
        self, options: Mapping[str, Any], tasks: Sequence[Task], *, workers: int, cluster: str
    ) -> None:
        self.options, self.workers, self.cluster = options, workers, cluster
        self.folder = Path(tasks[0].folder).parent.parent / "slurm"
        self.sent = {task.key: SentTask(task, job) for task, job in self._earlier_jobs(tasks)}
        self.waiting = [task for task in tasks if task.key not in self.sent]
        self.places: dict[str, Place] = {}
        self.deaths = DeathPolicy()

    def __enter__(self) -> "SlurmPool":
        return self

    def events(self) -> Iterator[Event]:
        """What becomes of the tasks, until all have come to an end."""
        looked = 0.0
        while self.waiting or self.sent:
            yield from self.collect()
            if time.monotonic() - looked >= LOOK:
                looked = time.monotonic()
                yield from self.replace_lost()
                yield from self.progress()
                self.submit()
            if self.sent:
                time.sleep(PAUSE)

    def collect(self) -> Iterator[Event]:
        """The ends of tasks that left an answer."""
        for key in [*self.sent]:
            if fact := _read(self.folder / f"{key}.answer.json"):
                yield end_event(key, fact)
                del self.sent[key]
                self._forget(key)

    def replace_lost(self) -> Iterator[Event]:
        """Deaths of jobs that are gone for a while and left no answer; their tasks wait again."""
        try:
            gone = self.sent.keys() - self._present()
        except UnknotError:  # it will answer again
            return
        now = time.monotonic()
        for key in [key for key in gone if self.sent[key].is_lost(now)]:
            lost = self.sent.pop(key)
            self._forget(key)
            event = self.deaths.died(key, _last_words(lost.job))
            if isinstance(event, Lost):
                self.waiting.append(lost.task)
            yield event

    def progress(self) -> Iterator[Event]:
        """How far tasks are, where that is news."""
        for key, sent_task in self.sent.items():
            place = _place(Path(sent_task.task.folder))
            if place and place != self.places.get(key):
                self.places[key] = place
                yield self.deaths.progress(key, *place)

    def submit(self) -> None:
        """Put tasks that wait into the queue, as far as one array goes."""
        if not self.waiting:
            return
        tasks = self.waiting[:ARRAY]
        try:
            jobs = self._submit_array(tasks)
        except UnknotError:
            if not self.sent:  # else there may be more room in the queue later
                raise
            return
        self.sent |= {task.key: SentTask(task, job) for task, job in zip(tasks, jobs, strict=True)}
        del self.waiting[:ARRAY]

    def _submit_array(self, tasks: Sequence[Task]) -> list[Any]:
        """Tasks as jobs in the queue."""
        submitit = importlib.import_module("submitit")
        first = tasks[0]
        gpu = first.device != "cpu" and not GPUS & {*self.options}
        executor = submitit.AutoExecutor(
            self.folder, cluster=self.cluster, slurm_max_num_timeout=1_000
        )
        executor.update_parameters(
            name="unknot",
            timeout_min=MINUTES,
            cpus_per_task=first.threads or 1,
            **({"gpus_per_node": 1} if gpu else {}),
            slurm_array_parallelism=self.workers,
            slurm_setup=[f"export {n}={v}" for n, v in threads_in(first.threads).items()],
            slurm_additional_parameters={"requeue": True, **self.options},
        )
        answers = [self.folder / f"{task.key}.answer.json" for task in tasks]
        for answer in answers:
            answer.unlink(missing_ok=True)
        jobs = []
        try:
            with executor.batch():
                for task, answer in zip(tasks, answers, strict=True):
                    words = task.json(), unknot.__version__, str(answer)
                    jobs.append(executor.submit(Job(), *words))
        except (RuntimeError, subprocess.SubprocessError) as error:  # submitit's are RuntimeErrors
            lines = str(error).split("\n")
            message = next((line for line in lines if "sbatch:" in line), str(error))
            raise UnknotError(
                f"{message.strip()} (see --backend-option). Nothing is lost."
            ) from error
        for task, job in zip(tasks, jobs, strict=True):
            note = {"job": job.job_id, "task": bytes_sum(task.json().encode())}
            write_whole(self.folder / f"{task.key}.job.json", json.dumps(note).encode())
        return jobs

    def _earlier_jobs(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]:
        """Jobs of a driver that was killed, which have these very tasks."""
        if self.cluster != "slurm":
            return
        queue = _queue()
        for task in tasks:
            note = _read(self.folder / f"{task.key}.job.json")
            if not note:
                continue
            there = note["job"] in queue or (self.folder / f"{task.key}.answer.json").exists()
            if there and note["task"] == bytes_sum(task.json().encode()):
                yield task, importlib.import_module("submitit").SlurmJob(self.folder, note["job"])
            elif note["job"] in queue:
                _run("scancel", note["job"])

    def _present(self) -> set[str]:
        """Keys of those whose job waits or runs."""
        if self.cluster != "slurm":
            return {key for key, sent_task in self.sent.items() if not sent_task.job.done()}
        queue = _queue()
        return {key for key, sent_task in self.sent.items() if sent_task.job.job_id in queue}

    def _forget(self, key: str) -> None:
        for name in ("job", "answer"):
            (self.folder / f"{key}.{name}.json").unlink(missing_ok=True)

    def __exit__(self, *_: object) -> None:
        """Ask jobs to save and leave, and wait for that; SLURM kills those that take long."""
        if not self.sent:
            return
        if self.cluster == "slurm":
            _run("scancel", *(sent_task.job.job_id for sent_task in self.sent.values()))
        else:
            for sent_task in self.sent.values():
                sent_task.job.cancel()
        until = time.monotonic() + GRACE
        with contextlib.suppress(UnknotError):
            while time.monotonic() < until and self._present():
                time.sleep(PAUSE)
        for key in self.sent:
            self._forget(key)


def _perform(
    options: Mapping[str, Any], tasks: Sequence[Task], *, workers: int, cluster: str
) -> Iterator[Event]:
    """Perform tasks as jobs; closing the iterator stops them with a checkpoint."""
    if tasks:
        with SlurmPool(options, tasks, workers=workers, cluster=cluster) as pool:
            yield from pool.events()


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
        facts: dict[str, Any] = parse_json(read_whole(path))
    except (OSError, ValueError):
        return {}
    return facts
