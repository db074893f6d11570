"""A small study, trained in this process."""

import torch
from studies.bars import CORES, inline

from unknot.studies.execute import driver
from unknot.studies.file.study_file import StudyFile

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
    study, before = StudyFile.parse(text(images, **options)), torch.get_num_threads()
    try:
        return driver.run(folder, study, device="cpu", workers=CORES, pool=pool)
    finally:
        torch.set_num_threads(before)
