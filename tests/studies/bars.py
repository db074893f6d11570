"""A study of bars, run in this process or killed in others, and all that it leaves."""

import functools
import os
import signal
import sys

import unknot
from unknot.studies.execute import driver
from unknot.studies.execute.events import Done, Failed
from unknot.studies.execute.run_task import run_population_task
from unknot.studies.file.study_file import StudyFile
from unknot.studies.study import Study

STEPS = 100
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
"""As many workers, so that each has one thread, here and elsewhere."""
HEARING = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
"""Called in a new process: who started the tests in the background has it ignore Ctrl-C."""
UNKNOT = [sys.executable, "-c", "from unknot.cli.main import main; main()", "study", "run"]


def study_text(images, steps=STEPS, more=""):
    return f"""
        name = "bars"
        seeds = [0, 1]
        metrics = ["mig", "sap"]
        [train]
        data = {{name = "arrays", path = "{images}"}}
        net = {{name = "linear", latents = 3}}
        steps = {steps}
        batch = 8
        log_every = 25
        checkpoint_every = 20
        [[grid]]
        objective = {{name = "beta_vae", beta = 2}}
        [[grid]]
        objective = {{name = "dip_vae_i"}}
        {more}
    """


def inline(tasks):
    """A pool without processes."""
    for task in tasks:
        try:
            yield Done(task.key, run_population_task(task))
        except unknot.UnknotError as error:
            yield Failed(task.key, str(error))


def run_inline(folder, text=None, **options):
    study = None if text is None else StudyFile.parse(text)
    return driver.run(folder, study, device="cpu", workers=CORES, pool=inline, **options)


def records(folder):
    """All that a study knows and that is not a time: rows, scores, and every weight and curve."""
    study = Study.open(folder)
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in study.table()]
    query = "SELECT run, metric, protocol, options, code, name, value FROM scores JOIN measures ON "
    scores = sorted(study.store.db.execute(query + "measures.number = scores.measure"), key=str)
    files = {
        (path.parent.name, path.name): path.read_bytes()
        for path in sorted(folder.glob("populations/*/*.safetensors"))
    }
    left = [path for path in folder.glob("populations/**/*") if path.name.startswith(".writing")]
    assert not left
    assert not list(folder.glob("populations/*/checkpoints"))
    return rows, scores, files


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
