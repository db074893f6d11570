"""``unknot`` in processes that signals can kill: forks of one that has imported all they need."""

import multiprocessing
import os
import signal
import sys
import tempfile
import weakref
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["pydantic", "rich.progress", "unknot.engine.stacked", "unknot.studies.execute.driver"]
)


class Command:
    """A command with its words, as ``subprocess.Popen`` of it would be; ``prepare`` comes first."""

    def __init__(self, *words, cwd=None, prepare=None):
        descriptor, self.log = tempfile.mkstemp()
        os.close(descriptor)
        weakref.finalize(self, os.unlink, self.log)
        self.process = FORKS.Process(target=perform, args=(words, self.log, cwd, prepare))
        self.process.start()
        self.pid = self.process.pid

    @property
    def returncode(self):
        return self.process.exitcode

    def poll(self):
        return self.process.exitcode

    def kill(self):
        self.process.kill()

    def send_signal(self, number):
        os.kill(self.pid, number)

    def output(self, timeout=300):
        """What it wrote until it ended."""
        self.process.join(timeout)
        assert self.returncode is not None, "it should have ended"
        return Path(self.log).read_text()


def perform(words, log, cwd, prepare):
    import torch

    from unknot.cli.main import main

    with Path(log).open("ab") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.chdir(cwd or ".")
    torch.set_num_threads(1)
    # Who started the tests in the background has them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if prepare:
        prepare()
    sys.argv = ["unknot", *map(str, words)]
    main()


def children(pid):
    """Processes that a process started, such as workers of a driver."""
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
