"""Commands of SLURM that start jobs as processes of this machine, for machines without a cluster.

`install(folder)` writes sbatch, srun, squeue, scancel, scontrol and sacct into a folder for PATH.
Jobs start at once, are killed by `scancel`, and come back by `scontrol requeue`. What a job is, is
kept in files beside the commands: `<job>.pid`, `<job>.step`, the process that does the work, and
`<job>.requeue` where it is to come back.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

COMMANDS = ("sbatch", "srun", "squeue", "scancel", "scontrol", "sacct")


def install(folder):
    """Write the commands into a folder and give it back."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in COMMANDS:
        command = folder / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {name} "$@"\n')
        command.chmod(0o755)
    return folder


def main(name, *words):
    here = Path(os.environ["FAKE_SLURM"])
    return globals()[name](here, *words)


def sbatch(here, script):
    """Start the jobs of an array, or one, and say its number."""
    text = Path(script).read_text()
    number = 1 + max((int(p.stem.split("_")[0]) for p in here.glob("*.pid")), default=100)
    array = re.search(r"^#SBATCH --array=0-(\d+)", text, re.MULTILINE)
    kept = here / f"{number}.sh"
    kept.write_text(text)
    for job in (
        [f"{number}_{task}" for task in range(int(array[1]) + 1)] if array else [f"{number}"]
    ):
        words = [sys.executable, __file__, "node", job, str(kept)]
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        started = subprocess.Popen(words, start_new_session=True, **quiet)
        (here / f"{job}.pid").write_text(str(started.pid))
    print(f"Submitted batch job {number}")


def node(here, job, script):
    """What a node does with a job: run it, again where it was put back into the queue."""
    for number in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(number, lambda *_: None)  # they are for the job's step
    environ = {**os.environ, "SLURM_JOB_ID": job, "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1",
               "SLURM_NODEID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
               "SLURM_JOB_NODELIST": "here"}  # fmt: skip
    array, _, task = job.partition("_")
    if task:
        environ |= {"SLURM_ARRAY_JOB_ID": array, "SLURM_ARRAY_TASK_ID": task}
    again = here / f"{job}.requeue"
    while True:
        subprocess.run(["bash", script], env=environ)
        if not again.exists():
            return
        again.unlink()


def srun(here, *words):
    """Become the command, which writes to the files that are named."""
    words = [*words]
    job = os.environ["SLURM_JOB_ID"]
    (here / f"{job}.step").write_text(str(os.getpid()))
    array, _, task = job.partition("_")
    for number in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)
    while words[0].startswith("-"):
        option = words.pop(0)
        if option in ("--output", "--error"):
            path = words.pop(0)
            for mark, text in {"%A": array, "%a": task, "%j": job, "%t": "0"}.items():
                path = path.replace(mark, text)
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(opened, 1 if option == "--output" else 2)
    os.execvp(words[0], words)


def squeue(here, *_):
    """The jobs that run, a line each."""
    print("\n".join(job for job, pid in _jobs(here).items() if _is_alive(pid)))


def scancel(here, *words):
    """End jobs, or send a signal that is named to what does their work."""
    number = None
    for word in words:
        if word.startswith("--signal="):
            number = signal.Signals[f"SIG{word.partition('=')[2]}"]
        elif (pid := _jobs(here).get(word)) and _is_alive(pid):
            if number is None:
                os.killpg(pid, signal.SIGTERM)
            else:
                os.kill(int((here / f"{word}.step").read_text()), number)


def scontrol(here, verb, job):
    assert verb == "requeue"
    (here / f"{job}.requeue").touch()


def sacct(here, *_):
    print("JobID|State|NodeList")
    for job, pid in _jobs(here).items():
        print(f"{job}|{'RUNNING' if _is_alive(pid) else 'COMPLETED'}|here")


def _jobs(here):
    texts = {path.stem: path.read_text() for path in here.glob("*.pid")}
    return {job: int(text) for job, text in texts.items() if text}


def _is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
