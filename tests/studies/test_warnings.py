"""Warnings of workers reach whoever watches the study, each text once."""

import os

import pytest
from report import small_study

from unknot.studies.execute import driver
from unknot.studies.execute.events import Done, Warned
from unknot.studies.execute.local import local
from unknot.studies.file.study_file import StudyFile

WARNING = """
import warnings

from unknot.studies.execute import run_task as module

run_population_task = module.run_population_task


def warning(task, **options):
    warnings.warn("the same for all", RuntimeWarning, stacklevel=1)
    warnings.warn(f"of {task.key} alone", UserWarning, stacklevel=1)
    return run_population_task(task, **options)


module.run_population_task = warning
"""


@pytest.mark.slow
def test_a_warning_of_workers_is_an_event_once(tiny, tmp_path, monkeypatch):
    # Python imports this module by itself when a worker starts.
    (tmp_path / "sitecustomize.py").write_text(WARNING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    text = small_study.text(tiny, seeds="[0]", steps=10, metrics="[]")
    events = []
    driver.run(
        tmp_path / "study",
        StudyFile.parse(text),
        device="cpu",
        pool=lambda tasks: local(tasks, workers=2, threads=1),
        watch=events.append,
    )
    keys = {event.key for event in events if isinstance(event, Done)}
    said = [event.text for event in events if isinstance(event, Warned)]
    assert len(keys) > 1
    assert sorted(said) == sorted(
        ["RuntimeWarning: the same for all", *(f"UserWarning: of {key} alone" for key in keys)]
    )
