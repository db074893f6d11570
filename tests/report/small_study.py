"""A small study, trained in this process."""

import os

import torch

from unknot.core.errors import UnknotError
from unknot.study import execute
from unknot.study.events import Done, Failed
from unknot.study.task import perform

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
"""As many workers, so that each has one thread."""


def inline(tasks):
    """A pool without processes."""
    for task in tasks:
        try:
            yield Done(task.key, perform(task))
        except UnknotError as error:
            yield Failed(task.key, str(error))


TWO_STRENGTHS = """
        [[grid]]
        objective.name = "beta_vae"
        objective.beta = [1, 4]
"""
ANOTHER = """
        [[grid]]
        objective.name = "beta_tcvae"
"""


def text(images, *, seeds="[0, 1, 2]", metrics='["mig"]', steps=40, grids=TWO_STRENGTHS + ANOTHER):
    return f"""
        name = "small <study>"
        seeds = {seeds}
        metrics = {metrics}
        [train]
        data = {{name = "arrays", path = "{images}"}}
        net = {{name = "linear", latents = 2}}
        steps = {steps}
        batch = 8
        log_every = 10
        {grids}
    """


def train(folder, images, *, pool=inline, **options):
    """A study of nine runs, or as the options say."""
    before = torch.get_num_threads()
    try:
        return execute.run(folder, text(images, **options), device="cpu", workers=CORES, pool=pool)
    finally:
        torch.set_num_threads(before)
